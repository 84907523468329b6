package report

import (
	"fmt"
	"io"

	"github.com/genway/genway/test/bench/target"
)

// telemetry writes what telemetry costs: the CPU time a request of each setting, and how much
// more that is than with telemetry off and than the setting above. Both are medians of the
// ratios within a round.
func telemetry(out io.Writer, all runs) {
	var rows [][]string
	var off, above runs
	for _, t := range target.Telemetry() {
		own := all.of("", "", t.Name)
		if len(own) == 0 {
			continue
		}
		spent, ok := own.median(cpu)
		row := []string{t.Title, number("%.1f")(spent, ok)}
		for _, base := range []runs{off, above} {
			more, compared := own.against(base, ratio, cpu)
			row = append(row, number("%+.1f %%")(100*(more-1), compared))
		}
		rows = append(rows, row)
		if above = own; off == nil {
			off = own
		}
	}
	table(out, fmt.Sprintf("Cost of telemetry, %d rounds", len(above)), []string{"telemetry", "µs CPU a request", "more than off", "more than the row above"}, rows)
}
