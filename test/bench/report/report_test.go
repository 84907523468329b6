package report

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/test/bench/load"
	"github.com/genway/genway/test/bench/measure"
	"github.com/genway/genway/test/bench/target"
	"github.com/genway/genway/test/bench/workload"
)

var update = flag.Bool("update", false, "write testdata")

// records are what a bench of three rounds might have measured: the middle round is
// disturbed, and costs all targets twice as much.
func records() (all []measure.Record) {
	cost := map[string]float64{target.Direct: 10, target.Nginx: 20, target.ReverseProxy: 60, target.BareOne: 70, target.BareTwo: 100, "peer": 300, target.AllInOne: 90, target.TwoProcesses: 130, target.WholeBodies: 140}
	all = append(all, measure.Record{Time: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), Kind: measure.KindSite, Site: &measure.Site{Commit: "0123456789", Go: "go1.26.8", CPU: "a processor", Cores: 2, Kernel: "6.18.5", Rounds: 3, Seconds: 0.5}})
	for _, t := range append(target.All(), target.Target{Name: "peer", Title: "A peer", Peer: &target.Peer{}}) {
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
				if t.Peer != nil {
					r.Title = t.Title
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
				for i, w := range workload.StreamPairs() {
					run(GroupStreams, w, 2+float64(i)/50)
				}
			}
			all = append(all, measure.Record{Kind: measure.KindStart, Target: t.Name, Round: round, StartSeconds: 0.02 * noise, Binary: 30_000_000})
		}
		if t.Peer == nil {
			all = append(all,
				measure.Record{Kind: measure.KindMemory, Workload: "open-streams", Target: t.Name, CPUPer1000: 20 * cost[t.Name], IdleRSS: 20 << 20, PeakRSS: 80 << 20, AfterRSS: 70 << 20, IdleAnonymous: 7 << 20, AfterAnonymous: 50 << 20, Load: &load.Result{Requests: 1000}})
		}
		if t.Gateway {
			all = append(all,
				measure.Record{Kind: measure.KindSoak, Workload: "soak", Target: t.Name, CPU: 90, PeakRSS: 80 << 20, Load: &load.Result{Requests: 2000, Events: 6_000_000, Wall: 300, Errors: map[string]int{"no answer": 1}}})
		}
	}
	for i, f := range target.Features() {
		for round := range 3 {
			noise := 1.0
			if round == 1 {
				noise = 2
			}
			all = append(all, measure.Record{Kind: measure.KindRun, Group: GroupFeatures, Workload: workload.Chat1K().Name, Target: f.Name, Round: round, CPUPer1000: (100 + float64(i*i)) * noise})
		}
	}
	return all
}

// golden compares with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("not as in %s (write it with -update):\n%s", path, got)
	}
}

// The tables and the chart of made-up records are those of testdata.
func TestMarkdown(t *testing.T) {
	var got strings.Builder
	Markdown(&got, records())
	golden(t, "tables.md", got.String())
	golden(t, "chart.svg", string(Chart(records())))
}

// Without records there are no tables, and a chart without bars.
func TestNothing(t *testing.T) {
	var got strings.Builder
	if Markdown(&got, nil); got.Len() > 0 {
		t.Error(got.String())
	}
	if chart := string(Chart(nil)); !strings.HasPrefix(chart, "<svg ") || !strings.HasSuffix(chart, "</svg>\n") {
		t.Error(chart)
	}
}

// The tables replace what a document has between its marks, and nothing else; docs/performance.md
// has the marks.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "performance.md"))
	if err != nil {
		t.Fatal(err)
	}
	once, err := Document(text, records(), "performance.svg")
	if err != nil {
		t.Fatal(err)
	}
	twice, err := Document(once, records(), "performance.svg")
	if err != nil || !bytes.Equal(once, twice) {
		t.Errorf("written twice it is another document: %v", err)
	}
	before, _, _ := strings.Cut(string(text), beginMark)
	_, after, _ := strings.Cut(string(text), endMark)
	if !strings.HasPrefix(string(once), before) || !strings.HasSuffix(string(once), after) || !strings.Contains(string(once), "| chat, 1 KB, 32 connections | 0.17 |") {
		t.Errorf("%.4000s", once)
	}
	for _, without := range []string{"", beginMark, endMark, endMark + beginMark} {
		if _, err := Document([]byte(without), records(), "x.svg"); err == nil {
			t.Errorf("%q was written", without)
		}
	}
}

// A disturbance of a whole round cancels out of the multiples.
func TestMultiplesAreOfTheSameRound(t *testing.T) {
	all := runs(records())
	own := all.of(GroupMain, "chat", target.AllInOne)
	got, ok := own.against(all.of(GroupMain, "chat", target.ReverseProxy), ratio, cpu)
	if !ok || got != 1.5 {
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

// Rows that are dearer than in a document are named, with their table; what is cheaper, new or gone is not.
func TestCompare(t *testing.T) {
	document, err := Document([]byte(beginMark+endMark), records(), "x.svg")
	if err != nil {
		t.Fatal(err)
	}
	var same strings.Builder
	Compare(&same, document, records())
	if !strings.Contains(same.String(), "No row is dearer") {
		t.Error(same.String())
	}
	dearer := records()
	for i := range dearer {
		switch r := &dearer[i]; {
		case r.Target != target.AllInOne:
		case r.Workload == "chat" && r.Group == GroupMain:
			r.CPUPer1000 *= 1.06
		case r.Workload == "stream":
			r.CPUPer1000 *= 1.04
		case r.Workload == "open-streams":
			r.IdleRSS, r.CPUPer1000 = r.IdleRSS*2, r.CPUPer1000/2
		case r.Kind == measure.KindStart:
			r.StartSeconds *= 3
		}
	}
	var got strings.Builder
	Compare(&got, document, dearer)
	golden(t, "compared.md", got.String())
	var nothing strings.Builder
	Compare(&nothing, nil, dearer)
	if !strings.Contains(nothing.String(), "No row is dearer") {
		t.Error(nothing.String())
	}
}
