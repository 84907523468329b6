package overload

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// order returns the requests in the order in which a queue admits them.
func order(q *queue, now time.Time, all []*waiter) (order []int) {
	for q.size > 0 {
		q.next(now)
		for i, w := range all {
			if w.gone && !slices.Contains(order, i) {
				order = append(order, i)
			}
		}
	}
	return order
}

func TestOrder(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		standing bool
		want     []int
	}{
		"a short queue is served in the order of coming, batch requests last": {false, []int{0, 2, 3, 1, 4}},
		"a standing one serves the newest first":                              {true, []int{3, 2, 0, 4, 1}},
	} {
		q := queue{delay: 20 * time.Millisecond}
		if c.standing {
			q.standing = now.Add(time.Minute)
		}
		var all []*waiter
		for _, p := range []Priority{Interactive, Batch, Interactive, Interactive, Batch} {
			w, may := q.join(now, p)
			if want := map[bool]time.Duration{false: patience, true: hurried}[c.standing]; may != want {
				t.Errorf("%s: %v, want %v", name, may, want)
			}
			all = append(all, w)
		}
		if got := order(&q, now, all); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Requests that leave in any order leave a queue that is whole.
func TestLeaving(t *testing.T) {
	now := time.Now()
	for _, leaves := range [][]int{{0}, {1}, {2}, {0, 1}, {2, 1}, {1, 0, 2}} {
		q := queue{delay: 20 * time.Millisecond}
		var all []*waiter
		for range 3 {
			w, _ := q.join(now, Interactive)
			all = append(all, w)
		}
		for _, i := range leaves {
			if !q.remove(all[i], Interactive) || q.remove(all[i], Interactive) {
				t.Errorf("%v: %d does not leave once", leaves, i)
			}
		}
		for n := q.size; n > 0; n-- {
			q.next(now)
		}
		if q.size != 0 || q.waiting[Interactive] != (list{}) || slices.ContainsFunc(all, func(w *waiter) bool { return !w.gone }) {
			t.Errorf("%v: requests are left: %+v", leaves, q.waiting)
		}
	}
}

func TestFullQueue(t *testing.T) {
	q := queue{delay: 20 * time.Millisecond}
	now := time.Now()
	for range maxWaiting {
		if w, _ := q.join(now, Interactive); w == nil {
			t.Fatal("no place")
		}
	}
	if w, _ := q.join(now, Interactive); w != nil || !q.isStanding(now) {
		t.Error("a full queue has a place, or is not standing")
	}
}

// A caller who leaves is taken out at once, and the end of a gate admits those that wait.
func TestWaitingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Config{Memory: -1, probe: &signal{}, rounds: newProcessor()})
		end := g.attend(t.Context())
		g.config.rounds.(*processor).work(100 * time.Millisecond)
		ctx, leave := context.WithCancel(t.Context())
		left, stayed := make(chan error), make(chan error)
		go func() { left <- g.Admit(ctx, Interactive) }()
		go func() { stayed <- g.Admit(t.Context(), Interactive) }()
		synctest.Wait()
		leave()
		if err := <-left; err == nil || g.queue.size != 1 || g.Pressed() {
			t.Errorf("%v, %d wait", err, g.queue.size)
		}
		go end()
		if err := <-stayed; err != nil || g.Admit(t.Context(), Batch) != nil {
			t.Error(err)
		}
	})
}
