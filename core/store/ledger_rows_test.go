package store

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/genway/genway/core/ledger"
)

// Batches of any size, whose entries share any of their values, are written as they are,
// and the statements kept for them are bounded.
func TestRowsOfAnyShape(t *testing.T) {
	s, err := Open(t.Context(), Config{Location: filepath.Join(t.TempDir(), FileName)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	process, err := s.Ledger().Begin(t.Context(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	var number int64
	want := map[int64]*ledger.Entry{}
	for range 300 {
		var batch []*ledger.Entry
		for range random.IntN(60) {
			number++
			batch = append(batch, randomEntry(random, number))
		}
		// Some earlier entries are written again: an open one may be closed, nothing else changes.
		for range min(random.IntN(5), len(want)) {
			batch = append(batch, randomEntry(random, 1+random.Int64N(int64(len(want)))))
		}
		if err := s.Ledger().Write(t.Context(), process, batch); err != nil {
			t.Fatal(err)
		}
		for _, e := range batch {
			if before := want[e.Number]; before == nil || before.Outcome == ledger.Open && e.Outcome != ledger.Open {
				want[e.Number] = e
			}
		}
	}
	var cost, spent int64
	for _, e := range want {
		if e.Outcome != ledger.Interrupted {
			cost += e.Cost
		}
	}
	spends, err := s.Ledger().Spent(t.Context(), time.Time{}, "", "")
	for _, spend := range spends {
		spent += spend.Cost
	}
	if err != nil || len(spends) != 2 || spent != cost {
		t.Errorf("%v, %v: %d was spent, want %d", spends, err, spent, cost)
	}
	var n int64
	for e, err := range s.Ledger().Entries(t.Context(), time.Time{}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		if diff := cmp.Diff(want[n], e); diff != "" {
			t.Fatalf("entry %d (-want +got):\n%s", n, diff)
		}
	}
	if n != number {
		t.Errorf("%d entries, want %d", n, number)
	}
	kept := map[int]int{}
	for shape := range s.rows.prepared {
		kept[shape.rows]++
	}
	for _, rows := range shapeRows[:len(shapeRows)-1] {
		if kept[rows] < maxPrepared || kept[rows] > maxPrepared+1 {
			t.Errorf("%d statements of %d rows are kept, want %d, and one that shares nothing", kept[rows], rows, maxPrepared)
		}
	}
}

// randomEntry's request is a matter of its number; the rest is any.
func randomEntry(random *rand.Rand, number int64) *ledger.Entry {
	e := &ledger.Entry{Number: number, Request: ledger.Request{ID: "r", KeyID: []string{"a", "b"}[number/7%2], Owner: "o", Protocol: "p", Method: "m", Model: "x", Start: time.UnixMicro(1000 + number/3).UTC()}}
	e.Outcome = ledger.Open
	if random.IntN(3) == 0 {
		return e
	}
	e.Outcome = []ledger.Outcome{ledger.OK, ledger.Failed}[random.IntN(10)/9]
	for bit, figure := range []*int64{&e.Attempts, &e.Usage.Input, &e.Usage.Output, &e.Usage.CacheRead, &e.Usage.Thinking, &e.Usage.Images, &e.Cost} {
		if number/32>>bit%2 == 1 {
			*figure = random.Int64N(3)
		}
	}
	e.Duration = time.Duration(random.IntN(9)) * time.Microsecond
	return e
}

// A write that the end of its context breaks off says so, wherever it was.
func TestWriteThatIsBrokenOff(t *testing.T) {
	s, err := Open(t.Context(), Config{Location: filepath.Join(t.TempDir(), FileName)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	process, err := s.Ledger().Begin(t.Context(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for round := range int64(100) {
		entries := make([]*ledger.Entry, 500)
		for i := range entries {
			entries[i] = randomEntry(random, round*1000+int64(i))
		}
		ctx, cancel := context.WithCancel(t.Context())
		timer := time.AfterFunc(time.Duration(round)*100*time.Microsecond, cancel)
		if err := s.Ledger().Write(ctx, process, entries); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("round %d: %v", round, err)
		}
		timer.Stop()
		cancel()
	}
}
