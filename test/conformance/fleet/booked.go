package fleet

import (
	"time"

	"github.com/genway/genway/test/conformance/caller"
	"github.com/genway/genway/test/conformance/rows"
	"github.com/genway/genway/test/conformance/vendors"
)

// Rows counts the rows of each request's number.
func Rows(all []rows.Row) map[int]int {
	count := map[int]int{}
	for _, r := range all {
		count[vendors.Number(r.Model)]++
	}
	return count
}

// Booked returns the number of rows of each request, once every request that was answered whole has
// one, or after WaitLimit. A total would not do: requests that failed may have rows too. It is for
// a load that has stopped.
func (l *Load) Booked(db *rows.Database) map[int]int {
	l.fleet.tb.Helper()
	failed := l.Failed()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(WaitLimit); ; <-tick.C {
		count := Rows(db.Ledger(l.fleet.tb))
		if time.Now().After(deadline) || l.eachHas(count, failed) {
			return count
		}
	}
}

func (l *Load) eachHas(count map[int]int, failed map[int]caller.Seen) bool {
	for n := l.first + 1; n <= l.Last(); n++ {
		if _, lost := failed[n]; !lost && count[n] == 0 {
			return false
		}
	}
	return true
}
