//go:build !unix

package overload

import (
	"runtime"
	"sync/atomic"
	"time"
)

// yields are rounds where pipes are no events of the network: a goroutine that yields runs again
// after all that were runnable.
type yields struct{ closed atomic.Bool }

func newRounds() (rounds, error) { return &yields{}, nil }

func (y *yields) round() (took time.Duration, ok bool) {
	begin := time.Now()
	runtime.Gosched()
	return time.Since(begin), !y.closed.Load()
}

func (y *yields) close() { y.closed.Store(true) }
