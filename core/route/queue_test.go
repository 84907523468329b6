package route

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/genway/genway/internal/overload"
)

// waiters are calls that wait for a place of a bound, each noted when it is served.
type waiters struct {
	t     *testing.T
	b     *bound
	group sync.WaitGroup
	mu    sync.Mutex
	got   []string
	none  []string
}

func (w *waiters) wait(ctx context.Context, name string, p overload.Priority) {
	w.group.Go(func() {
		_, ok := w.b.enter(ctx, p, true)
		w.mu.Lock()
		defer w.mu.Unlock()
		if ok {
			w.got = append(w.got, name)
		} else {
			w.none = append(w.none, name)
		}
	})
	synctest.Wait()
}

func TestShortQueuesAreFirstComeFirstServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &waiters{t: t, b: &bound{most: 1}}
		p := take(t, w.b, 1)[0]
		w.wait(t.Context(), "batch", overload.Batch)
		w.wait(t.Context(), "first", overload.Interactive)
		w.wait(t.Context(), "second", overload.Interactive)
		for range 3 {
			time.Sleep(10 * time.Millisecond) //nolint:forbidigo // of the bubble's clock
			p.leave()
			synctest.Wait()
		}
		w.group.Wait()
		if len(w.got) != 3 || w.got[0] != "first" || w.got[1] != "second" || w.got[2] != "batch" {
			t.Errorf("served %v, refused %v", w.got, w.none)
		}
	})
}

// TestStandingQueuesServeTheNewest has a queue that was never empty for longer than the
// patient wait.
func TestStandingQueuesServeTheNewest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &waiters{t: t, b: &bound{most: 1}}
		p := take(t, w.b, 1)[0]
		w.wait(t.Context(), "a", overload.Interactive)
		time.Sleep(60 * time.Millisecond) //nolint:forbidigo // of the bubble's clock
		w.wait(t.Context(), "b", overload.Interactive)
		time.Sleep(50 * time.Millisecond) //nolint:forbidigo // synctest: the bubble's clock; a has waited long enough; b waits on
		synctest.Wait()
		w.wait(t.Context(), "batch", overload.Batch) // refused at once
		w.wait(t.Context(), "c", overload.Interactive)
		w.wait(t.Context(), "d", overload.Interactive)
		if !w.b.queue.standing(time.Now()) {
			t.Fatal("no standing queue")
		}
		p.leave()
		synctest.Wait()
		begun := time.Now()
		time.Sleep(hurried + time.Millisecond) //nolint:forbidigo // of the bubble's clock
		synctest.Wait()
		if len(w.got) != 1 || w.got[0] != "d" {
			t.Errorf("served %v", w.got)
		}
		if len(w.none) != 3 || w.none[0] != "a" || w.none[1] != "batch" || w.none[2] != "c" {
			t.Errorf("refused %v by %v", w.none, time.Since(begun))
		}
		p.leave()
		w.group.Wait()
	})
}

func TestFullQueuesRefuseAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &waiters{t: t, b: &bound{most: 1}}
		take(t, w.b, 1)
		for range 30 { // each waits for the last one's place in the queue, so that it stands
			w.wait(t.Context(), "", overload.Interactive)
			time.Sleep(10 * time.Millisecond) //nolint:forbidigo // of the bubble's clock
		}
		for range standingMost {
			w.wait(t.Context(), "", overload.Interactive)
		}
		if !w.b.full(overload.Interactive) || !w.b.full(overload.Batch) {
			t.Error("the queue is not full")
		}
		begun := time.Now()
		if _, ok := w.b.enter(t.Context(), overload.Interactive, true); ok || time.Since(begun) != 0 {
			t.Errorf("ok %v after %v", ok, time.Since(begun))
		}
		w.group.Wait()
		if w.b.full(overload.Batch) || w.b.queue.size() != 0 || !w.b.queue.busy.IsZero() {
			t.Error("the queue is not empty at the end")
		}
	})
}

// TestCallersWhoLeaveAreRemoved from the queue at once, and take no place.
func TestCallersWhoLeaveAreRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &waiters{t: t, b: &bound{most: 1}}
		p := take(t, w.b, 1)[0]
		ctx, leave := context.WithCancel(t.Context())
		w.wait(ctx, "leaves", overload.Interactive)
		w.wait(t.Context(), "stays", overload.Interactive)
		leave()
		synctest.Wait()
		if n := w.b.queue.size(); n != 1 {
			t.Errorf("%d calls wait", n)
		}
		p.leave()
		w.group.Wait()
		if len(w.got) != 1 || w.got[0] != "stays" || w.b.underWay != 1 {
			t.Errorf("served %v, %d under way", w.got, w.b.underWay)
		}
	})
}

func BenchmarkBound(b *testing.B) {
	bound := &bound{}
	b.ReportAllocs()
	for b.Loop() {
		p, _ := bound.enter(b.Context(), overload.Interactive, true)
		p.leave()
	}
}
