package ledger_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/genway/genway/core/ledger"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errDisk = errors.New("disk on fire")

// memory is a Store that keeps to the interface's rules for one process, counts, and
// fails on demand.
type memory struct {
	mu     sync.Mutex
	rows   map[int64]ledger.Entry
	closed map[int64]int // how often an entry went from open to a terminal outcome
	writes int
	beats  int
	node   ledger.Node                          // of the last beat
	fail   func(write int) (before, after bool) // whether a write fails, and whether it has happened
	hold   chan struct{}                        // writes wait for it
}

func newMemory() *memory { return &memory{rows: map[int64]ledger.Entry{}, closed: map[int64]int{}} }

func (m *memory) Begin(context.Context, time.Time) (int64, error) { return 7, nil }

func (m *memory) Write(ctx context.Context, process int64, entries []*ledger.Entry) error {
	if m.hold != nil {
		select {
		case <-m.hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.writes++
	before, after := false, false
	if m.fail != nil {
		before, after = m.fail(m.writes)
	}
	if before {
		return errDisk
	}
	for _, e := range entries {
		old, ok := m.rows[e.Number]
		switch {
		case !ok, old.Outcome == ledger.Open && e.Outcome != ledger.Open:
			m.rows[e.Number] = *e
			if e.Outcome != ledger.Open {
				m.closed[e.Number]++
			}
		case old.Outcome != ledger.Open && e.Outcome != ledger.Open && (old.Request != e.Request || old.Result != e.Result):
			m.closed[e.Number]++ // another end than it had
		}
	}
	if after {
		return errDisk
	}
	return nil
}

func (m *memory) Beat(_ context.Context, _ int64, node ledger.Node, _, _ time.Time) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.beats++
	m.node = node
	return 0, nil
}

func (m *memory) Processes(context.Context, time.Time) ([]ledger.Process, error) { return nil, nil }

func (m *memory) End(ctx context.Context, _ int64) (n int64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for number, e := range m.rows {
		if e.Outcome == ledger.Open {
			e.Outcome = ledger.Interrupted
			m.rows[number] = e
			m.closed[number]++
			n++
		}
	}
	return n, ctx.Err()
}

func (m *memory) Entries(context.Context, time.Time) iter.Seq2[*ledger.Entry, error] { return nil }

func (m *memory) Report(context.Context, ledger.Query) ([]ledger.Row, error) { return nil, nil }

func (m *memory) Left(context.Context, time.Time) (int64, error) { return 0, nil }

func (m *memory) Prune(context.Context, time.Time, int64) (int64, error) { return 0, nil }

func (m *memory) View(context.Context, func(ledger.View) error) error { return nil }

func (m *memory) Roll(context.Context, time.Time) (bool, error) { return false, nil }

func (m *memory) Leads(context.Context, int64, time.Time) (bool, error) { return false, nil }

func (m *memory) Spent(context.Context, time.Time, string, string) ([]ledger.Spend, error) {
	return nil, nil
}

func (m *memory) outcomes() map[string]ledger.Outcome {
	m.mu.Lock()
	defer m.mu.Unlock()
	got := map[string]ledger.Outcome{}
	for _, e := range m.rows {
		got[e.ID] = e.Outcome
	}
	return got
}

func (m *memory) counts() (writes, rows, beats int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.writes, len(m.rows), m.beats
}

func start(t testing.TB, config ledger.Config) *ledger.Recorder {
	t.Helper()
	r, err := ledger.Start(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func shut(t testing.TB, r *ledger.Recorder) {
	t.Helper()
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func open(t testing.TB, r *ledger.Recorder, id string) *ledger.Record {
	t.Helper()
	record, err := r.Open(t.Context(), ledger.Request{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	return record
}

// cemetery is a Store whose processes die: they send no more heartbeats.
type cemetery struct {
	*memory

	begun int64
	seen  map[int64]time.Time
	died  map[int64]bool
	// found is when each was found dead.
	found map[int64]time.Time
}

func (c *cemetery) Begin(_ context.Context, now time.Time) (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begun++
	c.seen[c.begun] = now
	return c.begun, nil
}

func (c *cemetery) Beat(_ context.Context, process int64, _ ledger.Node, now, dead time.Time) (n int64, _ error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.died[process] {
		c.seen[process] = now
	}
	for other, seen := range c.seen {
		if other != process && seen.Before(dead) && c.found[other].IsZero() {
			c.found[other] = now
			n++
		}
	}
	return n, nil
}

// The entries of a process that is killed are closed within 10 s, as promised, whenever between two heartbeats
// of its own and of another it dies; those of one that lives are not.
func TestTheDeadAreClosedWithinTenSeconds(t *testing.T) {
	for apart := time.Duration(0); apart < 2*time.Second; apart += 250 * time.Millisecond {
		for alive := 4 * time.Second; alive <= 6*time.Second; alive += 250 * time.Millisecond {
			synctest.Test(t, func(t *testing.T) {
				c := &cemetery{memory: newMemory(), seen: map[int64]time.Time{}, died: map[int64]bool{}, found: map[int64]time.Time{}}
				killed := start(t, ledger.Config{Store: c})
				time.Sleep(apart) //nolint:forbidigo // of the bubble
				other := start(t, ledger.Config{Store: c})
				time.Sleep(alive) //nolint:forbidigo // of the bubble
				synctest.Wait()
				at := time.Now()
				c.mu.Lock()
				c.died[1] = true
				c.mu.Unlock()
				time.Sleep(time.Minute) //nolint:forbidigo // of the bubble
				shut(t, killed)
				shut(t, other)
				if after := c.found[1].Sub(at); after < 2*time.Second || after > 10*time.Second {
					t.Errorf("a process that dies %v after its start, %v after another's, is found dead %v later", alive+apart, alive, after)
				}
				if !c.found[2].IsZero() {
					t.Error("a process that lives is found dead")
				}
			})
		}
	}
}

// Whatever callers, the disk and the end do in whichever order, each entry that was
// opened is closed exactly once, by the first settlement or by the end.
func TestEveryEntryIsClosedOnce(t *testing.T) {
	outcomes := []ledger.Outcome{ledger.OK, ledger.Failed, ledger.Cancelled}
	rapid.Check(t, func(rt *rapid.T) {
		store := newMemory()
		failures := rapid.SliceOfN(rapid.IntRange(0, 5), 8, 8).Draw(rt, "failures")
		store.fail = func(write int) (bool, bool) {
			f := failures[write%len(failures)]
			return f == 1 && write < 16, f == 2 && write < 16
		}
		wait := rapid.Bool().Draw(rt, "wait")
		count := rapid.IntRange(1, 40).Draw(rt, "requests")
		// By request: which outcome, or none; settled how often; after how long.
		ends := rapid.SliceOfN(rapid.IntRange(0, 3), count, count).Draw(rt, "ends")
		times := rapid.SliceOfN(rapid.IntRange(1, 2), count, count).Draw(rt, "times")
		delays := rapid.SliceOfN(rapid.IntRange(0, 60), count, count).Draw(rt, "delays")
		early := rapid.IntRange(0, 100).Draw(rt, "close")
		synctest.Test(t, func(t *testing.T) {
			r := start(t, ledger.Config{Store: store, Wait: wait, Batch: 4, MaxWait: time.Hour})
			var mu sync.Mutex
			opened := map[string]ledger.Outcome{}
			var requests sync.WaitGroup
			for n := range count {
				requests.Go(func() {
					<-time.After(time.Duration(delays[n]) * time.Millisecond)
					id := strconv.Itoa(n)
					record, err := r.Open(t.Context(), ledger.Request{ID: id})
					if err != nil {
						return
					}
					end := ledger.Open
					if ends[n] > 0 {
						end = outcomes[ends[n]-1]
					}
					mu.Lock()
					opened[id] = end
					mu.Unlock()
					<-time.After(time.Duration(delays[count-1-n]) * time.Millisecond)
					for range times[n] {
						if end != ledger.Open {
							requests.Go(func() { record.Settle(ledger.Result{Outcome: end}) })
						}
					}
				})
			}
			// A late end sees all settlements; an early one interrupts some.
			if early > 60 {
				requests.Wait()
			} else {
				<-time.After(time.Duration(early) * time.Millisecond)
			}
			shut(t, r)
			requests.Wait()
			got := store.outcomes()
			for id, want := range opened {
				if want == ledger.Open {
					want = ledger.Interrupted
				}
				if got[id] != want && (early > 60 || got[id] != ledger.Interrupted) {
					t.Errorf("request %s: %q, want %q", id, got[id], want)
				}
			}
			if len(got) != len(opened) {
				t.Errorf("%d rows of %d requests", len(got), len(opened))
			}
			for number, times := range store.closed {
				if times != 1 {
					t.Errorf("entry %d was closed %d times", number, times)
				}
			}
		})
	})
}

// Entries of a window are one write, a request within it one row of that.
func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory()
		asked := 0
		r := start(t, ledger.Config{Store: store, Node: func() ledger.Node {
			asked++
			return ledger.Node{Host: "a", Configuration: strconv.Itoa(asked)}
		}})
		for n := range 100 {
			open(t, r, strconv.Itoa(n)).Settle(ledger.Result{Outcome: ledger.OK})
		}
		<-time.After(19 * time.Millisecond) // of the bubble's clock
		synctest.Wait()
		if writes, _, _ := store.counts(); writes != 0 {
			t.Errorf("%d writes before the window's end", writes)
		}
		<-time.After(2 * time.Millisecond)
		synctest.Wait()
		if writes, rows, _ := store.counts(); writes != 1 || rows != 100 {
			t.Errorf("%d writes of %d rows", writes, rows)
		}
		for n := range 256 {
			open(t, r, fmt.Sprint("more ", n))
		}
		synctest.Wait()
		if writes, rows, _ := store.counts(); writes != 2 || rows != 356 {
			t.Errorf("a full batch waits: %d writes of %d rows", writes, rows)
		}
		<-time.After(10 * time.Second)
		synctest.Wait()
		if _, _, beats := store.counts(); beats != 5 {
			t.Errorf("%d beats in 10 s", beats)
		}
		if store.node.Host != "a" || store.node.Configuration != "5" {
			t.Errorf("the last beat says %+v", store.node)
		}
		shut(t, r)
	})
}

// Items are written with the end of their entry and reported once they are, in one write or after a failed one; an
// entry that is settled takes none.
func TestItemsAreWrittenWithTheirEntry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory()
		store.fail = func(write int) (bool, bool) { return write == 1, write == 3 }
		var mu sync.Mutex
		var all []string
		r := start(t, ledger.Config{Store: store, OnItems: func(items []ledger.Item) {
			mu.Lock()
			defer mu.Unlock()
			for _, item := range items {
				all = append(all, string(item.Sealed))
			}
		}})
		reported := func() string {
			mu.Lock()
			defer mu.Unlock()
			return strings.Join(all, ", ")
		}
		keep := func(record *ledger.Record, items ...string) {
			for _, text := range items {
				if !record.Keep([]ledger.Item{{Sealed: []byte(text)}}) {
					t.Errorf("%s is not kept", text)
				}
			}
		}
		long := open(t, r, "long")
		keep(long, "long 1")
		short := open(t, r, "short")
		keep(short, "short 1", "short 2")
		short.Settle(ledger.Result{Outcome: ledger.OK})
		if short.Keep([]ledger.Item{{}}) || (*ledger.Record)(nil).Keep([]ledger.Item{{}}) {
			t.Error("an entry that is settled, or none, takes items")
		}
		<-time.After(21 * time.Millisecond)
		synctest.Wait()
		if got := reported(); got != "" {
			t.Errorf("%s are reported of a write that failed", got)
		}
		<-time.After(time.Second)
		synctest.Wait()
		store.mu.Lock()
		written := len(store.rows[2].Items)
		store.mu.Unlock()
		if got := reported(); got != "short 1, short 2" || written != 2 {
			t.Errorf("%s are reported, %d are written", got, written)
		}
		keep(long, "long 2")
		long.Settle(ledger.Result{Outcome: ledger.OK})
		<-time.After(time.Second)
		synctest.Wait()
		if got := reported(); got != "short 1, short 2, long 1, long 2" {
			t.Errorf("%s are reported", got)
		}
		left := open(t, r, "left")
		shut(t, r)
		if left.Keep([]ledger.Item{{}}) {
			t.Error("a recorder that has ended takes items")
		}
	})
}

// With Wait, Open and Settle return when the entry is written.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory()
		r := start(t, ledger.Config{Store: store, Wait: true})
		record := open(t, r, "a")
		if got := store.outcomes()["a"]; got != ledger.Open {
			t.Errorf("after Open: %q", got)
		}
		record.Settle(ledger.Result{Outcome: ledger.OK})
		if got := store.outcomes()["a"]; got != ledger.OK {
			t.Errorf("after Settle: %q", got)
		}
		shut(t, r)
	})
}

// A disk that is stuck makes new requests wait and then refuses them; those that were
// admitted are recorded when it is back.
func TestStuck(t *testing.T) {
	for _, waits := range []bool{false, true} {
		t.Run(fmt.Sprint("wait ", waits), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newMemory()
				store.hold = make(chan struct{})
				r := start(t, ledger.Config{Store: store, Queue: 10, Wait: waits})
				var admitted []*ledger.Record
				began := time.Now()
				for len(admitted) < 100 {
					record, err := r.Open(t.Context(), ledger.Request{ID: strconv.Itoa(len(admitted))})
					if err != nil {
						if !errors.Is(err, ledger.ErrBusy) || time.Since(began) < 2*time.Second {
							t.Errorf("after %v: %v", time.Since(began), err)
						}
						break
					}
					admitted = append(admitted, record)
					synctest.Wait()
					began = time.Now()
				}
				if n := len(admitted); n >= 100 || waits && n != 0 {
					t.Errorf("%d requests were admitted", n)
				}
				left, cancel := context.WithCancel(t.Context())
				cancel()
				if _, err := r.Open(left, ledger.Request{ID: "left"}); !errors.Is(err, context.Canceled) {
					t.Errorf("a caller that has disconnected: %v", err)
				}
				for _, record := range admitted {
					record.Settle(ledger.Result{Outcome: ledger.OK})
				}
				close(store.hold)
				open(t, r, "after").Settle(ledger.Result{Outcome: ledger.OK})
				shut(t, r)
				got := store.outcomes()
				for n := range admitted {
					if got[strconv.Itoa(n)] != ledger.OK {
						t.Errorf("request %d: %q", n, got[strconv.Itoa(n)])
					}
				}
				for id, outcome := range got {
					if outcome == ledger.Interrupted {
						t.Errorf("request %s was left open", id)
					}
				}
				if got["after"] != ledger.OK {
					t.Errorf("after it: %q", got["after"])
				}
			})
		})
	}
}

// A store that is waited for until the time of the end is over is a failure, and no interruption.
func TestLateIsNoInterruption(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory()
		store.hold = make(chan struct{})
		r := start(t, ledger.Config{Store: store})
		open(t, r, "waits")
		if err := r.Close(); err == nil || !strings.Contains(err.Error(), "1 entries are lost: the 5s that the last writes have are over") || errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
}

// What cannot be written by the end is lost with a number, in the error and the log;
// the end is bounded.
func TestLostIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory()
		store.fail = func(int) (bool, bool) { return true, false }
		var log bytes.Buffer
		r := start(t, ledger.Config{Store: store, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		for n := range 3 {
			open(t, r, strconv.Itoa(n))
		}
		began := time.Now()
		err := r.Close()
		if err == nil || !strings.Contains(err.Error(), "3 entries are lost") || !errors.Is(err, errDisk) {
			t.Errorf("%v", err)
		}
		if took := time.Since(began); took > 6*time.Second {
			t.Errorf("it took %v", took)
		}
		if !strings.Contains(log.String(), "entries are lost") || !strings.Contains(log.String(), "entries=3") {
			t.Errorf("the log says\n%s", &log)
		}
		if _, err := r.Open(t.Context(), ledger.Request{}); !errors.Is(err, ledger.ErrBusy) {
			t.Errorf("after the end: %v", err)
		}
	})
}

// Words of callers and upstreams are bounded.
func TestTextsAreClipped(t *testing.T) {
	store := newMemory()
	r := start(t, ledger.Config{Store: store})
	long := strings.Repeat("a", 255) + "é"
	record, err := r.Open(t.Context(), ledger.Request{ID: "a", Model: long})
	if err != nil {
		t.Fatal(err)
	}
	record.Settle(ledger.Result{Outcome: ledger.OK, Model: long, Reason: long})
	shut(t, r)
	for _, e := range store.rows {
		if want := long[:255]; e.Request.Model != want || e.Result.Model != want || e.Reason != want {
			t.Errorf("%+v", e)
		}
	}
}

// A core without a ledger records nothing.
func TestNone(t *testing.T) {
	var r *ledger.Recorder
	open(t, r, "a").Settle(ledger.Result{Outcome: ledger.OK})
	shut(t, r)
	if _, err := ledger.Start(t.Context(), ledger.Config{}); err == nil {
		t.Error("a recorder without a store")
	}
}
