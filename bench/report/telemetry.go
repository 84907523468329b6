package report

import (
	"fmt"
	"io"

	"github.com/genway/genway/bench/target"
)

// telemetry writes what telling costs: CPU a request of each form, and how much more that is
// than what the form before it takes in the same round, in the median.
func telemetry(out io.Writer, told runs) {
	var rows [][]string
	var before runs
	for _, t := range target.Telemetry() {
		own := told.of("", "", t.Name)
		if len(own) == 0 {
			continue
		}
		spent, ok := own.median(cpu)
		more, compared := own.against(before, ratio, cpu)
		rows = append(rows, []string{t.Title, number("%.1f")(spent, ok), number("%+.1f %%")(100*(more-1), compared)})
		before = own
	}
	table(out, fmt.Sprintf("What telling costs, %d rounds", len(before)), []string{"what is told", "µs CPU a request", "more than the one above"}, rows)
}
