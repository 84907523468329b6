package route

import (
	"cmp"
	"context"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/overload"
	"google.golang.org/protobuf/proto"
)

// Limits are what protects an upstream, and the callers from it. The zero value has
// the defaults.
type Limits struct {
	// MaxConcurrent bounds the calls at once; 0 is no bound.
	MaxConcurrent int
	// Fixed keeps that bound as it is. Otherwise a model has a bound of its own for a while
	// when the upstream refuses a large share of its calls: 429, 503 or 529.
	Fixed bool
	// Retries is how often a call that failed before its answer began is made again
	// at the same upstream; negative is never. Default 1.
	Retries int
	// BreakAfter is the failures in a row after which the circuit breaker opens for
	// BreakFor; negative is never. A refusal for an overload is no failure. Defaults 5
	// and 10 s.
	BreakAfter int
	BreakFor   time.Duration
	// Deadline is how long one call may take in all; 0 is DefaultDeadline.
	Deadline time.Duration
	// DrainFor is how long a call goes on whose caller left, to be settled on what the
	// upstream says it cost; 0 ends it at once.
	DrainFor time.Duration
	// Backoff is the middle of the random wait before a retry. Default 200 ms.
	Backoff time.Duration
}

// DefaultDeadline is how long one call may take in all: longer than any answer, and
// shorter than for ever, which one of a byte now and then would take.
const DefaultDeadline = time.Hour

// Guard holds an upstream to its limits. Targets of one upstream share one.
type Guard struct {
	limits  Limits
	breaker *breaker // nil: never breaks
	bound   bound
	models  deployments // unless the limits are Fixed
	speeds  speeds      // of calls by the strategy Fastest
	// unfit is that the upstream fails its checks.
	unfit atomic.Bool

	mu     sync.Mutex
	budget float64
}

// NewGuard makes a guard.
func NewGuard(limits Limits) *Guard {
	if limits.Retries == 0 {
		limits.Retries = 1
	}
	if limits.BreakAfter == 0 {
		limits.BreakAfter = 5
	}
	if limits.BreakFor == 0 {
		limits.BreakFor = 10 * time.Second
	}
	if limits.Backoff == 0 {
		limits.Backoff = 200 * time.Millisecond
	}
	if limits.Deadline == 0 {
		limits.Deadline = DefaultDeadline
	}
	g := &Guard{limits: limits, budget: retriesKept}
	if limits.BreakAfter > 0 {
		g.breaker = &breaker{after: limits.BreakAfter, rest: limits.BreakFor}
	}
	g.bound.most = limits.MaxConcurrent
	return g
}

// doing makes one call of an upstream. Its context may outlive the caller's: the drain
// then says so.
type doing func(context.Context, *drain) error

// turn is what a target may do for a request.
type turn struct {
	// caller is the caller's context, without the deadline of the route.
	caller context.Context //nolint:containedctx // that of the call this is a part of
	record *call.Record
	drains *drains
	// begin is when the answer must have begun: the target's share of the route's
	// deadline is over then. Zero is no bound but the context's.
	begin time.Time
	// streamed says that the answer is a stream, which has content when it has begun.
	streamed bool
	// model is what the target is asked for.
	model string
	// priority is the caller's, and last says that no other target is left: the call
	// may wait for a place.
	priority overload.Priority
	last     bool
	// measured says that the route wants to know how long answers take to begin.
	measured bool
}

// late reports whether the target's share of the time is over.
func (t *turn) late() bool { return !t.begin.IsZero() && !time.Now().Before(t.begin) }

// run makes a call, and makes it again while that may help: the call failed for
// reasons of the upstream's, its answer had not begun, and the budget and the target's
// share of the time last. A nil Guard makes it once.
func (g *Guard) run(ctx context.Context, t *turn, do doing) error {
	if g == nil {
		return t.timed(ctx, nil, func(ctx context.Context) error { return do(ctx, nil) })
	}
	g.earn()
	for retry := 0; ; retry++ {
		err := g.once(ctx, t, do)
		if err == nil || t.record.AnswerBegun() || retry >= g.limits.Retries || !retryable(err) || !g.spend() || !g.wait(ctx) || t.late() {
			return err
		}
	}
}

// once makes a call within the limits and records how it went.
func (g *Guard) once(ctx context.Context, t *turn, do doing) (err error) {
	if ctx.Err() != nil {
		return upstream.Interrupted(ctx) // nothing is begun for a caller that has left already
	}
	if g.unfit.Load() {
		return errUnfit
	}
	spot, ok := g.enter(ctx, t)
	switch {
	case !ok && ctx.Err() != nil:
		return upstream.Interrupted(ctx)
	case !ok:
		return errBusy
	}
	defer spot.leave()
	permit, wait, ok := g.breaker.enter()
	if !ok {
		return busy("UPSTREAM_BROKEN", "the upstream failed repeatedly and is not called for a while", max(time.Second, wait))
	}
	// A call that panics counts as well. Otherwise the upstream would never be tried again.
	outcome := fails
	defer func() { permit.done(outcome) }()
	begun := permit.begun()
	if t.measured {
		timing := g.speeds.call(speedOf{t.model, t.streamed}, time.Now())
		defer func() { timing.end(time.Now(), err != nil && t.caller.Err() == nil && causeOf(err)&Failure != 0) }()
		prove := begun
		begun = func() {
			timing.begun(time.Now())
			if prove != nil {
				prove()
			}
		}
	}
	err = g.within(ctx, t, begun, do)
	outcome = t.judged(ctx, err)
	if spot.judged(err) && outcome == fails {
		outcome = nothing // fewer calls at once may be all that it takes
	}
	return err
}

// within makes a call within its time.
func (g *Guard) within(ctx context.Context, t *turn, begun func(), do doing) (err error) {
	if g.limits.DrainFor <= 0 {
		inner, stop := bounded(ctx, g.limits.Deadline)
		defer stop()
		return t.timed(inner, begun, func(ctx context.Context) error { return do(ctx, nil) })
	}
	inner, d := t.drains.newDrain(ctx, g.limits.DrainFor)
	defer func() { err = d.end(ctx, err) }()
	inner, stop := bounded(inner, g.limits.Deadline)
	defer stop()
	return t.timed(inner, begun, func(ctx context.Context) error { return do(ctx, d) })
}

// timed makes a call whose answer must begin in the target's share of the time. That bound
// ends with the beginning of the answer, when begun is called unless it is nil.
func (t *turn) timed(ctx context.Context, begun func(), do func(context.Context) error) error {
	if t.begin.IsZero() {
		t.record.StartCall(begun)
		return do(ctx)
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	share := time.AfterFunc(time.Until(t.begin), func() { end(errShare) })
	defer share.Stop()
	t.record.StartCall(func() {
		share.Stop()
		if begun != nil {
			begun()
		}
	})
	return do(ctx)
}

// errBusy is shared by all who find an upstream at its bound.
var errBusy = busy(fault.ReasonUpstreamBusy, "as many requests as the upstream may have are under way; try again", time.Second)

// errUnfit is the error of an upstream that fails its checks.
var errUnfit = busy("UPSTREAM_BROKEN", "the upstream fails its checks and is not called until one succeeds", time.Second)

// Checked sets whether the upstream answers its checks. While it does not, calls are refused
// as they are by an open breaker, so that other targets are tried.
func (g *Guard) Checked(ok bool) { g.unfit.Store(!ok) }

func busy(reason, text string, wait time.Duration) error {
	e := fault.New(fault.Overloaded, reason, "%s", text)
	e.RetryAfter = wait
	return e
}

// spot is the places of one call: at its upstream, and at the model there.
type spot struct {
	upstream place
	model    place // none where the limits are fixed
}

// enter takes the places for a call. Where one is missing the call waits if it may; without
// both there is none, or the caller left.
func (g *Guard) enter(ctx context.Context, t *turn) (s spot, ok bool) {
	if !g.limits.Fixed {
		if s.model, ok = g.models.of(t.model).enter(ctx, t.priority, t.last); !ok {
			return spot{}, false
		}
	}
	if s.upstream, ok = g.bound.enter(ctx, t.priority, t.last); !ok {
		if s.model.bound != nil {
			s.model.leave()
		}
		return spot{}, false
	}
	return s, true
}

// leave frees the places.
func (s spot) leave() {
	s.upstream.leave()
	if s.model.bound != nil {
		s.model.leave()
	}
}

// judged books whether the call was refused for an overload. It reports whether it was, so
// that it is no failure: a 503 that says nothing else may be a refusal while others are
// answered, and is a failure where fewer calls do not help.
func (s spot) judged(err error) (refused bool) {
	kind := refusalOf(err)
	if s.model.bound == nil {
		return kind == overloadedNow
	}
	if kind == noRefusal {
		s.model.worked()
		return false
	}
	hopeless := s.model.refused(time.Now())
	return kind == overloadedNow || !hopeless
}

// report has the guard's queues counted in crowd while they are not empty. A guard is reported
// to the first router that has it.
func (g *Guard) report(crowd *atomic.Int64) {
	if g == nil {
		return
	}
	g.bound.report(crowd)
	g.models.report(crowd)
}

// full reports whether a call for a model would find neither a place nor one in a queue.
func (g *Guard) full(model string, p overload.Priority) bool {
	return g.bound.full(p) || g.models.known(model).full(p)
}

// Full returns the refusal of a request all of whose targets are at their bound, with as many
// calls waiting as may: it would be refused anyway, and costs less here. Nil says nothing.
func (r *Router) Full(protocol genwayv1.Protocol, model string, asked proto.Message, p overload.Priority) error {
	if r.crowd.Load() == 0 {
		return nil
	}
	route, _ := r.table.Load().find(protocol, model)
	if route == nil {
		return nil
	}
	some, images := false, draws(asked)
	for _, targets := range [][]Target{route.first(protocol, images), serving(route.Fallback, images)} {
		for _, t := range targets {
			if !t.on(Failure) {
				continue
			}
			if t.Guard == nil || !t.Guard.full(cmp.Or(t.Model, model), p) {
				return nil
			}
			some = true
		}
	}
	if !some {
		return nil
	}
	return errBusy
}

// refusal says whether an upstream has refused a call because it has too much to do. That is
// no failure: fewer calls, or later ones, are answered.
type refusal int

const (
	// noRefusal is an answer, or a failure.
	noRefusal refusal = iota
	// overloadedNow is a refusal that says so: 429, 529, overloaded_error, or a 503 with
	// Retry-After or with a text of overload. It never counts against the circuit breaker.
	overloadedNow
	// unavailable is a 503 that says nothing else. It may be a refusal, or an upstream that
	// is down.
	unavailable
)

// refusalOf classifies the error of a call.
func refusalOf(err error) refusal {
	if err == nil {
		return noRefusal
	}
	f := fault.From(err)
	switch {
	case f.Kind == fault.RateLimited || f.Kind == fault.Overloaded:
		return overloadedNow
	case f.Kind != fault.Unavailable || f.Status != http.StatusServiceUnavailable:
		return noRefusal
	case f.RetryAfter > 0 || saysOverload(f):
		return overloadedNow
	}
	return unavailable
}

// saysOverload reports whether an upstream's error names an overload. The vendors' words:
// OpenAI's server_is_overloaded and "currently overloaded", Anthropic's overloaded_error,
// Google's "The model is overloaded" and RESOURCE_EXHAUSTED, vLLM's and TGI's "overloaded".
func saysOverload(f *fault.Error) bool {
	text := strings.ToLower(f.NativeType + " " + f.NativeCode + " " + f.Message)
	for _, words := range [...]string{"overload", "rate limit", "rate_limit", "too many requests", "resource_exhausted", "at capacity"} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// Each call earns a part of a retry, up to a few in stock: when all fail, retries add
// a tenth to the load and no more.
const (
	retriesEarned = 0.1
	retriesKept   = 10
)

// judged is the verdict of a call on its upstream. A failure that the request is to blame for
// never counts against the upstream, and a call whose caller left, or would not wait, counts as no
// verdict. One that has not answered by the route's deadline, which ctx has, failed;
// unless it is a stream that had content.
func (t *turn) judged(ctx context.Context, err error) verdict {
	switch {
	case err == nil:
		return works
	case t.caller.Err() != nil, ctx.Err() != nil && t.streamed && t.record.AnswerBegun():
		return nothing
	}
	f := fault.From(err)
	if f.Reason == upstream.ReasonAnswersFull {
		return nothing
	}
	switch f.Kind { //nolint:exhaustive // all others are not its fault
	case fault.BadUpstream, fault.Unavailable, fault.Overloaded, fault.Timeout:
		return fails
	case fault.Cancelled:
		return nothing
	}
	return works
}

// retryable reports whether the same upstream may answer at once where it failed. One
// that says how long to wait, took all the time there was, or refused the gateway's credential, will not.
func retryable(err error) bool {
	f := fault.From(err)
	switch f.Kind { //nolint:exhaustive // all others would fail again
	case fault.BadUpstream, fault.Unavailable, fault.Overloaded:
		return f.RetryAfter == 0 && f.Reason != upstream.ReasonCredentials
	}
	return false
}

func (g *Guard) earn() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.budget = min(retriesKept, g.budget+retriesEarned)
}

func (g *Guard) spend() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.budget < 1 {
		return false
	}
	g.budget--
	return true
}

// wait waits for a random time; false when the caller has left by then.
func (g *Guard) wait(ctx context.Context) bool {
	timer := time.NewTimer(g.limits.Backoff/2 + rand.N(g.limits.Backoff)) //nolint:gosec // a wait, no secret
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
