package store

import (
	"fmt"

	"github.com/genway/genway/core/ledger"
)

// firstEventSums are the figures of the times to first events, in the order of firstEventsOf.
func firstEventSums() []figure {
	all := []figure{
		{"first_event_known", "count(*)"},
		{"first_event", ""},
	}
	above := int64(0)
	for i := range ledger.FirstEventBuckets {
		counted := fmt.Sprintf("count(*) FILTER (WHERE first_event > %d)", above)
		if bound, ok := ledger.FirstEventBound(i); ok {
			counted = fmt.Sprintf("count(*) FILTER (WHERE first_event > %d AND first_event <= %d)", above, bound.Microseconds())
			above = bound.Microseconds()
		}
		all = append(all, figure{fmt.Sprint("first_event_", i), counted})
	}
	return all
}

// firstEventsOf are the figures of a row's times, in the order of firstEventSums.
func firstEventsOf(f *ledger.FirstEvents) []any {
	all := []any{&f.Known, &f.Sum}
	for i := range f.Buckets {
		all = append(all, &f.Buckets[i])
	}
	return all
}
