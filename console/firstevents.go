package console

import (
	"strconv"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"google.golang.org/protobuf/types/known/durationpb"
)

// median and ninetyFifth write the estimated quantiles of times to first events.
func median(f *adminv1.FirstEvents) string { return quantile(f, f.GetP50()) }

func ninetyFifth(f *adminv1.FirstEvents) string { return quantile(f, f.GetP95()) }

// quantile writes an estimate: a dash where no request had a first event, and unknown where that
// is not known of any.
func quantile(f *adminv1.FirstEvents, estimate *durationpb.Duration) string {
	switch {
	case f.GetCount() > 0:
		return took(estimate.AsDuration())
	case f.GetUnknown() > 0:
		return "unknown"
	}
	return "–"
}

// firstEventColumns are those of a CSV, in the order of firstEventCells. Times are in microseconds.
var firstEventColumns = []string{"first_events", "first_event_unknown", "first_event_mean", "first_event_p50", "first_event_p95"}

// firstEventCells leaves times empty where there are none.
func firstEventCells(f *adminv1.FirstEvents) []string {
	cells := []string{strconv.FormatInt(f.GetCount(), 10), strconv.FormatInt(f.GetUnknown(), 10)}
	for _, d := range []*durationpb.Duration{f.GetMean(), f.GetP50(), f.GetP95()} {
		cell := ""
		if d != nil {
			cell = strconv.FormatInt(d.AsDuration().Microseconds(), 10)
		}
		cells = append(cells, cell)
	}
	return cells
}
