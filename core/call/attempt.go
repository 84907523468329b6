package call

import (
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/telemetry/instrument"
	"github.com/genway/genway/telemetry/tracing"
)

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
	// Kind and Reason are those of the failure; empty for success.
	Kind, Reason string
	// Calls is how often the upstream was called.
	Calls int64
	// Address, Port and Status are of the last call over HTTP; zero without one.
	Address      string
	Port, Status int
	// Counts are the tokens that the upstream reported; zero for none.
	Counts instrument.Counts
	// Span is that of the attempt.
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
		a.Kind, a.Reason = fault.Name(f.Kind), f.Reason
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
	r.Accepted, r.RawModel, r.RawUsage, r.RawFinal, r.Ending, r.Mismatches = false, "", nil, false, false, nil
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
