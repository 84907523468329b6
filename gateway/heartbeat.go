package gateway

import "time"

// heartbeatTimer finds out that a stream has sent nothing for a while. Its timer runs on from event
// to event, and the stream looks how long the silence is when the timer has run down: it need not
// be moved for each event.
type heartbeatTimer struct {
	most  time.Duration
	timer *time.Timer
	// down has a token once the timer has run down. Until over takes it the timer does not run.
	down chan struct{}
}

// newHeartbeatTimer times a heartbeat after each such silence; 0 is never.
func newHeartbeatTimer(most time.Duration) *heartbeatTimer { return &heartbeatTimer{most: most} }

// watch gives the channel on which to wait, after which over says whether the silence is long enough.
func (t *heartbeatTimer) watch() <-chan struct{} {
	if t.timer == nil && t.most > 0 {
		down := make(chan struct{}, 1)
		t.down, t.timer = down, time.AfterFunc(t.most, func() { down <- struct{}{} })
	}
	return t.down
}

// over reports whether a silence that began at since is over its length, and lets the timer run
// again.
func (t *heartbeatTimer) over(since time.Time) bool {
	if left := t.most - time.Since(since); left > 0 {
		t.timer.Reset(left)
		return false
	}
	t.timer.Reset(t.most)
	return true
}

// end stops the timer, which must not be watched any more.
func (t *heartbeatTimer) end() {
	if t != nil && t.timer != nil {
		t.timer.Stop()
	}
}
