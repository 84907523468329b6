// Package arena pools the memory of large bodies, which is used again after the call that
// needed it is over. Without it the runtime would allocate and clear that memory for
// each call, and collect the more often the larger it is: a sixth of what an image costs.
package arena

import (
	"bytes"
	"context"
	"math/bits"
	"sync"
	"sync/atomic"
)

// Least is from how many bytes on memory is used again.
const Least = 64 << 10

// most is up to how many bytes memory is used again. The collector keeps what waits to be
// used again for two of its rounds, and lets garbage grow with it: larger memory, which is
// rare, would be most of a process's.
const most = 4 << 20

// Arena is the memory of one call, which is given back as a whole. The caller that makes an
// arena frees it when nothing of the call is looked at any more, or leaves it to the
// collector. It is for one goroutine.
//
// A nil *Arena is one whose memory is the collector's.
type Arena struct {
	used []*[]byte
	held []func()
}

// Make returns memory of n bytes, with anything in it.
func (a *Arena) Make(n int) []byte {
	if a == nil || n < Least || n > most {
		return make([]byte, n)
	}
	tier, size := tierOf(n)
	b, ok := tiers[tier].Get().(*[]byte)
	if !ok {
		b = new(make([]byte, size))
	}
	a.used = append(a.used, b)
	return (*b)[:n:n]
}

// Grow returns memory of n bytes that begins with what is in b, the last memory that was
// made, and returns b back. Nothing may look at b any more.
func (a *Arena) Grow(b []byte, n int) []byte {
	larger := a.Make(n)
	copy(larger, b)
	if a == nil || len(b) < Least || len(b) > most {
		return larger
	}
	last := len(a.used) - 1
	if n <= most { // larger is the last
		last--
	}
	give(a.used[last])
	a.used = append(a.used[:last], a.used[last+1:]...)
	return larger
}

// Hold calls release when the call is over: when Free or Drop is called. A nil arena
// reports that it does not know when that is, and calls nothing.
func (a *Arena) Hold(release func()) bool {
	if a == nil {
		return false
	}
	a.held = append(a.held, release)
	return true
}

// Drop ends the call for all that Hold was given, and leaves the memory to the
// collector.
func (a *Arena) Drop() {
	if a == nil {
		return
	}
	for _, release := range a.held {
		release()
	}
	a.held = nil
}

// Used says that there is memory to be given back.
func (a *Arena) Used() bool { return a != nil && len(a.used) > 0 }

// Free puts all memory back into the pools.
func (a *Arena) Free() {
	if a == nil {
		return
	}
	for _, b := range a.used {
		give(b)
	}
	a.used = nil
	a.Drop()
}

func give(b *[]byte) {
	if spoil {
		copy(*b, bytes.Repeat([]byte{0xdb}, len(*b)))
	}
	tier, _ := tierOf(len(*b))
	tiers[tier].Put(b)
}

// tiers have four sizes for each power of two, so that at most a fifth of what is
// given stays empty.
var tiers [4 * 64]sync.Pool

// tierOf returns the tier of memory for n bytes, and how large it is.
func tierOf(n int) (tier, size int) {
	power := bits.Len(uint(n-1)) - 1
	quarter := 1 << power / 4
	steps := (n - 1<<power + quarter - 1) / quarter
	return 4*power + steps, 1<<power + steps*quarter
}

type key struct{}

// With returns a context whose calls use the arena.
func With(ctx context.Context, a *Arena) context.Context { return context.WithValue(ctx, key{}, a) }

// Without returns the context of work that goes on after the call: it uses neither the arena of the call nor its body, whose
// memory other calls have by then.
func Without(ctx context.Context) context.Context { return WithBody(With(ctx, nil), nil) }

// Of returns the arena of a context; nil when it has none.
func Of(ctx context.Context) *Arena {
	a, _ := ctx.Value(key{}).(*Arena)
	return a
}

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
