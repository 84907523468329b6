package report

import (
	"cmp"
	"slices"

	"github.com/genway/genway/test/bench/measure"
	"github.com/genway/genway/test/bench/target"
)

// runs are records of one kind, to be asked for medians.
type runs []measure.Record

// of picks those of a target and a workload in a group. Empty words pick all.
func (r runs) of(group, workload, target string) (picked runs) {
	for _, record := range r {
		if (group == "" || record.Group == group) && (workload == "" || record.Workload == workload) && (target == "" || record.Target == target) {
			picked = append(picked, record)
		}
	}
	return picked
}

// kind picks those of a kind.
func (r runs) kind(kind measure.Kind) (picked runs) {
	for _, record := range r {
		if record.Kind == kind {
			picked = append(picked, record)
		}
	}
	return picked
}

// median of a figure. There is none without records.
func (r runs) median(figure func(measure.Record) float64) (median float64, ok bool) {
	values := make([]float64, 0, len(r))
	for _, record := range r {
		values = append(values, figure(record))
	}
	return medianOf(values)
}

func medianOf(values []float64) (median float64, ok bool) {
	if len(values) == 0 {
		return 0, false
	}
	slices.Sort(values)
	half := len(values) / 2
	if len(values)%2 == 1 {
		return values[half], true
	}
	return (values[half-1] + values[half]) / 2, true
}

// against is the median of a figure over the same figure of other runs, round by round.
func (r runs) against(others runs, combine func(own, other float64) float64, figure func(measure.Record) float64) (median float64, ok bool) {
	byRound := map[int]float64{}
	for _, record := range others {
		byRound[record.Round] = figure(record)
	}
	var values []float64
	for _, record := range r {
		if other, found := byRound[record.Round]; found && other > 0 {
			values = append(values, combine(figure(record), other))
		}
	}
	return medianOf(values)
}

func ratio(own, other float64) float64      { return own / other }
func difference(own, other float64) float64 { return own - other }

// Figures of a run.
func cpu(r measure.Record) float64     { return r.CPUPer1000 }
func latency(r measure.Record) float64 { return r.Load.Latency.P50 }
func perCPU(r measure.Record) float64  { return float64(r.Load.Events) / r.CPU }

// targets are the targets in the order of turns, as far as there are records; peers come last.
func (r runs) targets() (present []target.Target) {
	known := map[string]bool{}
	for _, t := range target.All() {
		known[t.Name] = true
		if len(r.of("", "", t.Name)) > 0 {
			present = append(present, t)
		}
	}
	for _, record := range r {
		if !known[record.Target] {
			known[record.Target] = true
			present = append(present, target.Target{Name: record.Target, Title: cmp.Or(record.Title, record.Target), Gateway: true})
		}
	}
	return present
}
