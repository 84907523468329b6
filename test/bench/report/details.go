package report

import (
	"fmt"
	"io"
	"strconv"

	"github.com/genway/genway/test/bench/measure"
	"github.com/genway/genway/test/bench/target"
	"github.com/genway/genway/test/bench/workload"
)

// details are the figures behind the multiples.
func details(out io.Writer, main runs) {
	head := []string{"workload", "target", "CPU ms per 1,000", "RPS", "p50 ms", "p90", "p99", "p99.9", "first event ms", "events/s", "events/CPU-s", "peak RSS MB", "errors", "others' cores"}
	var rows [][]string
	for _, w := range workload.Main() {
		for _, t := range main.targets() {
			own := main.of("", w.Name, t.Name)
			if len(own) == 0 {
				continue
			}
			figure := func(format string, figure func(measure.Record) float64) string {
				return number(format)(own.median(figure))
			}
			events := func(format string, f func(measure.Record) float64) string {
				if !w.Stream {
					return none
				}
				return figure(format, f)
			}
			failed := 0
			for _, r := range own {
				failed += r.Load.Failed()
			}
			rows = append(rows, []string{
				w.Name, t.Title,
				figure("%.1f", cpu),
				figure("%.0f", func(r measure.Record) float64 { return r.Load.RPS }),
				figure("%.2f", latency),
				figure("%.2f", func(r measure.Record) float64 { return r.Load.Latency.P90 }),
				figure("%.2f", func(r measure.Record) float64 { return r.Load.Latency.P99 }),
				figure("%.2f", func(r measure.Record) float64 { return r.Load.Latency.P999 }),
				events("%.2f", func(r measure.Record) float64 { return r.Load.First.P50 }),
				events("%.0f", func(r measure.Record) float64 { return r.Load.EventsPerSecond }),
				events("%.0f", perCPU),
				figure("%.1f", func(r measure.Record) float64 { return float64(r.PeakRSS) / (1 << 20) }),
				strconv.Itoa(failed),
				figure("%.2f", func(r measure.Record) float64 { return r.Others }),
			})
		}
	}
	table(out, "Figures (medians)", head, rows)
}

func memories(out io.Writer, memory runs) {
	megabytes := func(figure func(measure.Record) int64) func(measure.Record) float64 {
		return func(r measure.Record) float64 { return float64(figure(r)) / (1 << 20) }
	}
	var rows [][]string
	for _, t := range memory.targets() {
		for _, w := range []struct{ name, title string }{
			{"image-out", "1.5 MB images, 8 at once"}, {"open-streams", "streams open at once"}, {"pictures", "20 MB images, 8 at once, then small requests"},
		} {
			own := memory.of("", w.name, t.Name)
			if len(own) == 0 || t.Name == target.Direct {
				continue
			}
			idle := megabytes(func(r measure.Record) int64 { return r.IdleRSS })
			peak := megabytes(func(r measure.Record) int64 { return r.PeakRSS })
			after := megabytes(func(r measure.Record) int64 { return r.AfterRSS })
			rows = append(rows, []string{
				t.Title, fmt.Sprintf("%d %s", own[0].Load.Requests, w.title),
				number("%.1f")(own.median(idle)), number("%.1f")(own.median(peak)),
				number("%+.1f")(own.median(func(r measure.Record) float64 { return peak(r) - idle(r) })),
				number("%.1f")(own.median(after)),
				number("%.1f")(own.median(megabytes(func(r measure.Record) int64 { return r.IdleAnonymous }))),
				number("%.1f")(own.median(megabytes(func(r measure.Record) int64 { return r.AfterAnonymous }))),
			})
		}
	}
	table(out, "Memory of a process newly started (RSS, MB of 2^20 bytes)", []string{"target", "asked for", "idle", "peak", "added", "after", "idle, anonymous", "after, anonymous"}, rows)
}

func starts(out io.Writer, started runs) {
	var rows [][]string
	for _, t := range started.targets() {
		own := started.of("", "", t.Name)
		rows = append(rows, []string{
			t.Title,
			number("%.0f")(own.median(func(r measure.Record) float64 { return r.StartSeconds * 1000 })),
			number("%.1f")(own.median(func(r measure.Record) float64 { return float64(r.Binary) / 1e6 })),
		})
	}
	table(out, "Start and size", []string{"target", "start to first answer, ms", "binaries, MB of 10^6 bytes"}, rows)
}

func soaks(out io.Writer, soaked runs) {
	var rows [][]string
	for _, r := range soaked {
		rows = append(rows, []string{
			r.Target, strconv.Itoa(r.Load.Requests), strconv.FormatInt(r.Load.Events, 10), strconv.Itoa(r.Load.Failed()),
			fmt.Sprintf("%.0f", r.Load.Wall), fmt.Sprintf("%.2f", r.CPU/r.Load.Wall), fmt.Sprintf("%.1f", float64(r.PeakRSS)/(1<<20)),
		})
	}
	table(out, "Streams for a long time", []string{"target", "whole streams", "events", "errors", "seconds", "cores", "peak RSS MB"}, rows)
}
