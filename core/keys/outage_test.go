package keys_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/genway/genway/core/keys"
)

func TestOutage(t *testing.T) {
	synctest.Test(t, outage)
}

func outage(t *testing.T) {
	m := &memory{}
	var logs bytes.Buffer
	s, err := keys.New(keys.Config{Store: m, Logger: slog.New(slog.NewTextHandler(&logs, nil))})
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := create(t, s, keys.CreateParams{Group: keys.GroupChat})
	reason := errors.New("disk on fire")
	expect := func(when, raw string, want error) {
		t.Helper()
		_, err := s.Authenticate(t.Context(), raw)
		synctest.Wait() // what it has begun in the background
		if !errors.Is(err, want) || errors.Is(err, keys.ErrUnavailable) && (errors.Is(err, keys.ErrWrongKey) || !errors.Is(err, reason)) {
			t.Errorf("%s: got %v, want %v", when, err, want)
		}
	}

	pass := func(d time.Duration) { <-time.After(d) } // of the bubble's time

	m.during(func(context.Context) error { return reason })
	expect("down from the start", raw, keys.ErrUnavailable)
	expect("again", raw, keys.ErrUnavailable)
	if asked := m.asked(); asked != 1 {
		t.Errorf("asked %d times at once", asked)
	}
	m.during(nil)
	pass(time.Second)
	expect("up", raw, nil)
	expect("up", unknown(t), keys.ErrWrongKey)

	m.during(func(context.Context) error { return reason })
	pass(time.Second)
	expect("a known key when down", raw, nil)
	expect("an unknown key when down", unknown(t), keys.ErrUnavailable)
	expect("a typo when down", "gwk_", keys.ErrWrongKey)
	pass(58 * time.Second)
	expect("a known key after 59 s", raw, nil)
	pass(time.Second)
	expect("a known key after 60 s", raw, keys.ErrUnavailable)
	pass(3600 * time.Second)
	expect("a known key after an hour", raw, keys.ErrUnavailable)

	m.during(nil)
	pass(time.Second)
	expect("up again", raw, nil)

	s.Close()
	lines := strings.Split(strings.TrimSpace(logs.String()), "\n")
	if len(lines) != 4 {
		t.Errorf("want a line for each change of the two, got:\n%s", &logs)
	}
	if strings.Contains(logs.String(), raw[4:12]) {
		t.Errorf("the log has a key:\n%s", &logs)
	}
}

// A caller who leaves gets ErrUnavailable, and those that wait with it an answer.
func TestCallerLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, m, _ := fixture(t)
		raw, _ := create(t, s, keys.CreateParams{Group: keys.GroupChat})
		gate := make(chan struct{})
		m.during(func(ctx context.Context) error {
			select {
			case <-gate:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		ctx, leave := context.WithCancel(t.Context())
		var wait sync.WaitGroup
		errs := make([]error, 2)
		for i := range errs {
			wait.Go(func() { _, errs[i] = s.Authenticate(ctx, raw) })
		}
		synctest.Wait() // one asks, one waits for its turn
		leave()
		synctest.Wait()
		close(gate)
		wait.Wait()
		asker, waiter := errs[0], errs[1]
		if asker != nil {
			asker, waiter = waiter, asker
		}
		if asker != nil || !errors.Is(waiter, keys.ErrUnavailable) || !errors.Is(waiter, context.Canceled) {
			t.Errorf("got %v and %v", asker, waiter)
		}
	})
}

// While a store hangs, known keys are served without a wait: but for one whose last look at
// the store is 1.5 s ago, before anybody knows that it hangs.
func TestHangingStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		s, err := keys.New(keys.Config{Store: m})
		if err != nil {
			t.Fatal(err)
		}
		raw, _ := create(t, s, keys.CreateParams{Group: keys.GroupChat})
		took := func() time.Duration {
			t.Helper()
			began := time.Now()
			if _, err := s.Authenticate(t.Context(), raw); err != nil {
				t.Errorf("a known key: %v", err)
			}
			return time.Since(began)
		}
		took()
		m.during(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		for _, step := range []struct{ after, want time.Duration }{
			{time.Second, 0}, // asks in the background
			{500 * time.Millisecond, 500 * time.Millisecond},           // until the question fails
			{time.Millisecond, 0},                                      // known to fail
			{time.Second, 0},                                           // asks again
			{500 * time.Millisecond, 0}, {10 * time.Second, 0}, {0, 0}, // for a minute
		} {
			<-time.After(step.after) // the bubble's time
			if got := took(); got != step.want {
				t.Errorf("after another %s a caller waited %s, want %s", step.after, got, step.want)
			}
		}
		s.Close()
	})
}
