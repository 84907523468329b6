package console

import (
	"sync"
	"time"
)

// maxAttempts bounds how many finished attempts are remembered.
const maxAttempts = 10_000

// attempts remembers which sign-ins at an identity provider have been finished, so that none is
// finished twice.
type attempts struct {
	mu    sync.Mutex
	clock func() time.Time
	ends  map[string]time.Time
	// order has the ids of ends as they came.
	order []string
}

func newAttempts(clock func() time.Time) *attempts {
	return &attempts{clock: clock, ends: map[string]time.Time{}}
}

// use marks an attempt that is good until a time. It reports false for one that was used. Anybody
// can make attempts up, so a full table drops its oldest: the identity provider refuses the code of
// an attempt that was used all the same.
func (a *attempts) use(id string, until time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.clock()
	for len(a.order) > 0 && (len(a.order) >= maxAttempts || a.ends[a.order[0]].Before(now)) {
		delete(a.ends, a.order[0])
		a.order = a.order[1:]
	}
	if _, used := a.ends[id]; used {
		return false
	}
	a.ends[id], a.order = until, append(a.order, id)
	return true
}
