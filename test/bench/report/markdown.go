package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/genway/genway/test/bench/measure"
	"github.com/genway/genway/test/bench/target"
	"github.com/genway/genway/test/bench/workload"
)

// The groups of rounds.
const (
	GroupMain     = "main"
	GroupPairs    = "pairs"
	GroupStreams  = "stream-pairs"
	GroupFeatures = "features"
)

// none stands where nothing was measured.
const none = "–"

// Markdown writes the tables of what the records have.
func Markdown(out io.Writer, records []measure.Record) {
	site(out, records)
	tables(out, records)
	if main := runs(records).kind(measure.KindRun).of(GroupMain, "", ""); len(main) > 0 {
		details(out, main)
	}
}

// tables are all but the figures behind the multiples.
func tables(out io.Writer, records []measure.Record) {
	all := runs(records)
	main, memory := all.kind(measure.KindRun).of(GroupMain, "", ""), all.kind(measure.KindMemory)
	rows := costRows(main, memory)
	if len(rows) > 0 {
		costs(out, rows, all)
		multiples(out, rows, all)
	}
	aims(out, all)
	if len(main) > 0 {
		growth(out, main)
		latencies(out, main)
	}
	if crossed := all.kind(measure.KindRun).of(GroupPairs, "", ""); len(crossed) > 0 {
		pairs(out, "Protocols, 1 KB, 32 connections, CPU/request", workload.Pairs(), crossed)
	}
	if crossed := all.kind(measure.KindRun).of(GroupStreams, "", ""); len(crossed) > 0 {
		pairs(out, "Protocols, streams of 200 events, 16 connections, CPU/stream", workload.StreamPairs(), crossed)
	}
	if changed := all.kind(measure.KindRun).of(GroupFeatures, "", ""); len(changed) > 0 {
		features(out, changed)
	}
	if len(memory) > 0 {
		memories(out, memory)
	}
	if started := all.kind(measure.KindStart); len(started.targets()) > 0 {
		starts(out, started)
	}
	if soaked := all.kind(measure.KindSoak); len(soaked) > 0 {
		soaks(out, soaked)
	}
}

// site says where and of what the records are.
func site(out io.Writer, records []measure.Record) {
	for _, r := range records {
		if s := r.Site; s != nil {
			fmt.Fprintf(out, "Taken on %s at commit %s, %s, %d cores of %s, Linux %s; %d rounds of %g s.\n",
				r.Time.Format("2 January 2006"), cmp.Or(s.Commit, none), cmp.Or(s.Go, none), s.Cores, cmp.Or(s.CPU, none), cmp.Or(s.Kernel, none), s.Rounds, s.Seconds)
		}
	}
}

// table writes a Markdown table.
func table(out io.Writer, title string, head []string, rows [][]string) {
	fmt.Fprintf(out, "\n### %s\n\n| %s |\n|---|%s\n", title, strings.Join(head, " | "), strings.Repeat("---:|", len(head)-1))
	for _, row := range rows {
		fmt.Fprintf(out, "| %s |\n", strings.Join(row, " | "))
	}
}

// number writes a figure that there may not be.
func number(format string) func(value float64, ok bool) string {
	return func(value float64, ok bool) string {
		if !ok {
			return none
		}
		return fmt.Sprintf(format, value)
	}
}

func titles(targets []target.Target) (titles []string) {
	for _, t := range targets {
		titles = append(titles, t.Title)
	}
	return titles
}

// costRow is a workload and what was measured of it.
type costRow struct {
	workload.Workload
	runs runs
}

// costRows are the workloads whose cost is CPU time.
func costRows(main, memory runs) (rows []costRow) {
	for _, w := range workload.Main() {
		if own := main.of("", w.Name, ""); w.Unit != workload.ByLatency && len(own) > 0 {
			rows = append(rows, costRow{w, own})
		}
	}
	w := workload.OpenStreams(0)
	if own := memory.of("", w.Name, ""); len(own) > 0 {
		w.Title = fmt.Sprintf("%d %s, for 5 s", own[0].Load.Requests, w.Title)
		rows = append(rows, costRow{w, own})
	}
	return rows
}

// compared are the targets of a table: those of the main rounds, else those of the first row.
func compared(rows []costRow, all runs) []target.Target {
	measured := all.kind(measure.KindRun).of(GroupMain, "", "")
	if len(measured) == 0 {
		measured = rows[0].runs
	}
	return measured.targets()
}

// costs is the CPU time of each workload.
func costs(out io.Writer, rows []costRow, all runs) {
	targets := compared(rows, all)
	var cells [][]string
	for _, row := range rows {
		line := []string{row.Title, string(row.Unit)}
		for _, t := range targets {
			line = append(line, number("%.0f")(row.runs.of("", "", t.Name).median(cpu)))
		}
		cells = append(cells, line)
	}
	table(out, "CPU time, µs", append([]string{"workload", "counted by"}, titles(targets)...), cells)
}

// multiples is the cost of each workload in multiples of the reverse proxy.
func multiples(out io.Writer, rows []costRow, all runs) {
	targets := compared(rows, all)
	var cells [][]string
	for _, row := range rows {
		line := []string{row.Title}
		for _, t := range targets {
			line = append(line, number("%.2f")(row.multiple(t.Name)))
		}
		cells = append(cells, line)
	}
	table(out, "CPU time in multiples of Go's ReverseProxy", append([]string{"workload"}, titles(targets)...), cells)
}

// multiple is a target's cost in multiples of the reverse proxy.
func (r costRow) multiple(name string) (float64, bool) {
	return r.runs.of("", "", name).against(r.runs.of("", "", target.ReverseProxy), ratio, cpu)
}

// growth is how the cost grows with the size of what is sent.
func growth(out io.Writer, main runs) {
	if len(main.of("", "prompt200k", "")) == 0 {
		return
	}
	targets := main.targets()
	var rows [][]string
	for _, pair := range []struct{ title, large, small string }{
		{"1 MB prompt over 200 KB prompt", "prompt1m", "prompt200k"},
		{"1 MB image over 200 KB prompt", "image-in", "prompt200k"},
	} {
		row := []string{pair.title}
		for _, t := range targets {
			row = append(row, number("%.2f")(main.of("", pair.large, t.Name).against(main.of("", pair.small, t.Name), ratio, cpu)))
		}
		rows = append(rows, row)
	}
	table(out, "Growth of CPU/request", append([]string{"sizes"}, titles(targets)...), rows)
}

// latencies is what a target adds in an open loop.
func latencies(out io.Writer, main runs) {
	for _, w := range workload.Main() {
		if w.Unit != workload.ByLatency || len(main.of("", w.Name, "")) == 0 {
			continue
		}
		base := main.of("", w.Name, target.Direct)
		var rows [][]string
		for _, t := range main.targets() {
			own := main.of("", w.Name, t.Name)
			row := []string{t.Title, number("%+.3f")(own.against(base, difference, latency))}
			for _, figure := range []func(measure.Record) float64{
				latency,
				func(r measure.Record) float64 { return r.Load.Latency.P90 },
				func(r measure.Record) float64 { return r.Load.Latency.P99 },
				func(r measure.Record) float64 { return r.Load.Latency.P999 },
				func(r measure.Record) float64 { return r.Load.Lag.P99 },
			} {
				row = append(row, number("%.3f")(own.median(figure)))
			}
			rows = append(rows, row)
		}
		table(out, "Latency, "+w.Title+" (ms)", []string{"target", "p50 added", "p50", "p90", "p99", "p99.9", "lag p99"}, rows)
	}
}

// pairs is the cost of translating, in multiples of the gateway's own chat, the first workload.
func pairs(out io.Writer, title string, workloads []workload.Workload, crossed runs) {
	targets := crossed.targets()
	head := []string{"caller → upstream"}
	for _, t := range targets {
		head = append(head, t.Title+", µs", "× own chat")
	}
	var rows [][]string
	for _, w := range workloads {
		row := []string{w.Title}
		for _, t := range targets {
			own := crossed.of("", w.Name, t.Name)
			row = append(row, number("%.0f")(own.median(cpu)), number("%.2f")(own.against(crossed.of("", workloads[0].Name, t.Name), ratio, cpu)))
		}
		rows = append(rows, row)
	}
	table(out, title, head, rows)
}
