package report

import (
	"io"

	"github.com/genway/genway/test/bench/profile"
	"github.com/genway/genway/test/bench/target"
)

// Shares are the parts of the CPU time that stages took in a workload, by target.
type Shares struct {
	Workload string
	ByTarget map[string]map[profile.Stage]float64
}

// Stages writes a table for each target: where its time goes.
func Stages(out io.Writer, columns []Shares) {
	for _, t := range target.All() {
		head := []string{"stage, % of CPU time"}
		for _, column := range columns {
			if column.ByTarget[t.Name] != nil {
				head = append(head, column.Workload)
			}
		}
		if len(head) == 1 {
			continue
		}
		var rows [][]string
		for _, stage := range profile.Stages() {
			row := []string{string(stage)}
			for _, column := range columns {
				if shares := column.ByTarget[t.Name]; shares != nil {
					row = append(row, number("%.0f")(shares[stage]*100, true))
				}
			}
			rows = append(rows, row)
		}
		table(out, "Where the time goes: "+t.Title, head, rows)
	}
}
