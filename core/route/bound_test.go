package route

import (
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
				p.leave()
			}
		}
	})
}

// refuseAll has so many calls at once refused for longer than a window, and returns the number
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
		if !bounded || b.reached != 0 || b.refusals.pause <= minBlind {
			t.Errorf("there was a bound of one: %v; the last of %v, ignored for %v", bounded, b.reached, b.refusals.pause)
		}
	})
}
