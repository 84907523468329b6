package overload

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Print writes the rows as a table of Markdown.
func Print(w io.Writer, times float64, rows []Row) {
	fmt.Fprintf(w, "| target | limited by | capacity, requests/s | goodput at %g × | of capacity | p99 unloaded, ms | p99 admitted, ms | after 1 s | p50/p99 refused, ms | memory before, at most, MB | answered in time 2 s after | log lines/s of refusals |\n", times)
	fmt.Fprintln(w, "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
	for _, r := range rows {
		fmt.Fprintf(w, "| %s | %s | %.0f | %.0f | %.0f %% | %.1f | %.1f | %.1f | %.1f / %.1f | %d, %d | %.1f %% | %.1f |\n",
			r.Target, r.Scenario, r.Peak, r.Goodput, 100*r.Goodput/r.Peak, r.Unloaded.P99, r.Admitted.P99, r.Settled.P99,
			r.Refused.P50, r.Refused.P99, r.Idle>>20, r.RSS>>20, 100*r.After, r.LogLines)
	}
	fmt.Fprintln(w)
	for _, r := range rows {
		var kinds []string
		for _, kind := range slices.Sorted(maps.Keys(r.Errors)) {
			kinds = append(kinds, fmt.Sprintf("%s: %d", kind, r.Errors[kind]))
		}
		fmt.Fprintf(w, "%s, %s: %s\n", r.Target, r.Scenario, strings.Join(kinds, ", "))
	}
}
