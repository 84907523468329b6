package report

import (
	"fmt"
	"io"

	"github.com/genway/genway/test/bench/target"
)

// features writes what each feature costs: the CPU time of a request without it or, of those that are put in, with it,
// and how much more that is with it. The latter are medians of the differences within a round.
func features(out io.Writer, all runs) {
	var rows [][]string
	base := all.of("", "", target.WithFeatures)
	for _, f := range target.Features() {
		own := all.of("", "", f.Name)
		if len(own) == 0 {
			continue
		}
		title, sign := f.Title, -1.0
		if f.In {
			title, sign = "in: "+title, 1
		}
		row := []string{title, number("%.1f")(own.median(cpu)), none, none}
		if f.Name != target.WithFeatures {
			cost, compared := own.against(base, difference, cpu)
			row[2] = number("%+.1f")(sign*cost, compared)
			share, compared := own.against(base, ratio, cpu)
			row[3] = number("%+.1f %%")(100*sign*(share-1), compared)
		}
		rows = append(rows, row)
	}
	table(out, fmt.Sprintf("What each feature costs, %d rounds", len(base)), []string{"taken out, or put in", "µs CPU a request", "the feature costs, µs", "of a request"}, rows)
}
