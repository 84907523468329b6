package remote

import (
	"sync/atomic"
	"time"
)

// idleTimer calls a function after a time without activity. The timer looks at the time of the
// last activity only when it expires: to reset it for each event costs as much as to read one.
type idleTimer struct {
	timer   *time.Timer
	started time.Time
	// limit is the longest time without activity; active is the time of the last activity, after
	// started.
	limit, active atomic.Int64
	expired       func()
}

// start calls expired once there was no activity for as long as limit.
func (t *idleTimer) start(limit time.Duration, expired func()) {
	t.started, t.expired = time.Now(), expired
	t.limit.Store(int64(limit))
	t.timer = time.AfterFunc(limit, t.check)
}

// reset notes activity.
func (t *idleTimer) reset() { t.resetAt(time.Now()) }

// resetAt notes activity at a time.
func (t *idleTimer) resetAt(now time.Time) { t.active.Store(int64(now.Sub(t.started))) }

// resetTo sets another limit, which begins now.
func (t *idleTimer) resetTo(limit time.Duration) {
	t.limit.Store(int64(limit))
	t.reset()
	t.timer.Reset(limit)
}

func (t *idleTimer) stop() { t.timer.Stop() }

func (t *idleTimer) check() {
	idle := time.Since(t.started) - time.Duration(t.active.Load())
	if left := time.Duration(t.limit.Load()) - idle; left > 0 {
		t.timer.Reset(left)
		return
	}
	t.expired()
}
