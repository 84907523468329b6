// Package call has the record of a call: the one place where the core keeps what it knows of a
// call while the call runs. The interceptors make the record and put it into the context; the
// service, the router and the adapters of upstreams add to it; the ledger's entry, the log line,
// the metrics and the spans are made from it.
//
// It must not import any package of the core but keys and capture: all of them import it.
package call

import (
	"context"
	"path"
	"strings"
	"sync/atomic"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/capture"
	"github.com/genway/genway/core/keys"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/arena"
	"github.com/genway/genway/internal/overload"
	"github.com/genway/genway/telemetry/instrument"
	"github.com/genway/genway/telemetry/tracing"
)

// Record is the state of one call. It never holds a prompt, an answer or a key, but for Capture.
//
// The goroutines of the call write it, one at a time, and it is read when the call has returned.
// Only Flow may be read at any time. The fields are grouped by their writers.
type Record struct {
	// The interceptors set these when the call begins.

	// ID is the identifier of the call, and ClientID the caller's own; either may be empty.
	ID, ClientID string
	// Method is the RPC: its full name (/genway.v1.Generation/GenerateText), or for a call that
	// did not come over gRPC the last part of it.
	Method string
	// Start is when the call began.
	Start time.Time
	// Span is the call's. Tracer makes the spans of its attempts; nil makes none.
	Span   tracing.Span
	Tracer *tracing.Tracer
	// Metrics count the attempts; nil does not.
	Metrics *instrument.Core
	// Caller is who makes the call: set by authentication, and the zero Caller before it. After
	// a failed authentication it has what was known by then.
	Caller Caller
	// Shed says that the call was refused because of an overload, of this process or of its
	// upstreams. The admission gate logs those once a second, so they have no line of their own.
	Shed bool

	// The service sets these before it asks the upstream.

	// AskedModel is the model that the caller named; empty for calls that name none.
	AskedModel string
	// Deferred says that the request came with a deferred body: the edge has had the
	// announcement that this core takes those.
	Deferred bool
	// Strict refuses the call rather than lose anything: for a key that demands it, or, set by
	// the router, a route that does.
	Strict bool
	// MaxOutput is how many tokens each answer may have that the caller's budgets have left, for a request that sets no
	// maximum; 0 is no bound.
	MaxOutput int64
	// Pinned names the upstream that alone is asked, for a request that an administrator tries; empty
	// for what the routes say.
	Pinned string
	// Priority is the caller's key's.
	Priority overload.Priority
	// Admitted says that the call was admitted and recorded. Its failure is an upstream's.
	Admitted bool
	// Body holds the memory of the request's raw body where that may be used again after the call; nil
	// where it is the collector's. BodyUnreferenced means that the service keeps nothing of the body.
	Body             *arena.Body
	BodyUnreferenced bool
	// Capture collects the bodies of a call that is to be captured; nil for all others.
	Capture *capture.Capture
	// Admission is how long the admission took, the opening of the ledger's entry included.
	// AdmittedAfter is the time from Start to its end.
	Admission, AdmittedAfter time.Duration
	// Limits is when the limits were asked; zero where none applies.
	Limits Stage
	// Routing is when the route and its targets were chosen; zero before the router.
	Routing Stage

	// The router sets these for each attempt at a target. The last attempt's stay.

	// Route is the pattern of the route taken.
	Route string
	// Upstream is the upstream that served the call, or failed last.
	Upstream string
	// TargetModel is the model that it was asked for.
	TargetModel string
	// SeveralAccounts says that another target of its protocol cannot read what it signs or encrypts.
	SeveralAccounts bool
	// Account is whose signatures the target's upstream makes (remote.Upstream.Account), and MadeBy is that of the upstream that
	// has the response which the request continues; it is the first choice. Empty for none.
	Account, MadeBy string
	// Attempts are the attempts at targets, in their order.
	Attempts []Attempt
	// Spent is what failed calls may cost that were followed by another.
	Spent []Spent
	// PolicyFallback says that another target follows the last attempt's where the vendor's policy refuses the request. An
	// answer that ends so before it has content is then a fault (upstream.Withheld).
	PolicyFallback bool
	// CallerLeft says that the caller had left by the time the answer was there: the answer was
	// read for what it cost.
	CallerLeft bool

	// The adapters of upstreams set these.

	// Calls is how often an upstream was called, retries included. A request that an adapter
	// refuses without calling anything is no call.
	Calls int64
	// BodySent is how many of Calls have sent the request to its end, so that nothing of them reads its
	// body any more.
	BodySent int64
	// Waited is how long the call waited for upstreams: for the head of an answer, and for more
	// of it.
	Waited time.Duration
	// Headers are the headers of the last attempt's answer that the caller may read, by names in
	// lower case: the limits of the vendor of the caller's protocol, for example. Nil for none.
	Headers map[string]string
	// Accepted means that the upstream may charge for the last call, even if no whole answer
	// comes of it: its answer has begun with a status of success, or the gateway ended the call after it
	// had sent the whole request. An error that the upstream reports in its answer unsets it.
	Accepted bool
	// RawModel is the model that the last attempt answered with in a stream that passes through: the
	// events of such a stream are the upstream's own, and have no canonical fields. Empty is not
	// reported.
	RawModel string
	// RawID is the identifier of that answer.
	RawID string
	// RawUsage is the usage that the stream of the last attempt has reported so far; nil for none.
	// RawFinal means that it is that of the whole call: the answer had come to its end by then, or its
	// failure told the usage.
	RawUsage *genwayv1.Usage
	RawFinal bool
	// Drawn is how many images the last attempt has made by calls of text, delivered or not.
	Drawn int
	// ServedTier is the service tier that served the last attempt, by a header of its answer; empty where none says so.
	ServedTier string
	// Mismatches counts the signatures and encrypted values of the request that do not fit where the last call went, by the
	// words that Mismatched takes; nil for none.
	Mismatches map[string]int64
	// Gathers says that the adapter calls Flush before it waits for more of a stream, so that the
	// events that it sends until then may go together.
	Gathers bool
	// Ending means that the events that follow are the end of the answer, in a stream of texts that passes through,
	// and in each stream of images.
	Ending bool
	// Flow counts the bytes of output text in a stream that passes through; nil where it is
	// not counted.
	Flow *atomic.Int64

	// The service sets these from the answer.

	// Model is the model that answered.
	Model string
	// Usage is the usage that the answer reports, or the estimate that replaces it; nil for none.
	Usage *genwayv1.Usage
	// FirstEvent is the time from Start to a stream's first event; 0 for none.
	FirstEvent time.Duration
	// OnFlush sends the events of a stream that wait to be sent together; nil where none wait.
	OnFlush func()
	// Losses are the names of members that were lost, each once.
	Losses []string

	// The service sets these when it settles the call.

	// Outcome is the ledger entry's; empty for a call without an entry.
	Outcome string
	// Cost is what the call costs, in nano-dollars.
	Cost int64
	// Unpriced means that something of it has no price: Cost is without it.
	Unpriced bool
	// UsageSource is where the usage comes from, as the ledger names it; empty for the upstream.
	// RejectedUsage is what the upstream reported where Usage replaces it; nil for nothing.
	UsageSource   string
	RejectedUsage *genwayv1.Usage

	trace   string // that TraceID has given
	begun   bool   // the answer of the last attempt has begun
	onBegin func() // called when it does; may be nil
}

// Caller is who makes a call, and by which way.
type Caller struct {
	keys.Principal
	// Protocol is the JSON protocol the call came in by; unspecified for a direct
	// gRPC call.
	Protocol genwayv1.Protocol
	// Edge reports that an edge we trust made the call for the caller.
	Edge bool
}

// Stage is a part of a call. Its times are since Start; an End of 0 is for a stage that was not
// reached.
type Stage struct{ Begin, End time.Duration }

// StageSince returns the stage that began at a time and ends now. It lasts a microsecond at least, so that the
// timeline shows it.
func (r *Record) StageSince(begin time.Time) Stage {
	from := max(0, begin.Sub(r.Start))
	return Stage{from, max(time.Since(r.Start), from+time.Microsecond)}
}

// Spent is the usage of a failed call that was followed by another.
type Spent struct {
	// Upstream is the one that failed, Model what it was asked for.
	Upstream, Model string
	// ServedTier is the Record's.
	ServedTier string
	// Usage is what it reported; nil for nothing, of a call that was Accepted.
	Usage *genwayv1.Usage
}

// RPC is the last part of Method: GenerateText.
func (r *Record) RPC() string { return path.Base(r.Method) }

// TraceID is the identifier of the call's trace; empty for none.
func (r *Record) TraceID() string {
	if r.trace == "" {
		r.trace = r.Span.TraceText()
	}
	return r.trace
}

// Own is the gateway's own time of a call that took so long.
func (r *Record) Own(took time.Duration) time.Duration { return max(took-r.Waited, 0) }

// Flush sends the events of a stream that wait to be sent together. An adapter that has set Gathers
// calls it before it waits.
func (r *Record) Flush() {
	if r.OnFlush != nil {
		r.OnFlush()
	}
}

// Await adds what has passed since to the time that the call waited for upstreams.
func (r *Record) Await(since time.Time) { r.Waited += time.Since(since) }

type recordKey struct{}

// With returns a context that carries the record.
func With(ctx context.Context, r *Record) context.Context {
	return context.WithValue(ctx, recordKey{}, r)
}

// Of returns the record of the call that ctx belongs to. It is never nil: outside of a call it is
// a new record, which is read nowhere.
func Of(ctx context.Context) *Record {
	if r, ok := ctx.Value(recordKey{}).(*Record); ok {
		return r
	}
	return &Record{}
}

// Ensure returns the record of the call that ctx belongs to, and a context that carries it. Outside
// of a call it makes one that begins now.
func Ensure(ctx context.Context) (context.Context, *Record) {
	if r, ok := ctx.Value(recordKey{}).(*Record); ok {
		return ctx, r
	}
	r := &Record{Start: time.Now()}
	return With(ctx, r), r
}

// Attempt is one attempt of a request at a target, retries at it included: what metrics,
// spans and the log say of it.
type Attempt struct {
	// Inference has the labels of its metrics, which callers cannot choose.
	instrument.Inference

	// Model is what the upstream was asked for, Protocol the name of what it speaks.
	Model, Protocol string
	Begin           time.Time
	End             time.Time
	// Connected and Headers are when the last call had a connection, and the head of its
	// answer; zero where that is not known.
	Connected, Headers time.Time
	// First is when the first chunk of a streamed answer came, and Released when it was sent
	// on, after what was held back; zero for none.
	First, Released time.Time
	// Kind and Reason are the failure's, and Message what Quote leaves of its text; empty for success.
	Kind, Reason, Message string
	// Calls is how often the upstream was called.
	Calls int64
	// Address, Port and Status describe the last call over HTTP; zero without one.
	Address      string
	Port, Status int
	// Counts are the tokens that the upstream reported; zero for none.
	Counts instrument.Counts
	// Span is the attempt's.
	Span tracing.Span

	chunks instrument.Chunks
}

// StartAttempt begins the record of an attempt at a target, which is asked for the model
// in the protocol of that name.
func (r *Record) StartAttempt(i instrument.Inference, model, protocol string) {
	r.Attempts = append(r.Attempts, Attempt{Inference: i, Model: model, Protocol: protocol, Begin: time.Now(), Calls: -r.Calls, Span: r.Tracer.Child(r.Span)})
}

// EndAttempt ends it; err is what came of it. The first call counts.
func (r *Record) EndAttempt(err error) {
	a := r.attempt()
	if a == nil || !a.End.IsZero() {
		return
	}
	a.End = time.Now()
	a.Calls += r.Calls
	if err != nil {
		f := fault.From(err)
		a.Kind, a.Reason, a.Message = fault.Name(f.Kind), f.Reason, Quote(f.Message)
	}
	a.chunks = instrument.Chunks{}
}

// attempt is the one under way, or the last; nil for none.
func (r *Record) attempt() *Attempt {
	if len(r.Attempts) == 0 {
		return nil
	}
	return &r.Attempts[len(r.Attempts)-1]
}

// StartCall forgets what belongs to the call of an upstream before: the next one begins. onBegin
// is called once, when its answer begins; nil is allowed.
func (r *Record) StartCall(onBegin func()) {
	r.Headers, r.Flow, r.Gathers, r.begun, r.onBegin = nil, nil, false, false, onBegin
	r.Accepted, r.RawModel, r.RawID, r.RawUsage, r.RawFinal, r.Ending, r.Mismatches, r.Drawn = false, "", "", nil, false, false, nil, 0
}

// Fork returns the record of one of several calls that an adapter makes at once for this call. begins is called when the
// answer of that call begins. Each record is for one goroutine; Join adds it to this one when its call has returned.
func (r *Record) Fork(begins func()) *Record {
	one := &Record{
		ID: r.ID, Method: r.Method, Start: r.Start, Span: r.Span, Tracer: r.Tracer, Metrics: r.Metrics, Caller: r.Caller, Strict: r.Strict,
		Upstream: r.Upstream, TargetModel: r.TargetModel, SeveralAccounts: r.SeveralAccounts, Capture: r.Capture, onBegin: begins,
	}
	if a := r.attempt(); a != nil {
		one.Attempts = []Attempt{*a}
	}
	return one
}

// Detached returns the record of a call that goes on when this one has returned. It is the same request to the ledger and the log.
func (r *Record) Detached() *Record {
	return &Record{ID: r.ID, ClientID: r.ClientID, Method: r.Method, Start: r.Start, Span: r.Span, Tracer: r.Tracer, Metrics: r.Metrics, Caller: r.Caller, AskedModel: strings.Clone(r.AskedModel), Pinned: r.Pinned, MadeBy: r.MadeBy}
}

// Join adds the record of a call that has returned. Facts of single calls, such as headers, are those of the last call joined.
func (r *Record) Join(one *Record) {
	r.Calls += one.Calls
	r.BodySent += one.BodySent
	r.Waited = max(r.Waited, one.Waited)
	r.Accepted = r.Accepted || one.Accepted
	if one.Headers != nil {
		r.Headers = one.Headers
	}
	if one.ServedTier != "" {
		r.ServedTier = one.ServedTier
	}
	if a, b := r.attempt(), one.attempt(); a != nil && b != nil {
		a.Connected, a.Headers, a.Address, a.Port, a.Status = b.Connected, b.Headers, b.Address, b.Port, b.Status
		if a.First.IsZero() {
			a.First = b.First
		}
	}
}

// Mismatched records a signature or an encrypted value of the request that does not fit where it went. The reason is one of
// account (another one made it, so that the gateway left it out), refused (the upstream refused the request for it), what
// the upstream says that it left it out for (organization, end_user, model, prefix, turn_boundary), allowed (the upstream
// read it all the same), and other.
func (r *Record) Mismatched(reason string) {
	if r.Mismatches == nil {
		r.Mismatches = map[string]int64{}
	}
	r.Mismatches[reason]++
}

// AnswerBegins records that the answer has begun, after which nothing else is tried: a unary
// one with the headers of a 2xx status, a stream with its first event that is no heartbeat.
// Adapters call it for unary answers, the router calls it for streams.
func (r *Record) AnswerBegins() {
	if r.begun {
		return
	}
	r.begun = true
	if r.onBegin != nil {
		r.onBegin()
	}
}

// AnswerBegun reports whether the answer of the last call of an upstream has begun.
func (r *Record) AnswerBegun() bool { return r.begun }

// Chunk records that a chunk of a streamed answer is about to be sent.
func (r *Record) Chunk() {
	a := r.attempt()
	if a == nil {
		return
	}
	now := time.Now()
	if a.Released.IsZero() {
		a.Released, a.chunks = now, r.Metrics.Chunks(a.Inference, a.Begin)
		if a.First.IsZero() {
			a.First = now
		}
	}
	a.chunks.Chunk(a.Span.SpanContext, now)
}

// FirstContent records that the first bytes of a streamed answer's content have come. They may be
// held back.
func (r *Record) FirstContent() {
	if a := r.attempt(); a != nil && a.First.IsZero() {
		a.First = time.Now()
	}
}

// Connected records that a call has a connection.
func (r *Record) Connected() {
	if a := r.attempt(); a != nil {
		a.Connected = time.Now()
	}
}

// CalledHTTP records one call over HTTP: what was called, the status of the answer, 0 for
// none, the word for why there is none, and when its head came or it failed.
func (r *Record) CalledHTTP(method, address string, port, status int, failure string, end time.Time, took time.Duration) {
	a := r.attempt()
	if a == nil {
		return
	}
	a.Address, a.Port, a.Status = address, port, status
	if status > 0 {
		a.Headers = end
	}
	r.Metrics.CalledHTTP(a.Span.SpanContext, instrument.HTTPCall{Method: method, Address: address, Port: port, Status: status, Failure: failure, Upstream: a.Upstream}, took)
}

// TargetName is the upstream of the attempt under way, or of the last; empty for none.
func (r *Record) TargetName() string {
	if a := r.attempt(); a != nil {
		return a.Upstream
	}
	return r.Upstream
}

// Carried is the trace context that a call of the attempt under way sends along.
func (r *Record) Carried() tracing.Carried {
	if a := r.attempt(); a != nil {
		return a.Span.Carried
	}
	return tracing.Carried{}
}
