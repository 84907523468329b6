package price

import (
	"sync/atomic"
	"time"
)

// Book is the catalogue that is valid now: it may be replaced while it is read. The zero
// Book has none.
type Book struct {
	current atomic.Pointer[Catalogue]
}

// Swap puts a catalogue in place of the one there is; nil takes it away.
func (b *Book) Swap(c *Catalogue) { b.current.Store(c) }

// Find is Catalogue.Find of the current one.
func (b *Book) Find(upstream, model string, at time.Time) (Price, bool) {
	return b.current.Load().Find(upstream, model, at)
}

// ByID is Catalogue.ByID of the current one.
func (b *Book) ByID(id string) (Price, bool) { return b.current.Load().ByID(id) }

// FindFirst is Catalogue.FindFirst of the current one.
func (b *Book) FindFirst(q Query) (Price, bool) { return b.current.Load().FindFirst(q) }
