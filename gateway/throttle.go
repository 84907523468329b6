package gateway

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/genway/genway/internal/overload"
)

// throttle is client-side adaptive throttling (Google, Site Reliability Engineering, chapter
// 21): an edge in front of an overloaded core refuses requests itself. It forwards twice as
// many requests as the core accepted in the last second, so that it notices when the core
// accepts more. With a smaller factor, bursts of requests lower the rate further and further.
// Each priority has its own account, since the core refuses batch requests first.
type throttle struct {
	accounts [2]account // by priority
}

// account has the counts of one priority, in a ring of tenths of a second.
type account struct {
	mu    sync.Mutex
	ring  [throttleSlots]counts
	total counts
	begin time.Time // of slot 0; slots go by the monotonic clock, which nobody sets back
	at    int64     // the slot of now
}

type counts struct{ requests, forwarded, refused int64 }

const (
	throttleSlots = 10
	throttleSlot  = time.Second / throttleSlots
	// leeway is the number of forwarded requests for each that the core accepted.
	leeway = 2
)

// admit counts a request and reports whether to forward it.
func (t *throttle) admit(p overload.Priority) bool {
	a := &t.accounts[p]
	a.mu.Lock()
	defer a.mu.Unlock()
	a.advance(time.Now())
	now := &a.ring[a.at%throttleSlots]
	now.requests++
	a.total.requests++
	if a.total.refused > 0 {
		taken := float64(a.total.forwarded - a.total.refused)
		excess := (float64(a.total.requests) - leeway*taken) / float64(a.total.requests+1)
		if rand.Float64() < excess { //nolint:gosec // a share of the load, no secret
			return false
		}
	}
	now.forwarded++
	a.total.forwarded++
	return true
}

// refuse counts a request that was forwarded and that the core has refused.
func (t *throttle) refuse(p overload.Priority) {
	a := &t.accounts[p]
	a.mu.Lock()
	defer a.mu.Unlock()
	a.advance(time.Now())
	a.ring[a.at%throttleSlots].refused++
	a.total.refused++
}

// advance drops counts that are older than a second.
func (a *account) advance(now time.Time) {
	if a.begin.IsZero() {
		a.begin = now
	}
	at := int64(now.Sub(a.begin) / throttleSlot)
	for n := 0; a.at < at && n < throttleSlots; n++ {
		a.at = max(a.at+1, at-throttleSlots+1)
		old := &a.ring[a.at%throttleSlots]
		a.total.requests -= old.requests
		a.total.forwarded -= old.forwarded
		a.total.refused -= old.refused
		*old = counts{}
	}
	a.at = max(a.at, at)
}
