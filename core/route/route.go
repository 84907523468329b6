// Package route sends each request to an upstream: it finds the route of the model,
// orders its targets, and goes on to the next when one fails in a way another may
// mend, as long as nothing of the answer has reached the caller.
//
// A Router is an upstream.Upstream itself, so the service above knows nothing of
// routes. It must not import the gateway or any adapter.
package route

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/capture"
	"github.com/genway/genway/core/catalog"
	"github.com/genway/genway/core/glob"
	"github.com/genway/genway/core/override"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
	"github.com/genway/genway/telemetry/instrument"
	"google.golang.org/protobuf/proto"
)

// Route sends models to targets.
type Route struct {
	// Model is a name or a glob: * is any run of characters.
	Model string
	// Protocols limits the route to callers of these; empty is all. Direct callers
	// are PROTOCOL_UNSPECIFIED.
	Protocols []genwayv1.Protocol
	// Targets share the load; where some speak the caller's protocol, only those do.
	Targets []Target
	// Strategy is how they share it.
	Strategy Strategy
	// Sticky sends the requests of one session to one target while it answers, so that the
	// vendor's prompt cache stays warm: those with one prompt_cache_key, or else one session
	// header, or else, where their signatures pass unread to one of several accounts, one
	// beginning. Requests of no session go by the strategy.
	Sticky bool
	// Fallback are tried in order after the targets, each where the last call failed for a cause of its On.
	Fallback []Target
	// Strict refuses what a target would lose.
	Strict bool
	// Capture says which of its requests have their bodies captured; nil asks for none.
	Capture *capture.Rule
	// Deadline is how long a request may take in all, retries and fallback included; 0
	// is no bound of the route's.
	Deadline time.Duration
}

// Target is an upstream and the model to ask it for.
type Target struct {
	// Name is the upstream's, for logs and headers.
	Name     string
	Upstream upstream.Upstream
	// Protocol is what the upstream speaks; unspecified for one that takes the
	// canonical messages.
	Protocol genwayv1.Protocol
	// Version is the version of its protocol that the upstream speaks, and requests are made to
	// fit; empty is the caller's, and the oldest for translated requests.
	Version string
	// Model is the upstream's name for the model; empty is the caller's.
	Model string
	// Weight is the share of the load; 0 is 1.
	Weight int
	// On are the causes for which a fallback is tried; 0 is Failure, as for all Targets of a route.
	On Cause
	// Overrides change the parameters of requests; nil changes none.
	Overrides *override.Overrides
	// Cache adds prompt-cache breakpoints to translated requests whose callers set none.
	Cache bool
	// Catalog is what is known of models, which translated requests are made to fit; nil knows
	// nothing.
	Catalog *catalog.Catalog
	// Fit makes the requests of callers of the upstream's own protocol fit the model, too.
	Fit bool
	// Guard holds the upstream to its limits; nil sets none.
	Guard *Guard
	// Models returns what the target is listed with; nil is what the upstream lists.
	Models func() []*genwayv1.Model
	// Price returns what a model of the upstream costs, by the upstream's name of it, for lists of models; nil where
	// it is not known. A nil Price knows none.
	Price func(model string) *genwayv1.ModelPrice
}

// Changes says what the target changes of requests, for people: "set temperature 0.2; cache auto; fit". It is empty for
// nothing.
func (t *Target) Changes() string {
	changes := t.Overrides.String()
	if t.Cache {
		changes += "; cache auto"
	}
	if t.Fit {
		changes += "; fit"
	}
	return strings.TrimPrefix(changes, "; ")
}

// Router is a table of routes that can be swapped while requests run; each request
// keeps the table it began with.
type Router struct {
	table  atomic.Pointer[table]
	crowd  atomic.Int64 // how many upstreams calls wait for
	drains drains
}

type table struct {
	routes []Route
	models *glob.Index // of the routes' patterns, by the routes' numbers
	// captures says that a route has a rule for capturing.
	captures bool
}

var _ upstream.Upstream = (*Router)(nil)

// New makes a router. The first route that matches a request wins.
func New(routes []Route) *Router {
	r := &Router{}
	r.Swap(routes)
	return r
}

// Swap replaces the routes, for requests that begin from now on.
func (r *Router) Swap(routes []Route) {
	patterns, captures := make([]string, len(routes)), false
	for i := range routes {
		patterns[i], captures = routes[i].Model, captures || routes[i].Capture != nil
		for _, target := range slices.Concat(routes[i].Targets, routes[i].Fallback) {
			target.Guard.report(&r.crowd)
		}
	}
	r.table.Store(&table{routes: routes, models: glob.NewIndex(patterns), captures: captures})
}

// Close ends the calls that go on without their callers, and waits for them.
func (r *Router) Close() error {
	r.drains.close()
	return nil
}

// Stored makes a call about an answer that the upstream of an account stores. known is false if there is none.
func (r *Router) Stored(ctx context.Context, account string, about upstream.Stored) (body []byte, known bool, err error) {
	for _, route := range r.table.Load().routes {
		for _, t := range slices.Concat(route.Targets, route.Fallback) {
			if u, ok := t.Upstream.(interface {
				Stored(context.Context, upstream.Stored) ([]byte, error)
			}); ok && t.Protocol == about.Protocol && t.account() == account {
				body, err := u.Stored(ctx, about)
				return body, true, err
			}
		}
	}
	return nil, false, nil
}

// find returns the first route that takes a request, and its place in the table; nil for none.
func (t *table) find(protocol genwayv1.Protocol, model string) (*Route, int) {
	i := t.models.First(model, func(i int) bool {
		r := &t.routes[i]
		return len(r.Protocols) == 0 || slices.Contains(r.Protocols, protocol)
	})
	if i < 0 {
		return nil, -1
	}
	return &t.routes[i], i
}

// choose returns the route of a request and its targets, in the order in which they are tried.
func (r *Router) choose(record *call.Record, q request) (*Route, []Target, error) {
	route, err := r.taken(record, q)
	if err != nil {
		return nil, nil, err
	}
	targets := route.order(q)
	if len(targets) == 0 {
		return nil, nil, unable(q)
	}
	if record.MadeBy != "" {
		return route, byAccount(targets, record.MadeBy), nil
	}
	if q.head != nil && severalAccounts(targets) {
		targets = whereMade(targets, q.head)
	}
	return route, targets, nil
}

// taken returns the route that a request takes.
func (r *Router) taken(record *call.Record, q request) (*Route, error) {
	if record.Pinned != "" {
		return r.table.Load().pinned(record.Pinned, q.model)
	}
	route, _ := r.table.Load().find(q.protocol, q.model)
	if route == nil {
		return nil, fault.ModelNotFound(q.model)
	}
	return route, nil
}

// attempts runs try on the targets of a request until one answers, fails for good, or
// has begun its answer. It sends the headers that name the upstream, unless try has: a stream must
// do so before its first event.
func (r *Router) attempts(ctx context.Context, q request, try func(context.Context, attempt) error) error {
	begin := time.Now()
	ctx, record := call.Ensure(ctx)
	route, targets, err := r.choose(record, q)
	record.Routing = record.StageSince(begin)
	if err != nil {
		return err
	}
	record.Strict = record.Strict || route.Strict
	ctx, unshave := shaved(ctx)
	defer unshave()
	t := turn{caller: ctx, record: record, drains: &r.drains, streamed: q.streamed, priority: record.Priority, measured: route.Strategy == Fastest && !q.counted}
	cause := Failure
	var deadline time.Time
	if route.Deadline > 0 {
		deadline = time.Now().Add(route.Deadline)
	}
	ctx, stop := bounded(ctx, route.Deadline)
	defer stop()
	var a attempt
	// failed is the last call, which has failed; it is kept where another call follows.
	var failed *call.Spent
	keep := func() {
		if failed != nil {
			record.Spent, failed = append(record.Spent, *failed), nil
		}
	}
	for n, target := range targets {
		if n > 0 && !target.on(cause) {
			continue
		}
		keep()
		// Also for a target whose guard refuses the call.
		record.StartCall(nil)
		a = attempt{Target: target}
		record.Route, record.Upstream, record.TargetModel = route.Model, target.Name, cmp.Or(target.Model, q.model)
		t.model = record.TargetModel
		record.StartAttempt(target.inference(route, q), record.TargetModel, protocol.Of(target.Protocol).Name)
		record.SeveralAccounts, record.Account = isForeign(&target, targets), target.account()
		failover := follow(targets[n+1:], Failure)
		t.begin, t.last = share(deadline, 1+failover), failover == 0
		record.PolicyFallback = follow(targets[n+1:], Policy) > 0
		err = a.Guard.run(ctx, &t, func(ctx context.Context, d *drain) error {
			keep()
			a.drain = d
			err := try(ctx, a)
			if usage := usageOf(record, err); err != nil && (usage != nil || record.Accepted) {
				failed = &call.Spent{Upstream: record.Upstream, Model: record.TargetModel, ServedTier: record.ServedTier, Usage: usage}
			}
			return err
		})
		record.EndAttempt(err)
		if err == nil || record.AnswerBegun() && q.streamed || ctx.Err() != nil {
			break
		}
		if cause = causeOf(err); record.AnswerBegun() { // nothing of it has reached the caller, but it may have cost something
			cause &^= Failure
		}
	}
	if usageOf(record, err) == nil && !record.Accepted {
		keep() // a guard has refused to make another call
	}
	a.sendHeaders(ctx, record.Headers)
	return err
}

// order returns the targets that can serve a request, in the order they are tried: those that
// share the load, by the strategy; then the fallback.
func (r *Route) order(q request) []Target {
	first, then := r.share(r.first(q.protocol, q.images), q), serving(r.Fallback, q.images)
	if len(then) == 0 {
		return first
	}
	return slices.Concat(first, then)
}

// first returns the targets that share a request's load: those that speak the caller's
// protocol, or where there is none all others. A route of one upstream for each
// protocol passes requests through: no target replaces another unless the operator
// configures it as a fallback. Likewise, a target that draws in answers of text replaces none that is for images.
func (r *Route) first(caller genwayv1.Protocol, images bool) []Target {
	if caller != genwayv1.Protocol_PROTOCOL_UNSPECIFIED {
		if same := those(r.Targets, func(t *Target) bool { return t.Protocol == caller && t.serves(images) }); len(same) > 0 {
			return same
		}
	}
	if images {
		if own := those(r.Targets, func(t *Target) bool { return t.serves(true) && !t.serves(false) || isCanonical(t) }); len(own) > 0 {
			return own
		}
	}
	return serving(r.Targets, images)
}

// isCanonical reports whether the target takes the contract's messages.
func isCanonical(t *Target) bool { return t.Protocol == genwayv1.Protocol_PROTOCOL_UNSPECIFIED }

// serving returns the targets that serve images, or text.
func serving(targets []Target, images bool) []Target {
	return those(targets, func(t *Target) bool { return t.serves(images) })
}

// those returns the targets that are as asked for, which are not to be changed: mostly they
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

// serves reports whether the target answers requests for images, or for text.
func (t *Target) serves(images bool) bool {
	if u, ok := t.Upstream.(interface{ Draws() bool }); images && ok && !u.Draws() {
		return false
	}
	return isCanonical(t) || protocol.Of(t.Protocol).Serves(images)
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

// Capture returns the rule of a request's route for capturing bodies; nil for none.
func (r *Router) Capture(protocol genwayv1.Protocol, model string) *capture.Rule {
	t := r.table.Load()
	if !t.captures {
		return nil
	}
	if route, _ := t.find(protocol, model); route != nil {
		return route.Capture
	}
	return nil
}

// capture captures the message that a target is asked, if it takes the contract's messages, without the caller's own
// body. What others are sent, their adapters know.
func (a attempt) capture(ctx context.Context, asked proto.Message) {
	c := call.Of(ctx).Capture
	if c == nil || a.Protocol != genwayv1.Protocol_PROTOCOL_UNSPECIFIED {
		return
	}
	shown := asked.ProtoReflect().New()
	codec.Share(shown.Interface(), asked)
	shown.Clear(shown.Descriptor().Fields().ByName("wire"))
	c.Message(capture.UpstreamRequest, a.Name, shown.Interface())
}

// inference returns the labels of the metrics of an attempt at the target. The model is named by
// the configuration: where it leaves the name to callers, the pattern of the route stands for
// it.
func (t *Target) inference(r *Route, q request) instrument.Inference {
	names := protocol.Of(t.Protocol).Telemetry
	operation := names.Operation
	switch {
	case q.counted:
		operation = instrument.CountTokens
	case q.images:
		operation = protocol.OperationGenerateContent
	}
	return instrument.Inference{Operation: operation, Provider: names.Provider, Model: cmp.Or(t.Model, r.Model), Route: r.Model, Upstream: t.Name}
}

// Breakers calls yield with each upstream that has a circuit breaker, and its state: 0
// closed, 1 half-open, 2 open.
func (r *Router) Breakers(yield func(upstream string, state int)) {
	seen := map[*Guard]bool{}
	for _, route := range r.table.Load().routes {
		for _, targets := range [][]Target{route.Targets, route.Fallback} {
			for i := range targets {
				if g := targets[i].Guard; g != nil && g.breaker != nil && !seen[g] {
					seen[g] = true
					yield(targets[i].Name, g.breaker.state())
				}
			}
		}
	}
}

// shaved returns a context that ends a little before the caller's deadline, if there
// is one, so that the caller still gets our own error that the time is up: a twentieth of
// what is left, within bounds. Each server on the way takes its own.
func shaved(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return ctx, func() {}
	}
	left := time.Until(deadline)
	return context.WithDeadline(ctx, deadline.Add(-min(max(left/20, minShave), maxShave)))
}

const (
	minShave = 5 * time.Millisecond
	maxShave = 250 * time.Millisecond
)

// bounded returns a context that ends after most; 0 is no bound.
func bounded(ctx context.Context, most time.Duration) (context.Context, context.CancelFunc) {
	if most <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, most)
}

// errShare ends a call that has not begun its answer in its target's share of the time.
var errShare = fmt.Errorf("route: the target's share of the time is over: %w", context.DeadlineExceeded)

// share returns the time by which one of the targets that are left must have begun its
// answer, so that each of them has the same share of what is left until the route's
// deadline. The last has all of it: then the time is zero, as without a deadline.
func share(deadline time.Time, targets int) time.Time {
	if deadline.IsZero() || targets <= 1 {
		return time.Time{}
	}
	now := time.Now()
	return now.Add(deadline.Sub(now) / time.Duration(targets))
}

// UpstreamState is how an upstream is at a moment.
type UpstreamState struct {
	// Target is one of those that have it; its model and its weight mean nothing.
	Target Target
	// Breaker is 0 while the circuit breaker is closed, 1 while it is half-open, 2 while it is
	// open, and -1 without one.
	Breaker int
	// Unfit says that the upstream fails its checks.
	Unfit bool
	// InFlight calls are under way, Waiting calls wait for a place, and Most may be under way;
	// 0 is no bound.
	InFlight, Waiting, Most int
	// Routes are the patterns of those that have it.
	Routes []string
}

// Upstreams returns the upstreams of the routes, by name.
func (r *Router) Upstreams() []UpstreamState {
	states := map[string]*UpstreamState{}
	for _, route := range r.table.Load().routes {
		for _, t := range slices.Concat(route.Targets, route.Fallback) {
			s := states[t.Name]
			if s == nil {
				s = &UpstreamState{Target: t, Breaker: -1}
				t.Guard.state(s)
				states[t.Name] = s
			}
			if !slices.Contains(s.Routes, route.Model) {
				s.Routes = append(s.Routes, route.Model)
			}
		}
	}
	list := make([]UpstreamState, 0, len(states))
	for _, s := range states {
		list = append(list, *s)
	}
	slices.SortFunc(list, func(a, b UpstreamState) int { return strings.Compare(a.Target.Name, b.Target.Name) })
	return list
}

// Routes returns the routes, in the order in which they are tried. They are not to be changed.
func (r *Router) Routes() []Route { return r.table.Load().routes }

// state fills in the state of the upstream; a nil Guard sets nothing.
func (g *Guard) state(s *UpstreamState) {
	if g == nil {
		return
	}
	if g.breaker != nil {
		s.Breaker = g.breaker.state()
	}
	s.Unfit = g.unfit.Load()
	g.bound.mu.Lock()
	defer g.bound.mu.Unlock()
	s.InFlight, s.Waiting, s.Most = g.bound.underWay, g.bound.queue.size(), g.bound.most
	if lowered := g.bound.limit(time.Now()); g.bound.reached > 0 {
		s.Most = lowered
	}
}
