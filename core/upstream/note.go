package upstream

import "context"

// Note is who served a call, as whoever chose the upstreams tells whoever accounts for
// the call. It is written by the call's own goroutines, one at a time, and read when
// the call has returned.
type Note struct {
	// Route is the pattern of the route taken.
	Route string
	// Name is the upstream that served the call, or failed last.
	Name string
	// Model is what it was asked for.
	Model string
	// Calls is how often an upstream was called, retries included.
	Calls int64
	// Gone says that the caller had left by the time the answer was there: it was read
	// for what it cost.
	Gone bool
	// Headers are those of the last attempt's answer that are the caller's to read, by
	// names in lower case: what the vendor of the caller's protocol says of its limits,
	// say. Nil when there are none.
	Headers map[string]string
}

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
