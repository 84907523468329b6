// Package flight lists the requests that are in flight, for the pages of debugging. A nil
// Board lists nothing and costs nothing.
//
// It must not import any package of core or gateway.
package flight

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Entry is a request in flight. It holds no prompt, no answer and no key.
type Entry struct {
	RequestID string `json:"request_id"`
	// Side is core or edge, Protocol the caller's, What the method or the pattern of
	// the path, KeyID the identifier of the key as far as it is known.
	Side     string        `json:"side"`
	Protocol string        `json:"protocol"`
	What     string        `json:"what"`
	KeyID    string        `json:"key,omitempty"`
	TraceID  string        `json:"trace_id,omitempty"`
	Begun    time.Time     `json:"begun"`
	Age      time.Duration `json:"-"`
	Seconds  float64       `json:"seconds"`
}

// Board is the requests in flight. Its methods are safe for concurrent use.
type Board struct {
	mu  sync.Mutex
	all map[*Entry]struct{}
}

// NewBoard makes an empty board.
func NewBoard() *Board { return &Board{all: map[*Entry]struct{}{}} }

// Begin lists a request; what it returns takes it off.
func (b *Board) Begin(e Entry) (end func()) {
	if b == nil {
		return func() {}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all[&e] = struct{}{}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.all, &e)
	}
}

// List returns the requests in flight, the oldest first; at most so many.
func (b *Board) List(most int) []Entry {
	list := []Entry{}
	if b == nil {
		return list
	}
	now := time.Now()
	b.mu.Lock()
	for e := range b.all {
		one := *e
		one.Age = now.Sub(one.Begun)
		one.Seconds = one.Age.Seconds()
		list = append(list, one)
	}
	b.mu.Unlock()
	slices.SortFunc(list, func(a, b Entry) int { return cmp.Or(a.Begun.Compare(b.Begun), cmp.Compare(a.RequestID, b.RequestID)) })
	return list[:min(most, len(list))]
}

// Find returns the entries of a request: the edge's and the core's, if both are in
// this process.
func (b *Board) Find(requestID string) []Entry {
	all := b.List(maxAll)
	return slices.DeleteFunc(all, func(e Entry) bool { return e.RequestID != requestID })
}

const maxAll = 1 << 30
