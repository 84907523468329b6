package remote

import (
	"sync/atomic"
	"time"
)

// patience runs out when nothing has been heard for a while. The timer finds out what was
// heard when it has run down: to set it for each event costs as much as to read one.
type patience struct {
	timer *time.Timer
	begun time.Time
	// most is how long the silence may be, and heard when it was broken last, after begun.
	most, heard atomic.Int64
	out         func()
}

// begin calls out once nothing has been heard for so long.
func (p *patience) begin(most time.Duration, out func()) {
	p.begun, p.out = time.Now(), out
	p.most.Store(int64(most))
	p.timer = time.AfterFunc(most, p.expire)
}

// hear begins the silence anew.
func (p *patience) hear() { p.heard.Store(int64(time.Since(p.begun))) }

// change sets how long the silence may be, which begins anew.
func (p *patience) change(most time.Duration) {
	p.most.Store(int64(most))
	p.hear()
	p.timer.Reset(most)
}

// end says that nothing more is waited for.
func (p *patience) end() { p.timer.Stop() }

func (p *patience) expire() {
	silence := time.Since(p.begun) - time.Duration(p.heard.Load())
	if left := time.Duration(p.most.Load()) - silence; left > 0 {
		p.timer.Reset(left)
		return
	}
	p.out()
}
