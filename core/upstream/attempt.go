package upstream

import (
	"context"
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

// Watch is what records the attempts of a request. The zero value records nothing.
type Watch struct {
	Tracer  *tracing.Tracer
	Metrics *instrument.Core
	// Span is that of the request; nil for none.
	Span *tracing.Span
}

// child begins the span of an attempt.
func (w Watch) child() tracing.Span {
	if w.Span == nil {
		return tracing.Span{}
	}
	return w.Tracer.Child(*w.Span)
}

// Try begins the record of an attempt.
func (n *Note) Try(i instrument.Inference, model, protocol string) {
	a := Attempt{Inference: i, Model: model, Protocol: protocol, Begin: time.Now(), Calls: -n.Calls, Span: n.Watch.child()}
	a.chunks = n.Watch.Metrics.Chunks(i, a.Begin)
	n.Attempts = append(n.Attempts, a)
}

// Tried ends it.
func (n *Note) Tried(err error) {
	a := n.attempt()
	if a == nil {
		return
	}
	a.End = time.Now()
	a.Calls += n.Calls
	if err != nil {
		f := fault.From(err)
		a.Kind, a.Reason = fault.Name(f.Kind), f.Reason
	}
	a.chunks = instrument.Chunks{}
}

// attempt is the one under way, or the last; nil for none.
func (n *Note) attempt() *Attempt {
	if len(n.Attempts) == 0 {
		return nil
	}
	return &n.Attempts[len(n.Attempts)-1]
}

// Chunk notes that a chunk of a streamed answer is about to be sent.
func (n *Note) Chunk(ctx context.Context) {
	a := n.attempt()
	if a == nil {
		return
	}
	now := time.Now()
	if a.Released.IsZero() {
		a.Released = now
		if a.First.IsZero() {
			a.First = now
		}
	}
	a.chunks.Chunk(a.Span.Context(ctx), now)
}

// Heard notes that the first bytes of a streamed answer's content came: what follows may be
// held back.
func (n *Note) Heard() {
	if a := n.attempt(); a != nil && a.First.IsZero() {
		a.First = time.Now()
	}
}

// Connected notes that a call has a connection.
func (n *Note) Connected() {
	if a := n.attempt(); a != nil {
		a.Connected = time.Now()
	}
}

// CalledHTTP notes one call over HTTP: what was called, the status of the answer, 0 for
// none, and the word for why there is none.
func (n *Note) CalledHTTP(ctx context.Context, method, address string, port, status int, failure string, took time.Duration) {
	a := n.attempt()
	if a == nil {
		return
	}
	a.Address, a.Port, a.Status = address, port, status
	if status > 0 {
		a.Headers = time.Now()
	}
	n.Watch.Metrics.CalledHTTP(a.Span.Context(ctx), instrument.HTTPCall{Method: method, Address: address, Port: port, Status: status, Failure: failure, Upstream: a.Upstream}, took)
}

// Awaited adds what has passed since to the time that the request waited for upstreams.
func (n *Note) Awaited(since time.Time) { n.Waited += time.Since(since) }

// Carried is what a call of the attempt under way takes along.
func (n *Note) Carried() tracing.Carried {
	if a := n.attempt(); a != nil {
		return a.Span.Carried
	}
	return tracing.Carried{}
}
