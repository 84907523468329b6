//nolint:thelper // these are the tests, not their helpers
package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/genway/genway/core/ledger"
)

// What a journal has of a process is written as by the process itself: what is there
// already changes nothing, and costs nothing again.
func testRecover(t *testing.T, database LedgerDatabase) {
	s := openLedger(t, database)
	recoverer, ok := s.(ledger.Recoverer)
	if !ok {
		t.Fatal("the store recovers nothing")
	}
	process := begin(t, s, epoch())
	write(t, s, process, opening(1), opening(2), entry(3))
	left := []*ledger.Entry{opening(2), entry(2), entry(3), opening(4), opening(5), entry(5)}
	for _, foreign := range []struct {
		process int64
		began   time.Time
	}{{process + 1, epoch()}, {process, epoch().Add(time.Microsecond)}, {0, time.Time{}}} {
		if err := recoverer.Recover(t.Context(), foreign.process, foreign.began, left); !errors.Is(err, ledger.ErrForeign) {
			t.Errorf("%+v: %v", foreign, err)
		}
	}
	wantEntries(t, s, opening(1), opening(2), entry(3))
	for range 2 {
		if err := recoverer.Recover(t.Context(), process, epoch(), left); err != nil {
			t.Fatal(err)
		}
		wantEntries(t, s, opening(1), entry(2), entry(3), opening(4), entry(5))
	}
	var spent int64
	spends, err := s.Spent(t.Context(), time.Time{}, "", "")
	for _, spend := range spends {
		spent += spend.Cost
	}
	if err != nil || spent != 2015+3015+5015 {
		t.Errorf("%d was spent, %v", spent, err)
	}
}
