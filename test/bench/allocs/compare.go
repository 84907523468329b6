package allocs

import (
	"fmt"
	"maps"
	"slices"
)

// Finding is a figure that is not as the baseline has it.
type Finding struct {
	Name string
	What string
	// Better means that the change is an improvement, for which nothing has to fail.
	Better bool
}

// Compare holds figures against their baseline. More than the tolerance allows is a
// finding, and so is a benchmark that only one of both has; much less is a good one.
func Compare(figures, baseline Figures, tolerance float64) (findings []Finding) {
	for _, name := range slices.Sorted(maps.Keys(figures)) {
		got := figures[name]
		want, known := baseline[name]
		if !known {
			findings = append(findings, Finding{Name: name, What: fmt.Sprintf("is not in the baseline: %d allocations, %d bytes", got.Allocs, got.Bytes)})
			continue
		}
		findings = append(findings, compare(name, "allocations", got.Allocs, want.Allocs, slack(want.Allocs, tolerance, 0))...)
		// The sizes of maps and pooled buffers vary a little.
		findings = append(findings, compare(name, "bytes", got.Bytes, want.Bytes, slack(want.Bytes, tolerance+0.02, 64))...)
	}
	return findings
}

// Missing returns the benchmarks of a baseline that did not run.
func Missing(figures, baseline Figures) (findings []Finding) {
	for _, name := range slices.Sorted(maps.Keys(baseline)) {
		if _, ran := figures[name]; !ran {
			findings = append(findings, Finding{Name: name, What: "is in the baseline and did not run"})
		}
	}
	return findings
}

// slack is how far a figure may be from its baseline: least where the tolerance gives
// less. Nothing is near nothing.
func slack(want int64, tolerance float64, least int64) int64 {
	if want == 0 {
		return 0
	}
	return max(least, int64(float64(want)*tolerance))
}

func compare(name, unit string, got, want, slack int64) []Finding {
	switch {
	case got > want+slack:
		return []Finding{{Name: name, What: fmt.Sprintf("%d %s, the baseline has %d (%+.1f%%)", got, unit, want, 100*(float64(got)/float64(max(want, 1))-1))}}
	case got < want-slack:
		return []Finding{{Name: name, What: fmt.Sprintf("%d %s, the baseline has %d: better", got, unit, want), Better: true}}
	}
	return nil
}
