package overload

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// crowd is callers who each ask again when they were answered, and not before a pause after they last
// asked.
func (p *processor) crowd(g *Gate, priority Priority, callers int, pause, cost, refusal, lasts time.Duration) *served {
	var s served
	var asking sync.WaitGroup
	end := time.Now().Add(lasts)
	for i := range callers {
		asking.Go(func() {
			for next := time.Now().Add(pause * time.Duration(i) / time.Duration(callers)); next.Before(end); next = next.Add(pause) {
				if wait := time.Until(next); wait > 0 {
					time.Sleep(wait) //nolint:forbidigo // of the bubble's clock
				} else {
					next = time.Now()
				}
				p.ask(g, priority, cost, refusal, &s)
			}
		})
	}
	asking.Wait()
	return &s
}

// Callers who offer five times what a processor can do, and who can all be served within the time that a request may
// wait, are: none is refused, and the processor does what it can. Other work that takes it for a while, such as
// collections of garbage, does not change that.
func TestGoodputOfAnOverloadedProcessor(t *testing.T) {
	for name, stall := range map[string]time.Duration{"calm": 0, "collections of garbage": 40 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, _, p := running(t, Config{})
				const cost, refusal, each, lasts = 250 * time.Microsecond, 20 * time.Microsecond, 500 * time.Millisecond, 5 * time.Second
				stop := make(chan struct{})
				var stalls sync.WaitGroup
				stalls.Go(func() {
					for {
						select {
						case <-stop:
							return
						case <-time.After(each):
							p.work(stall)
						}
					}
				})
				s := p.crowd(g, Interactive, 1000, 50*time.Millisecond, cost, refusal, lasts)
				close(stop)
				stalls.Wait()
				capacity := int(float64(lasts) * (1 - float64(stall)/float64(each)) / float64(cost))
				if s.count < capacity*95/100 || s.refused > 0 {
					t.Errorf("%d requests were served, of %d that can be; %d refused", s.count, capacity, s.refused)
				}
				if mean := s.waited / time.Duration(s.count); mean > hurried || s.longest > 2*hurried {
					t.Errorf("requests took %v, and %v at most", mean, s.longest)
				}
				t.Logf("%d of %d, %d refused, mean %v, longest %v", s.count, capacity, s.refused, s.waited/time.Duration(s.count), s.longest)
			})
		})
	}
}

// Callers who offer far more than a processor can do while they wait leave most of what it can do for those that are
// served, and these wait for no longer than a hurried request does, but for those who came first.
func TestGoodputOfManyCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _, p := running(t, Config{})
		const callers, cost, refusal, lasts = 4000, 500 * time.Microsecond, 20 * time.Microsecond, 10 * time.Second
		s := p.crowd(g, Interactive, callers, 100*time.Millisecond, cost, refusal, lasts)
		if capacity := int(lasts / cost); s.count < capacity*70/100 || s.refused == 0 {
			t.Errorf("%d requests were served, of %d that can be; %d refused", s.count, capacity, s.refused)
		}
		if mean := s.waited / time.Duration(s.count); mean > hurried || s.longest > patience+hurried {
			t.Errorf("requests took %v, and %v at most", mean, s.longest)
		}
		t.Logf("%d served, %d refused, mean %v, longest %v", s.count, s.refused, s.waited/time.Duration(s.count), s.longest)
	})
}

// A thousand callers who come at once are all served, if no more come: a burst is no overload.
func TestBurstsPass(t *testing.T) {
	for _, cost := range []time.Duration{300 * time.Microsecond, 1500 * time.Microsecond} {
		synctest.Test(t, func(t *testing.T) {
			g, _, p := running(t, Config{})
			var s served
			var asking sync.WaitGroup
			for range 1000 {
				asking.Go(func() { p.ask(g, Interactive, cost, time.Millisecond, &s) })
			}
			asking.Wait()
			if s.refused > 0 || s.longest > 1000*cost+50*time.Millisecond {
				t.Errorf("requests of %v: %d were refused; %v at most", cost, s.refused, s.longest)
			}
		})
	}
}

// A few callers with requests that take long wait for one another, and none is refused.
func TestFewCallersWait(t *testing.T) {
	for _, cost := range []time.Duration{15 * time.Millisecond, 40 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			g, _, p := running(t, Config{})
			const callers = 8
			s := p.crowd(g, Interactive, callers, 0, cost, time.Millisecond, 10*time.Second)
			if s.refused > 0 || s.longest > 2*callers*cost {
				t.Errorf("requests of %v: %d were served, %d refused; %v at most", cost, s.count, s.refused, s.longest)
			}
		})
	}
}

// Callers who keep a processor busy and wait for less than the delay are no overload, however long
// they go on.
func TestFullProcessorRefusesNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _, p := running(t, Config{})
		s := p.crowd(g, Interactive, 32, 0, 300*time.Microsecond, time.Millisecond, 5*time.Second)
		if s.refused > 0 || s.longest > 20*time.Millisecond || s.count < 15_000 {
			t.Errorf("%d were served, %d refused; %v at most", s.count, s.refused, s.longest)
		}
	})
}

// The moment that an overload ends, requests are served as before.
func TestOverloadEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _, p := running(t, Config{})
		if s := p.crowd(g, Interactive, 1000, 50*time.Millisecond, 10*time.Millisecond, 50*time.Microsecond, 3*time.Second); s.refused == 0 {
			t.Fatal("20,000 requests a second of 10 ms each are no overload")
		}
		// Requests that are much cheaper.
		s := p.crowd(g, Interactive, 50, 20*time.Millisecond, 250*time.Microsecond, 50*time.Microsecond, time.Second)
		if s.refused > 0 || s.longest > 20*time.Millisecond {
			t.Errorf("%d were refused of %d; %v at most", s.refused, s.count, s.longest)
		}
		time.Sleep(standsFor) //nolint:forbidigo // of the bubble's clock
		if g.Pressed() {
			t.Error("the queue is standing still")
		}
	})
}

// Callers who keep the processor busy are refused for no longer than something else takes it: the newest
// first would keep some of them waiting, and so the queue standing, for ever.
func TestStallsEnd(t *testing.T) {
	for callers, most := range map[int]int{32: 0, 200: 5 * 200} {
		synctest.Test(t, func(t *testing.T) {
			g, _, p := running(t, Config{})
			for range 3 {
				const cost, stall, lasts = 300 * time.Microsecond, 300 * time.Millisecond, 4 * time.Second
				stalled := make(chan struct{})
				time.AfterFunc(time.Second, func() {
					p.work(stall)
					close(stalled)
				})
				s := p.crowd(g, Interactive, callers, 0, cost, 50*time.Microsecond, lasts)
				<-stalled
				if s.refused > most || s.longest > 500*time.Millisecond || s.count < int((lasts-stall)/cost)*95/100 {
					t.Errorf("%d callers: %d were served, %d refused; %v at most", callers, s.count, s.refused, s.longest)
				}
			}
		})
	}
}

// Requests whose processor is taken by others for good are admitted at a small rate: to refuse them
// would not shorten that work.
func TestFewRequestsPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _, p := running(t, Config{})
		p.long = time.Second
		var s served
		for range 450 {
			time.Sleep(time.Second / 45) //nolint:forbidigo // of the bubble's clock
			p.ask(g, Interactive, time.Microsecond, time.Microsecond, &s)
		}
		if s.count != 450 {
			t.Errorf("%d of 450 were admitted", s.count)
		}
		if s := p.crowd(g, Interactive, 1000, 50*time.Millisecond, time.Microsecond, time.Microsecond, 2*time.Second); s.refused < s.count {
			t.Errorf("%d were admitted and %d refused while there was no room", s.count, s.refused)
		}
	})
}

// Batch requests are served when no other waits.
func TestBatchIsRefusedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _, p := running(t, Config{})
		const cost, refusal, lasts = 250 * time.Microsecond, 50 * time.Microsecond, 3 * time.Second
		var batch *served
		var both sync.WaitGroup
		both.Go(func() { batch = p.crowd(g, Batch, 500, 50*time.Millisecond, cost, refusal, lasts) })
		interactive := p.crowd(g, Interactive, 500, 50*time.Millisecond, cost, refusal, lasts)
		both.Wait()
		if batch.count > interactive.count/5 {
			t.Errorf("%d interactive and %d batch requests were admitted", interactive.count, batch.count)
		}
		// Batch requests get the capacity that is left.
		if s := p.crowd(g, Batch, 20, 10*time.Millisecond, cost, refusal, time.Second); s.refused > 0 {
			t.Errorf("%d of %d batch requests were refused with nobody else there", s.refused, s.count+s.refused)
		}
	})
}
