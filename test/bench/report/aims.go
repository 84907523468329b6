package report

import (
	"fmt"
	"io"

	"github.com/genway/genway/test/bench/measure"
	"github.com/genway/genway/test/bench/target"
	"github.com/genway/genway/test/bench/workload"
)

// aim is what a form of Genway is meant to cost at most.
type aim struct {
	title    string
	one, two float64
	// of returns a target's figure.
	of func(all runs, target string) (float64, bool)
}

// theAims are in multiples of the reverse proxy, unless they say otherwise.
func theAims() []aim {
	return []aim{
		{"chat, 1 KB", 1.4, 2.2, proxied("chat")},
		{"the dearest pair of protocols, × own chat", 1.2, 1.2, dearest(GroupPairs, workload.Pairs())},
		{"the dearest pair as a stream, × own chat stream", 1.2, 1.2, dearest(GroupStreams, workload.StreamPairs())},
		{"paced streams", 1.0, 1.4, proxied("paced")},
		{"1,000 streams", 1.2, 1.7, proxied("open-streams")},
		{"200 KB prompt", 1.15, 2.0, proxied("prompt200k")},
		{"1 MB image in the request", 1.15, 2.0, proxied("image-in")},
		{"1.5 MB image in the answer", 1.15, 2.0, proxied("image-out")},
		{"p50 added, 500 requests a second", 1.3, 1.7, addedLatency},
	}
}

// proxied returns the cost of a workload in multiples of the reverse proxy.
func proxied(name string) func(all runs, target string) (float64, bool) {
	return func(all runs, target string) (float64, bool) {
		for _, row := range costRows(all.kind(measure.KindRun).of(GroupMain, "", ""), all.kind(measure.KindMemory)) {
			if row.Name == name {
				return row.multiple(target)
			}
		}
		return 0, false
	}
}

// dearest returns the cost of the pair that costs most, in multiples of the first.
func dearest(group string, pairs []workload.Workload) func(all runs, target string) (float64, bool) {
	return func(all runs, target string) (most float64, found bool) {
		own := all.kind(measure.KindRun).of(group, "", target)
		for _, w := range pairs[1:] {
			if times, ok := own.of("", w.Name, "").against(own.of("", pairs[0].Name, ""), ratio, cpu); ok {
				most, found = max(most, times), true
			}
		}
		return most, found
	}
}

// addedLatency returns the latency that a target adds, in multiples of what the reverse proxy adds.
func addedLatency(all runs, name string) (float64, bool) {
	own := all.kind(measure.KindRun).of(GroupMain, "open500", "")
	base := own.of("", "", target.Direct)
	added, ok := own.of("", "", name).against(base, difference, latency)
	proxy, found := own.of("", "", target.ReverseProxy).against(base, difference, latency)
	return added / proxy, ok && found && proxy > 0
}

// aims compares what was measured with what is meant.
func aims(out io.Writer, all runs) {
	var rows [][]string
	for _, a := range theAims() {
		row, known := []string{a.title}, false
		for _, form := range []struct {
			target string
			most   float64
		}{{target.AllInOne, a.one}, {target.TwoProcesses, a.two}} {
			measured, ok := a.of(all, form.target)
			met := none
			if known = known || ok; ok {
				met = "no"
				if measured <= form.most {
					met = "yes"
				}
			}
			row = append(row, fmt.Sprintf("%.2f", form.most), number("%.2f")(measured, ok), met)
		}
		if known {
			rows = append(rows, row)
		}
	}
	if len(rows) > 0 {
		table(out, "Aims, in multiples of Go's ReverseProxy", []string{"", "one process: aim", "measured", "met", "two processes: aim", "measured", "met"}, rows)
	}
}
