package report

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/genway/genway/bench/load"
	"github.com/genway/genway/bench/measure"
	"github.com/genway/genway/bench/target"
	"github.com/genway/genway/bench/workload"
)

var update = flag.Bool("update", false, "write testdata")

// records are what a bench of three rounds might have measured: the middle round is
// disturbed, and costs all targets twice as much.
func records() (all []measure.Record) {
	cost := map[string]float64{target.Direct: 10, target.Nginx: 20, "reverseproxy": 60, target.AllInOne: 90, target.TwoProcesses: 130, target.WholeBodies: 140}
	for _, t := range target.All() {
		for round := range 3 {
			noise := 1.0
			if round == 1 {
				noise = 2
			}
			run := func(group string, w workload.Workload, times float64) {
				cpu := cost[t.Name] * noise * times
				r := measure.Record{Kind: measure.KindRun, Group: group, Workload: w.Name, Target: t.Name, Round: round,
					CPUPer1000: cpu, CPU: cpu / 1e6 * 1000, PeakRSS: 30 << 20,
					Load: &load.Result{Requests: 1000, RPS: 1e6 / cpu, Latency: load.Percentiles{P50: cpu / 1000, P99: cpu / 100}}}
				if w.Stream {
					r.Load.Events = 200_000
				}
				all = append(all, r)
			}
			for i, w := range workload.Main() {
				run(GroupMain, w, float64(i+1))
			}
			if t.Gateway {
				for i, w := range workload.Pairs() {
					run(GroupPairs, w, 1+float64(i)/100)
				}
			}
			all = append(all, measure.Record{Kind: measure.KindStart, Target: t.Name, Round: round, StartSeconds: 0.02 * noise, Binary: 30_000_000})
		}
		if t.Gateway {
			all = append(all,
				measure.Record{Kind: measure.KindMemory, Workload: "open-streams", Target: t.Name, IdleRSS: 20 << 20, PeakRSS: 80 << 20, AfterRSS: 70 << 20, Load: &load.Result{Requests: 1000}},
				measure.Record{Kind: measure.KindSoak, Workload: "soak", Target: t.Name, CPU: 90, PeakRSS: 80 << 20, Load: &load.Result{Requests: 2000, Events: 6_000_000, Wall: 300, Errors: map[string]int{"no answer": 1}}})
		}
	}
	for i, t := range target.Telemetry() {
		for round := range 3 {
			noise := 1.0
			if round == 1 {
				noise = 2
			}
			all = append(all, measure.Record{Kind: measure.KindRun, Group: GroupTelemetry, Workload: workload.Chat1K().Name, Target: t.Name, Round: round, CPUPer1000: (100 + float64(i*i)) * noise})
		}
	}
	return all
}

// The tables of made-up records are those of testdata.
func TestMarkdown(t *testing.T) {
	var got strings.Builder
	Markdown(&got, records())
	golden := filepath.Join("testdata", "tables.md")
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("tables differ from %s (write it with -update):\n%s", golden, got.String())
	}
}

// A disturbance of a whole round cancels out of the multiples.
func TestMultiplesAreOfTheSameRound(t *testing.T) {
	all := runs(records())
	own := all.of(GroupMain, "chat", target.AllInOne)
	got, ok := own.against(all.of(GroupMain, "chat", target.Nginx), ratio, cpu)
	if !ok || got != 4.5 {
		t.Errorf("%v, %v", got, ok)
	}
	if _, ok := own.against(nil, ratio, cpu); ok {
		t.Error("a multiple of nothing")
	}
}

// Medians: of an even number the middle of the two in the middle.
func TestMedian(t *testing.T) {
	if got, ok := medianOf([]float64{4, 1, 3, 2}); !ok || got != 2.5 {
		t.Errorf("%v", got)
	}
	if _, ok := medianOf(nil); ok {
		t.Error("a median of nothing")
	}
}
