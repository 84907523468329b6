package route

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/genway/genway/internal/overload"
)

// take has so many calls take places at once, without waiting.
func take(t *testing.T, b *bound, n int) (places []place) {
	t.Helper()
	for range n {
		if p, ok := b.enter(t.Context(), overload.Interactive, false); ok {
			places = append(places, p)
		}
	}
	return places
}

func TestHealthyUpstreamsHaveNoBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bound{}
		for range 100 {
			places := take(t, b, 5000)
			if len(places) != 5000 {
				t.Fatalf("%d of 5000 calls had a place", len(places))
			}
			time.Sleep(time.Second) //nolint:forbidigo // of the bubble's clock
			for _, p := range places {
				p.began(time.Now()) // whatever it took
				p.leave()
			}
		}
	})
}

// refuseAll has so many calls at once refused for longer than a window, and gives the number
// that had a place in the last turn.
func refuseAll(t *testing.T, b *bound, n, turns int) (had int) {
	t.Helper()
	for range turns {
		places := take(t, b, n)
		time.Sleep(shareTime / 2) //nolint:forbidigo // of the bubble's clock
		for _, p := range places {
			p.refused(time.Now())
			p.leave()
		}
		had = len(places)
	}
	return had
}

// Calls that end at the moment of a refusal were under way when the upstream refused: the bound
// is a part of all of them.
func TestBoundIsOfTheMostUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bound{}
		places := take(t, b, 20)
		for _, p := range places[:15] {
			p.leave()
		}
		for _, p := range places[15:19] {
			p.refused(time.Now())
		}
		time.Sleep(shareTime) //nolint:forbidigo // of the bubble's clock
		places[19].refused(time.Now())
		if got := b.limit(time.Now()); got != 14 {
			t.Errorf("of 20 calls under way, 5 of them refused, the bound is %d, want 14", got)
		}
	})
}

// TestRefusalsLowerTheBound follows the bound through a window of refusals and its recovery.
func TestRefusalsLowerTheBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bound{}
		for b.reached == 0 {
			refuseAll(t, b, 100, 1)
		}
		began := b.lowered
		for _, c := range []struct {
			after       time.Duration
			least, most int
		}{{0, 69, 71}, {recovery / 2, 90, 99}, {recovery, 99, 101}, {2 * recovery, 125, 135}, {4 * recovery, 800, 1000}, {liftAfter*recovery + 1, 5000, 5000}} {
			time.Sleep(c.after - time.Since(began)) //nolint:forbidigo // of the bubble's clock
			got := take(t, b, 5000)
			for _, p := range got {
				p.leave()
			}
			if len(got) < c.least || len(got) > c.most {
				t.Errorf("%v after the refusal %d calls at once, want %d to %d", c.after, len(got), c.least, c.most)
			}
		}
	})
}

// TestBoundNeverFallsBelowOne and is lifted when a single call at a time is refused as well.
func TestBoundNeverFallsBelowOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, bounded := &bound{}, false
		for range 500 {
			had := refuseAll(t, b, 30, 1)
			bounded = bounded || had == 1
			if had == 0 {
				t.Fatal("nobody may call")
			}
		}
		if !bounded || b.reached != 0 || b.refusals.pause <= leastBlind {
			t.Errorf("there was a bound of one: %v; the last of %v, ignored for %v", bounded, b.reached, b.refusals.pause)
		}
	})
}

// engine is an upstream that works on so many calls at once and has the others wait.
type engine struct {
	slots chan struct{}
	takes func() time.Duration
}

// offered runs calls at a rate through a bound to the engine, and gives how many were
// answered within the deadline and how many found no place.
func (e *engine) offered(ctx context.Context, b *bound, perSecond int, lasts, deadline time.Duration) (good, none int) {
	var all sync.WaitGroup
	var mu sync.Mutex
	for range int(lasts.Seconds() * float64(perSecond)) {
		time.Sleep(time.Second / time.Duration(perSecond)) //nolint:forbidigo // of the bubble's clock
		all.Go(func() {
			begun := time.Now()
			p, ok := b.enter(ctx, overload.Interactive, true)
			if ok {
				e.slots <- struct{}{}
				time.Sleep(e.takes()) //nolint:forbidigo // of the bubble's clock
				<-e.slots
				p.began(time.Now())
				p.leave()
			}
			mu.Lock()
			defer mu.Unlock()
			switch {
			case !ok:
				none++
			case time.Since(begun) <= deadline:
				good++
			}
		})
	}
	all.Wait()
	return good, none
}

// TestLateAnswersLowerTheBound offers five times what an engine with a queue can serve.
func TestLateAnswersLowerTheBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &engine{slots: make(chan struct{}, 16), takes: func() time.Duration { return 50 * time.Millisecond }}
		b := &bound{late: lateness{factor: 2}}
		if good, none := e.offered(t.Context(), b, 100, 2*time.Second, 100*time.Millisecond); good != 200 || none != 0 {
			t.Errorf("unloaded: %d of 200 were answered, %d found no place", good, none)
		}
		e.offered(t.Context(), b, 1600, time.Second, time.Second) // it finds out
		good, none := e.offered(t.Context(), b, 1600, 10*time.Second, 200*time.Millisecond)
		if good < 3200*85/100 {
			t.Errorf("overload: of 3200 calls that it can serve %d were answered in time; %d found no place", good, none)
		}
		if good, none := e.offered(t.Context(), b, 200, 2*time.Second, 200*time.Millisecond); good+none != 400 {
			t.Errorf("%d and %d", good, none)
		}
		if good, _ := e.offered(t.Context(), b, 200, 2*time.Second, 100*time.Millisecond); good != 400 {
			t.Errorf("two seconds later: %d of 400 were answered", good)
		}
	})
}

// TestLongerAnswersAreNoQueue has an upstream without any bound take ten times longer from
// one moment on: callers are refused for no longer than it takes to find out.
func TestLongerAnswersAreNoQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		takes := 50 * time.Millisecond
		e := &engine{slots: make(chan struct{}, 100_000), takes: func() time.Duration { return takes }}
		b := &bound{late: lateness{factor: 2}}
		e.offered(t.Context(), b, 500, 2*time.Second, time.Hour)
		takes = 500 * time.Millisecond
		e.offered(t.Context(), b, 500, 3*time.Second, time.Hour) // it finds out
		if good, none := e.offered(t.Context(), b, 500, 10*time.Second, time.Second); none > 0 {
			t.Errorf("%d were answered, %d refused by a healthy upstream's bound", good, none)
		}
	})
}
