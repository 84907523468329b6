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
	"slices"
	"sync/atomic"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/capture"
	"github.com/genway/genway/core/catalog"
	"github.com/genway/genway/core/glob"
	"github.com/genway/genway/core/override"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
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
	// Fallback are tried in order after the targets.
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
	// Overrides change the parameters of requests; nil changes none.
	Overrides *override.Overrides
	// Catalog is what is known of models, which translated requests are made to fit; nil knows
	// nothing.
	Catalog *catalog.Catalog
	// Guard holds the upstream to its limits; nil sets none.
	Guard *Guard
	// Models gives what the target is listed with; nil is what the upstream lists.
	Models func() []*genwayv1.Model
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

// find gives the first route that takes a request, and its place in the table; nil for none.
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

// choose gives the route of a request and its targets, in the order in which they are tried.
func (r *Router) choose(record *call.Record, q request) (*Route, []Target, error) {
	route, err := r.taken(record, q)
	if err != nil {
		return nil, nil, err
	}
	targets := route.order(q)
	if len(targets) == 0 {
		return nil, nil, unable(q)
	}
	if q.head != nil && severalAccounts(targets) {
		targets = whereMade(targets, q.head)
	}
	return route, targets, nil
}

// taken gives the route that a request takes.
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
		keep()
		// Also for a target whose guard refuses the call.
		record.StartCall(nil)
		a = attempt{Target: target}
		record.Route, record.Upstream, record.TargetModel = route.Model, target.Name, cmp.Or(target.Model, q.model)
		t.model = record.TargetModel
		record.StartAttempt(target.inference(route, q), record.TargetModel, protocol.Of(target.Protocol).Name)
		record.SeveralAccounts = isForeign(&target, targets)
		t.begin, t.last = share(deadline, len(targets)-n), n == len(targets)-1
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
		if err == nil || record.AnswerBegun() || ctx.Err() != nil || !mendable(err) {
			break
		}
	}
	if usageOf(record, err) == nil && !record.Accepted {
		keep() // a guard has refused to make another call
	}
	a.sendHeaders(ctx, record.Headers)
	return err
}
