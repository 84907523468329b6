package capture

import "sync/atomic"

// Budget bounds the memory of all captures of a process, from their first byte until they are
// written. It is safe for concurrent use.
type Budget struct {
	most int64
	held atomic.Int64
}

// NewBudget makes a budget of so many bytes.
func NewBudget(most int64) *Budget { return &Budget{most: most} }

// Held is how many bytes are held at the moment.
func (b *Budget) Held() int64 { return b.held.Load() }

func (b *Budget) take(n int64) bool {
	if b.held.Add(n) > b.most {
		b.held.Add(-n)
		return false
	}
	return true
}
