package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/genway/genway/bench/measure"
	"github.com/genway/genway/bench/target"
	"github.com/genway/genway/bench/workload"
)

// The groups of rounds.
const (
	GroupMain      = "main"
	GroupPairs     = "pairs"
	GroupTelemetry = "telemetry"
)

// none stands where nothing was measured.
const none = "–"

// Markdown writes the tables of what the records have.
func Markdown(out io.Writer, records []measure.Record) {
	all := runs(records)
	main := all.kind(measure.KindRun).of(GroupMain, "", "")
	if len(main) > 0 {
		multiples(out, main)
		growth(out, main)
		latencies(out, main)
		details(out, main)
	}
	if crossed := all.kind(measure.KindRun).of(GroupPairs, "", ""); len(crossed) > 0 {
		pairs(out, crossed)
	}
	if observed := all.kind(measure.KindRun).of(GroupTelemetry, "", ""); len(observed) > 0 {
		telemetry(out, observed)
	}
	if memory := all.kind(measure.KindMemory); len(memory) > 0 {
		memories(out, memory)
	}
	if started := all.kind(measure.KindStart); len(started.targets()) > 0 {
		starts(out, started)
	}
	if soaked := all.kind(measure.KindSoak); len(soaked) > 0 {
		soaks(out, soaked)
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

// multiples is the cost of each workload in multiples of nginx.
func multiples(out io.Writer, main runs) {
	targets := main.targets()
	head := append([]string{"workload", "counted by", "nginx"}, titles(targets)...)
	var rows [][]string
	for _, w := range workload.Main() {
		if w.Unit == workload.ByLatency || len(main.of("", w.Name, "")) == 0 {
			continue
		}
		figure, unit := cpu, "%.0f µs"
		if w.Unit == workload.ByEvent {
			figure, unit = perCPU, "%.0f"
		}
		base := main.of("", w.Name, target.Nginx)
		row := []string{w.Title, string(w.Unit), number(unit)(base.median(figure))}
		for _, t := range targets {
			row = append(row, number("%.2f")(main.of("", w.Name, t.Name).against(base, ratio, figure)))
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return
	}
	table(out, "Cost in multiples of nginx", head, rows)
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

// pairs is the cost of translating, in multiples of the gateway's own chat.
func pairs(out io.Writer, crossed runs) {
	targets := crossed.targets()
	chat := workload.Chat1K()
	head := []string{"caller → upstream"}
	for _, t := range targets {
		head = append(head, t.Title+", µs", "× own chat")
	}
	var rows [][]string
	for _, w := range workload.Pairs() {
		row := []string{w.Title}
		for _, t := range targets {
			own := crossed.of("", w.Name, t.Name)
			row = append(row, number("%.0f")(own.median(cpu)), number("%.2f")(own.against(crossed.of("", chat.Name, t.Name), ratio, cpu)))
		}
		rows = append(rows, row)
	}
	table(out, "Protocols, 1 KB, 32 connections, CPU/request", head, rows)
}
