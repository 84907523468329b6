package console

import (
	"sync"
	"time"
)

// mostAttempts bounds how many finished attempts are remembered.
const mostAttempts = 10_000

// attempts remembers which sign-ins at an identity provider have been finished, so that none is
// finished twice.
type attempts struct {
	mu    sync.Mutex
	clock func() time.Time
	ends  map[string]time.Time
}

func newAttempts(clock func() time.Time) *attempts {
	return &attempts{clock: clock, ends: map[string]time.Time{}}
}

// use marks an attempt that is good until a time. It reports false for one that was used, and
// while too many are remembered.
func (a *attempts) use(id string, until time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.clock()
	if len(a.ends) >= mostAttempts {
		for k, end := range a.ends {
			if end.Before(now) {
				delete(a.ends, k)
			}
		}
	}
	if _, used := a.ends[id]; used || len(a.ends) >= mostAttempts {
		return false
	}
	a.ends[id] = until
	return true
}
