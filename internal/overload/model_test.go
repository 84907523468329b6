package overload

import (
	"testing"
	"testing/synctest"
	"time"
)

// processor is a model of one that requests wait for in a queue: its signal is how long the last of
// them will wait.
type processor struct {
	gate     *Gate
	signal   *signal
	cost     time.Duration // of a request
	refusal  time.Duration // of a refused one
	waiting  time.Duration // work that is not done yet
	stall    time.Duration // of other work, every stallEach
	sinceOne time.Duration
	used     time.Duration // of a millisecond, on average over a step of the gate
}

const (
	stallEach = 500 * time.Millisecond
	callers   = 1000
)

// offer asks for so many requests a second for a while, in steps of a millisecond, and gives how many
// were admitted.
func (p *processor) offer(perSecond int, lasts time.Duration) (admitted int) {
	owed := 0.0
	for range int(lasts / time.Millisecond) {
		time.Sleep(time.Millisecond) //nolint:forbidigo // of the bubble's clock
		for owed += float64(perSecond) / 1000; owed >= 1; owed-- {
			if p.waiting > callers*p.cost {
				continue // the callers wait
			}
			if p.gate.Admit(Interactive) == nil {
				admitted++
				p.waiting += p.cost
			} else {
				p.waiting += p.refusal
			}
		}
		if p.sinceOne += time.Millisecond; p.sinceOne >= stallEach {
			p.sinceOne = 0
			p.waiting += p.stall
		}
		p.used += (min(p.waiting, time.Millisecond) - p.used) / (busyTick / time.Millisecond)
		p.waiting = max(0, p.waiting-time.Millisecond)
		p.signal.late.Store(int64(p.waiting))
		p.signal.idle.Store(p.used < time.Millisecond/2)
	}
	return admitted
}

// Five times what a processor can do leaves it most of what it can, and the callers wait for little.
func TestGoodputOfAnOverloadedProcessor(t *testing.T) {
	for name, stall := range map[string]time.Duration{"calm": 0, "collections of garbage": 40 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, s := running(t, Config{least: 50})
				p := processor{gate: g, signal: s, cost: 250 * time.Microsecond, refusal: 5 * time.Microsecond, stall: stall}
				p.offer(2000, 2*time.Second)
				p.offer(20_000, time.Second) // a burst of all callers
				waited := time.Duration(0)
				admitted, seconds := 0, 10
				for range seconds * 100 {
					admitted += p.offer(20_000, 10*time.Millisecond)
					waited += p.waiting / time.Duration(seconds*100)
				}
				capacity := int(float64(time.Second) * (1 - float64(stall)/float64(stallEach)) / float64(p.cost))
				if admitted /= seconds; admitted < capacity*8/10 {
					t.Errorf("%d requests a second were admitted, of %d that can be served", admitted, capacity)
				}
				if waited > 50*time.Millisecond {
					t.Errorf("requests waited for %v", waited)
				}
			})
		})
	}
}

// Requests that are much cheaper than those before are served soon: the rate of the dear ones says
// nothing of them.
func TestCheapRequestsAfterDearOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, s := running(t, Config{least: 50})
		p := processor{gate: g, signal: s, cost: 50 * time.Millisecond, refusal: 5 * time.Microsecond}
		p.offer(30, 3*time.Second)
		if !g.Pressed() {
			t.Fatal("30 requests a second of 50 ms each are no overload")
		}
		p.cost = 250 * time.Microsecond
		for p.waiting > 0 { // those that were admitted
			p.offer(3000, 10*time.Millisecond)
		}
		p.offer(3000, 2*time.Second)
		if n := p.offer(3000, time.Second); n < 2990 {
			t.Errorf("%d of 3000 were admitted two seconds after the last dear request", n)
		}
	})
}

// A rate that large requests have left behind refuses small ones for a moment only: a processor that
// is idle while requests are refused can serve them.
func TestIdleProcessorRefusesNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, s := running(t, Config{least: 50})
		p := processor{gate: g, signal: s, cost: 10 * time.Millisecond, refusal: 30 * time.Microsecond}
		p.offer(150, 3*time.Second)
		if !g.Pressed() {
			t.Fatal("150 requests a second of 10 ms each are no overload")
		}
		p.cost = 250 * time.Microsecond
		for p.waiting > 0 { // those that were admitted
			p.offer(150, 10*time.Millisecond)
		}
		p.offer(3000, 300*time.Millisecond)
		if n := p.offer(3000, time.Second); n < 2990 {
			t.Errorf("%d of 3000 were admitted after the first 0.3 s of small requests", n)
		}
	})
}
