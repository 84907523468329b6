package route

import (
	"cmp"
	"hash/fnv"
	"math"
	"slices"
	"time"

	"github.com/genway/genway/codec"
)

// Strategy is how the targets of a route share its load. The zero value is ByWeight.
type Strategy int

const (
	// ByWeight draws a target at random, each as often as its weight says.
	ByWeight Strategy = iota
	// LeastBusy takes the target whose upstream has the fewest calls under way for its weight.
	LeastBusy
	// Fastest takes the target with the lowest peak EWMA, a decayed time to first token times
	// the calls under way, for its weight.
	Fastest
)

// share puts the targets that share the load into the order in which they are tried.
func (r *Route) share(targets []Target, q request) []Target {
	if len(targets) <= 1 {
		return targets
	}
	if r.Sticky {
		if session := session(q.head); session != "" {
			return ranked(targets, func(t *Target) float64 { return t.distance(session) })
		}
	}
	switch r.Strategy {
	case ByWeight: // below
	case LeastBusy:
		return ranked(draw(targets), func(t *Target) float64 { return float64(t.busy()) / t.weight() })
	case Fastest:
		now := time.Now()
		return ranked(draw(targets), func(t *Target) float64 {
			return t.Guard.cost(speedOf{cmp.Or(t.Model, q.model), q.streamed}, now) / t.weight()
		})
	}
	return draw(targets)
}

// ranked gives the targets by ascending cost; those of equal cost keep their order.
func ranked(targets []Target, cost func(*Target) float64) []Target {
	type priced struct {
		target Target
		cost   float64
	}
	list := make([]priced, len(targets))
	for i := range targets {
		list[i] = priced{targets[i], cost(&targets[i])}
	}
	slices.SortStableFunc(list, func(a, b priced) int { return cmp.Compare(a.cost, b.cost) })
	out := make([]Target, len(list))
	for i := range list {
		out[i] = list[i].target
	}
	return out
}

func (t *Target) weight() float64 { return float64(cmp.Or(t.Weight, 1)) }

// busy is how many calls the target's upstream has under way; 0 where they are not counted.
func (t *Target) busy() int {
	if t.Guard == nil {
		return 0
	}
	return t.Guard.bound.calls()
}

// distance is how far a session is from the target: the nearest serves it, and where that one
// fails the next, so that a session moves only while its target does not answer, and a new
// target takes from each of the others only its share of their sessions (weighted rendezvous
// hashing: Schindelhauer and Schomaker, "Weighted Distributed Hash Tables", 2005).
func (t *Target) distance(session string) float64 {
	h := fnv.New64a()
	for _, part := range []string{session, "\x00", t.Name, "\x00", t.Model} {
		_, _ = h.Write([]byte(part))
	}
	// FNV's upper bits hardly depend on the last bytes; the finalizer of SplitMix64 spreads
	// them.
	x := h.Sum64()
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	x ^= x >> 31
	uniform := (float64(x>>11) + 0.5) / (1 << 53)
	return -math.Log(uniform) / t.weight()
}

// account is who can read the encrypted reasoning that the target's upstream makes; "" where every target can.
func (t *Target) account() string {
	if a, ok := t.Upstream.(interface{ Account() string }); ok {
		return a.Account()
	}
	return ""
}

// severalAccounts reports whether targets have more than one account.
func severalAccounts(targets []Target) bool {
	first := ""
	for i := range targets {
		switch account := targets[i].account(); {
		case account == "" || account == first:
		case first != "":
			return true
		default:
			first = account
		}
	}
	return false
}

// whereMade puts the targets first that can read the reasoning which a conversation has brought back.
func whereMade(targets []Target, q request) []Target {
	account := ""
	if wire := q.head.GetWire(); wire != nil {
		account = codec.LastAccount(wire.GetJson())
	} else {
		for _, m := range q.head.GetMessages() {
			for _, p := range m.GetParts() {
				if found, _ := codec.CutAccount(p.GetThinking().GetEncryptedContent().GetValue()); found != "" {
					account = found
				}
			}
		}
	}
	if account == "" {
		return targets
	}
	return ranked(targets, func(t *Target) float64 {
		if t.account() == account {
			return 0
		}
		return 1
	})
}
