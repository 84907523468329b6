package measure_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/genway/genway/test/bench/measure"
	"github.com/genway/genway/test/bench/process"
	"github.com/genway/genway/test/bench/target"
	"github.com/genway/genway/test/bench/upstream"
	"github.com/genway/genway/test/bench/workload"
	"go.uber.org/goleak"
)

// TestMain is also the upstream and the proxy, which are started as bench starts them.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 {
		switch os.Args[1] {
		case target.UpstreamCommand:
			fail(upstream.New(upstream.Defaults()).Listen(context.Background(), os.Args[3]))
		case target.ProxyCommand:
			fail(target.ServeProxy(context.Background(), os.Args[3], os.Args[5]))
		}
	}
	goleak.VerifyTestMain(m)
}

func fail(err error) {
	os.Stderr.WriteString(err.Error())
	os.Exit(1)
}

// open returns a bench of targets on one core, and what it has recorded.
func open(t *testing.T, targets []target.Target) (b *measure.Bench, records func() []measure.Record) {
	t.Helper()
	cores, err := process.Cores()
	if err != nil {
		t.Fatal(err)
	}
	var results bytes.Buffer
	b, err = measure.New(t.Context(), measure.Config{
		Targets: targets, Dir: t.TempDir(), Self: os.Args[0], LoadCore: cores[0], TargetCore: cores[len(cores)-1],
		Duration: 50 * time.Millisecond, Warm: 10 * time.Millisecond, MaxOthers: 100, Tries: 1, Results: &results, Log: io.Discard,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b, func() (records []measure.Record) {
		for decoder := json.NewDecoder(&results); decoder.More(); {
			var r measure.Record
			if err := decoder.Decode(&r); err != nil {
				t.Fatal(err)
			}
			records = append(records, r)
		}
		return records
	}
}

func named(t *testing.T, names ...string) []target.Target {
	t.Helper()
	targets, err := target.Named(names)
	if err != nil {
		t.Fatal(err)
	}
	return targets
}

// Targets take turns in each round, and each run has its cost.
func TestRounds(t *testing.T) {
	b, records := open(t, named(t, target.Direct, target.ReverseProxy))
	if err := b.Startup(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	stream := workload.Open("open", "", 3, 300*time.Millisecond)
	if err := b.Rounds(t.Context(), "g", []workload.Workload{workload.Chat1K(), stream}, 2, false); err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, r := range records() {
		if r.Kind == measure.KindStart {
			if r.StartSeconds <= 0 || r.Binary <= 0 {
				t.Errorf("%+v", r)
			}
			continue
		}
		order = append(order, r.Workload+" "+r.Target)
		if r.CPU <= 0 || r.CPUPer1000 <= 0 || r.PeakRSS <= 0 || r.Load.Requests == 0 || r.Load.Failed() > 0 || r.Group != "g" || r.Tries != 1 {
			t.Errorf("%+v %+v", r, r.Load)
		}
		if r.Workload == "open" && r.Load.Events != 3*(3+4) {
			t.Errorf("%d events", r.Load.Events)
		}
	}
	round := []string{"chat direct", "chat reverseproxy", "open direct", "open reverseproxy"}
	for i, want := range append(round, round...) {
		if i >= len(order) || order[i] != want {
			t.Fatalf("turns %q", order)
		}
	}
}

// Memory and long streams are asked of gateways; any target can stand for one.
func TestMemoryAndSoak(t *testing.T) {
	gateway := named(t, target.ReverseProxy)
	gateway[0].Gateway = true
	b, records := open(t, gateway)
	if err := b.Memory(t.Context(), measure.MemoryConfig{Rounds: 1, Streams: 20, Pictures: 2, Collect: time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	if err := b.Soak(t.Context(), 10, time.Second); err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"image-out": 400, "open-streams": 20, "pictures": 2, "soak": 10}
	for _, r := range records() {
		if r.Load.Requests != want[r.Workload] || r.IdleRSS <= 0 || r.PeakRSS < r.IdleRSS || r.AfterRSS <= 0 ||
			r.IdleAnonymous <= 0 || r.IdleAnonymous >= r.IdleRSS || r.AfterAnonymous <= 0 || r.AfterAnonymous >= r.AfterRSS {
			t.Errorf("%+v %+v", r, r.Load)
		}
		delete(want, r.Workload)
	}
	if len(want) > 0 {
		t.Errorf("no record of %v", want)
	}
}

// A target that does not come up is an error with its output.
func TestFailure(t *testing.T) {
	broken := target.Target{Name: "broken", Prepare: func(context.Context, target.Site) (*target.Plan, error) {
		return &target.Plan{Address: "127.0.0.1:1", Commands: []process.Command{{Path: "/bin/false"}}}, nil
	}}
	b, _ := open(t, []target.Target{broken})
	if err := b.Startup(t.Context(), 1); err == nil {
		t.Error("started")
	}
}

// Any target that was named holds long streams, as a yardstick of the gateways.
func TestSoakOfOtherTargets(t *testing.T) {
	b, records := open(t, named(t, target.Direct, target.ReverseProxy))
	if err := b.Soak(t.Context(), 5, 200*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, r := range records() {
		order = append(order, r.Target)
		if r.Kind != measure.KindSoak || r.Load.Requests != 5 || r.Load.Failed() > 0 || r.CPU <= 0 || r.PeakRSS <= 0 {
			t.Errorf("%+v %+v", r, r.Load)
		}
	}
	if want := []string{target.Direct, target.ReverseProxy}; !slices.Equal(order, want) {
		t.Errorf("targets %q, want %q", order, want)
	}
}
