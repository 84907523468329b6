package upstream

import (
	"context"
	"sync/atomic"
	"time"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Note is what routing and adapters tell the accounting of a request: which upstream
// served it, how often upstreams were called, and what they reported. Only the call's own
// goroutines write it, one at a time, and it is read when the call has returned; Flow alone
// may be read at any time.
type Note struct {
	// Route is the pattern of the route taken.
	Route string
	// Name is the upstream that served the call, or failed last.
	Name string
	// Model is what it was asked for.
	Model string
	// Calls is how often an upstream was called, retries included. Adapters count: a
	// request that an adapter refuses without calling anything is no call.
	Calls int64
	// Gone says that the caller had left by the time the answer was there: it was read
	// for what it cost.
	Gone bool
	// Headers are those of the last attempt's answer that are the caller's to read, by
	// names in lower case: what the vendor of the caller's protocol says of its limits,
	// say. Nil when there are none.
	Headers map[string]string
	// Answered and Usage are the model that the last attempt answered with and the usage
	// it reported, for streams that pass through: their events are the upstream's own,
	// and do not say so in the contract's terms. Empty and nil are not reported.
	Answered string
	Usage    *genwayv1.Usage
	// Flow counts the bytes of output text in a stream that passes through, for the same
	// reason; nil when nobody counts.
	Flow *atomic.Int64
	// Attempts are the attempts at targets, in their order.
	Attempts []Attempt
	// Waited is how long the request waited for upstreams: for the head of an answer, and for
	// more of it.
	Waited time.Duration
	// Watch records the attempts.
	Watch Watch
	// Spent is what failed attempts reported to have used that were followed by another.
	Spent []Spent

	begun   bool
	onBegin func()
}

// Spent is the usage of a failed attempt.
type Spent struct {
	// Name is the upstream, Model what it was asked for.
	Name, Model string
	Usage       *genwayv1.Usage
}

// Attempt forgets what belongs to the attempt before: the next one begins. onBegin is
// called once, when its answer begins; nil is allowed.
func (n *Note) Attempt(onBegin func()) {
	n.Headers, n.Answered, n.Usage, n.Flow, n.begun, n.onBegin = nil, "", nil, nil, false, onBegin
}

// Begin notes that the answer has begun, after which nothing else is tried: a unary one
// with the headers of a 2xx status, a stream with its first event that is no heartbeat.
// Adapters call it for unary answers, routing does for streams.
func (n *Note) Begin() {
	if n.begun {
		return
	}
	n.begun = true
	if n.onBegin != nil {
		n.onBegin()
	}
}

// Begun reports whether the answer of the last attempt has begun.
func (n *Note) Begun() bool { return n.begun }

type noteKey struct{}

// WithNote gives a context whose calls leave their note in n.
func WithNote(ctx context.Context, n *Note) context.Context {
	return context.WithValue(ctx, noteKey{}, n)
}

// NoteOf gives the note of the call a context belongs to, never nil: where nobody asked
// for one it is a note nobody reads.
func NoteOf(ctx context.Context) *Note {
	if n, ok := ctx.Value(noteKey{}).(*Note); ok {
		return n
	}
	return &Note{}
}

// Noted gives the note of a call, and a context that has one.
func Noted(ctx context.Context) (context.Context, *Note) {
	if n, ok := ctx.Value(noteKey{}).(*Note); ok {
		return ctx, n
	}
	n := &Note{}
	return WithNote(ctx, n), n
}
