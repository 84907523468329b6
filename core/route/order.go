package route

import (
	"cmp"
	"math/rand/v2"
	"slices"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
)

// order gives the targets that can serve a request, in the order they are tried: those that
// share the load, by the strategy; then the fallback.
func (r *Route) order(q request) []Target {
	first, then := r.share(r.first(q.protocol, q.images), q), serving(r.Fallback, q.images)
	if len(then) == 0 {
		return first
	}
	return slices.Concat(first, then)
}

// first gives the targets that share a request's load: those that speak the caller's
// protocol, or where there is none all others. A route of one upstream for each
// protocol passes requests through: no target stands in for another unless the operator
// configures it as a fallback.
func (r *Route) first(protocol genwayv1.Protocol, images bool) []Target {
	able := serving(r.Targets, images)
	if protocol == genwayv1.Protocol_PROTOCOL_UNSPECIFIED {
		return able
	}
	if same := those(able, func(t *Target) bool { return t.Protocol == protocol }); len(same) > 0 {
		return same
	}
	return able
}

// serving gives the targets that serve images, or text.
func serving(targets []Target, images bool) []Target {
	return those(targets, func(t *Target) bool { return t.serves(images) })
}

// those gives the targets that are as asked for, which are not to be changed: mostly they
// all are.
func those(targets []Target, are func(*Target) bool) []Target {
	all := true
	for i := range targets {
		all = all && are(&targets[i])
	}
	if all {
		return targets
	}
	var some []Target
	for i := range targets {
		if are(&targets[i]) {
			some = append(some, targets[i])
		}
	}
	return some
}

// serves reports whether the target is for images, or for text: the protocols of
// vendors are for one of them.
func (t *Target) serves(images bool) bool {
	return t.Protocol == genwayv1.Protocol_PROTOCOL_UNSPECIFIED || images == protocol.Of(t.Protocol).Images
}

// draw orders targets at random, each place by the weights of those left.
func draw(targets []Target) []Target {
	if len(targets) <= 1 {
		return targets
	}
	left := slices.Clone(targets)
	for i := range left {
		total := 0
		for _, t := range left[i:] {
			total += cmp.Or(t.Weight, 1)
		}
		at := rand.IntN(total) //nolint:gosec // a share of the load, no secret
		for j := i; j < len(left); j++ {
			if at -= cmp.Or(left[j].Weight, 1); at < 0 {
				left[i], left[j] = left[j], left[i]
				break
			}
		}
	}
	return left
}
