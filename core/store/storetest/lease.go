//nolint:thelper // these are the tests, not their helpers
package storetest

import (
	"testing"
	"time"

	"github.com/genway/genway/core/ledger"
)

func testBeat(t *testing.T, database LedgerDatabase) {
	s := openLedger(t, database)
	dead, alive, asking := begin(t, s, epoch()), begin(t, s, epoch()), begin(t, s, epoch())
	for _, process := range []int64{dead, alive, asking} {
		write(t, s, process, opening(1), entry(2))
	}
	at := func(seconds int) time.Time { return epoch().Add(time.Duration(seconds) * time.Second) }
	beat := func(process int64, now, dead time.Time, want int64) {
		t.Helper()
		if n, err := s.Beat(t.Context(), process, ledger.Node{}, now, dead); err != nil || n != want {
			t.Errorf("%d interrupted, %v, want %d", n, err, want)
		}
	}
	beat(asking, at(1), at(0), 0)
	beat(alive, at(5), at(0), 0)
	beat(asking, at(9), at(3), 1)
	beat(asking, at(9), at(3), 0)
	// Its own silence is no proof of a process's death.
	beat(alive, at(99), at(8), 0)
	wantEntries(t, s, interrupted(1), entry(2), opening(1), entry(2), opening(1), entry(2))
}

// Case N64: a process that was killed while the clock was a day ahead is known to be dead as
// soon as one that is killed now. One that lives says so again.
func testClockPutBack(t *testing.T, database LedgerDatabase) {
	s := openLedger(t, database)
	day := 24 * time.Hour
	dead, alive, asking := begin(t, s, epoch().Add(day)), begin(t, s, epoch().Add(day)), begin(t, s, epoch())
	for _, process := range []int64{dead, alive} {
		write(t, s, process, opening(1))
	}
	beat := func(process int64, second int, want int64) {
		t.Helper()
		now := epoch().Add(time.Duration(second) * time.Second)
		if n, err := s.Beat(t.Context(), process, ledger.Node{}, now, now.Add(-6*time.Second)); err != nil || n != want {
			t.Errorf("second %d: %d interrupted, %v, want %d", second, n, err, want)
		}
	}
	beat(asking, 0, 0)
	beat(alive, 1, 0)
	beat(alive, 7, 1)
	beat(asking, 7, 0)
	wantEntries(t, s, interrupted(1), opening(1))
}

func testRevived(t *testing.T, database LedgerDatabase) {
	s := openLedger(t, database)
	frozen, other := begin(t, s, epoch()), begin(t, s, epoch())
	write(t, s, frozen, opening(1))
	if n, err := s.Beat(t.Context(), other, ledger.Node{}, epoch().Add(time.Minute), epoch().Add(time.Second)); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	write(t, s, frozen, opening(1))
	wantEntries(t, s, interrupted(1))
	write(t, s, frozen, entry(1))
	wantEntries(t, s, entry(1))
}

func testEnd(t *testing.T, database LedgerDatabase) {
	s := openLedger(t, database)
	ending, other := begin(t, s, epoch()), begin(t, s, epoch())
	write(t, s, ending, opening(1), entry(2), opening(3))
	write(t, s, other, opening(1))
	for _, want := range []int64{2, 0} {
		if n, err := s.End(t.Context(), ending); err != nil || n != want {
			t.Errorf("%d interrupted, %v, want %d", n, err, want)
		}
	}
	wantEntries(t, s, interrupted(1), entry(2), interrupted(3), opening(1))
}
