package frames

import (
	"sync/atomic"
	"time"
)

// The account of a connection, in frames.
const (
	// Burst is how many cheap frames a peer may send at once.
	Burst = 2000
	// perSecond is how many more it may send each second.
	perSecond = 200
	// perAnswer is how many more it may send for each frame of an answer, and perKiB for
	// each KiB of it: a peer acknowledges what it has received.
	perAnswer = 8
	perKiB    = 4
	// fault is what a stream costs that the peer resets early, or makes the server reset.
	fault = 10
)

// Meter keeps the account of one connection. In and Out may be called at the same time, each
// by one goroutine. Its zero value is at a connection's first frame, and not ready: see New.
type Meter struct {
	in, out reader
	balance atomic.Int64
	// refilled is when time was last counted, in milliseconds since begun.
	refilled atomic.Int64
	begun    time.Time
	streams  streams
	trusted  atomic.Bool
}

// New returns the meter of a connection whose preface has been read.
func New() *Meter {
	m := &Meter{begun: time.Now()}
	m.balance.Store(Burst)
	return m
}

// Trust ends the account: whatever comes is taken.
func (m *Meter) Trust() {
	if !m.trusted.Load() {
		m.trusted.Store(true)
	}
}

// In counts the next bytes that came from the peer. It reports whether the peer may go on:
// false is the end of the connection.
func (m *Meter) In(p []byte) bool {
	if m.trusted.Load() {
		return true
	}
	var cost int64
	var now int64 = -1
	for len(p) > 0 {
		var f frame
		var whole bool
		if p, f, whole = m.in.next(p); !whole {
			break
		}
		switch f.kind {
		case headers, rstStream:
			if now < 0 {
				now = m.now()
			}
			cost += m.streams.cost(f, now)
		default:
			cost += f.cost()
		}
	}
	if cost == 0 {
		return m.balance.Load() >= 0
	}
	return m.pay(cost)
}

// Out counts the next bytes that are sent to the peer.
func (m *Meter) Out(p []byte) {
	if m.trusted.Load() {
		return
	}
	var earned int64
	for len(p) > 0 {
		var f frame
		var whole bool
		if p, f, whole = m.out.next(p); !whole {
			break
		}
		switch f.kind {
		case headers, data:
			earned += perAnswer + int64(f.length)*perKiB>>10
		case rstStream:
			if f.code != noError && f.code != cancel {
				earned -= fault
			}
		}
	}
	if earned != 0 {
		m.earn(earned)
	}
}

// pay takes the cost of frames from the balance, and reports whether it covers them.
func (m *Meter) pay(cost int64) bool {
	now := m.now()
	if since := now - m.refilled.Load(); since*perSecond >= 1000 {
		m.refilled.Store(now)
		m.earn(since * perSecond / 1000)
	}
	return m.balance.Add(-cost) >= 0
}

// earn raises the balance, up to Burst.
func (m *Meter) earn(n int64) {
	if above := m.balance.Add(n) - Burst; above > 0 {
		m.balance.Add(-above)
	}
}

func (m *Meter) now() int64 { return time.Since(m.begun).Milliseconds() }
