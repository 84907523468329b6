//go:build unix

package store_test

import (
	"strings"
	"testing"

	"github.com/genway/genway/core/store"
)

// A beat, which holds the write lock every 2 s, looks at the entries that are open, however
// many others there are, and however many processes there have been.
func TestBeatReadsOpenEntriesOnly(t *testing.T) {
	s := opened(t, newFile(t))
	for name, statement := range map[string]string{"interrupt": store.InterruptDead, "end": store.InterruptOne, "count": store.CountLeft, "clock": store.AheadOfTime} {
		plan := strings.Join(s.Plan(t, statement, 1, 1), "\n")
		if strings.Contains(plan, "SCAN ledger_processes") || strings.Contains(plan, "SCAN p") || !strings.Contains(plan, "ledger_open") {
			t.Errorf("%s:\n%s", name, plan)
		}
	}
}
