package arena

import (
	"context"
	"sync/atomic"
)

// Body is the memory of one request body that several readers have at once: the handler of the
// request, and each connection that sends the body on, which may read it after the call. The memory
// is given back when the last of them has released it. A reader that never releases it leaves it to the
// collector, so that the one who cannot say whether something still looks at the body says nothing.
type Body struct {
	Arena

	readers atomic.Int64
}

// NewBody makes the memory of a body, which its maker holds.
func NewBody() *Body {
	b := new(Body)
	b.readers.Store(1)
	return b
}

// Retain adds a reader. Its caller must hold the body itself.
func (b *Body) Retain() { b.readers.Add(1) }

// Release ends one reader, which may not look at the body any more. It is safe for concurrent use.
func (b *Body) Release() {
	if b.readers.Add(-1) == 0 {
		b.Free()
	}
}

type bodyKey struct{}

// WithBody returns a context whose calls send what is in a body.
func WithBody(ctx context.Context, b *Body) context.Context {
	return context.WithValue(ctx, bodyKey{}, b)
}

// BodyOf returns the body that the calls of a context send; nil for none.
func BodyOf(ctx context.Context) *Body {
	b, _ := ctx.Value(bodyKey{}).(*Body)
	return b
}
