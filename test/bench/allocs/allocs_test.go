package allocs

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const output = `goos: linux
pkg: github.com/genway/genway/codec/chat
BenchmarkDecodeRequest/2KB      	      50	     81230 ns/op	  25.03 MB/s	   12500 B/op	     101 allocs/op
BenchmarkDecodeRequest/2KB      	      50	     71230 ns/op	  25.03 MB/s	   12400 B/op	     100 allocs/op
BenchmarkStreamEncode           	      50	     71230 ns/op	  320.1 ns/event	       0 B/op	       0 allocs/op
PASS
ok  	github.com/genway/genway/codec/chat	1.2s
pkg: github.com/genway/genway/core/keys
BenchmarkAuthenticate           	    2000	       812.0 ns/op	     112 B/op	       3 allocs/op
`

var baseline = Figures{
	"codec/chat BenchmarkDecodeRequest/2KB": {100, 12400},
	"codec/chat BenchmarkStreamEncode":      {0, 0},
	"core/keys BenchmarkAuthenticate":       {3, 112},
}

// Figures are read per package, the least of each, and a baseline is read as written.
func TestParse(t *testing.T) {
	got, err := Parse([]byte(output))
	if err != nil || !maps.Equal(got, baseline) {
		t.Errorf("%v, %v", got, err)
	}
	again, err := ReadBaseline(got.Format())
	if err != nil || !maps.Equal(again, got) {
		t.Errorf("%v, %v", again, err)
	}
	if _, err := Parse([]byte("BenchmarkX 1 2 ns/op\n")); err == nil {
		t.Error("figures without allocations")
	}
	for _, bad := range []string{"a b c\n", "a b 1 x\n", "a b x 1\n"} {
		if _, err := ReadBaseline([]byte(bad)); err == nil {
			t.Errorf("read %q", bad)
		}
	}
}

// A figure fails when it grows by more than its tolerance.
func TestCompare(t *testing.T) {
	for name, c := range map[string]struct {
		got    Figures
		worse  []string
		better int
	}{
		"the same":        {Figures{"a": {100, 1000}, "z": {0, 0}}, nil, 0},
		"within":          {Figures{"a": {102, 1030}, "z": {0, 0}}, nil, 0},
		"one more":        {Figures{"a": {103, 1000}, "z": {0, 0}}, []string{"103 allocations, the baseline has 100 (+3.0%)"}, 0},
		"more bytes":      {Figures{"a": {100, 1080}, "z": {0, 0}}, []string{"1080 bytes, the baseline has 1000 (+8.0%)"}, 0},
		"more than none":  {Figures{"a": {100, 1000}, "z": {1, 8}}, []string{"1 allocations, the baseline has 0", "8 bytes, the baseline has 0"}, 0},
		"less":            {Figures{"a": {50, 500}, "z": {0, 0}}, nil, 2},
		"unknown":         {Figures{"a": {100, 1000}, "b": {1, 1}, "z": {0, 0}}, []string{"is not in the baseline"}, 0},
		"one is not run":  {Figures{"a": {100, 1000}}, []string{"did not run"}, 0},
		"small by one":    {Figures{"a": {101, 1000}, "z": {0, 0}}, nil, 0},
		"one more of few": {Figures{"a": {100, 1000}, "few": {11, 100}, "z": {0, 0}}, []string{"11 allocations, the baseline has 10"}, 0},
		"both at a time":  {Figures{"a": {200, 2000}, "z": {0, 0}}, []string{"200 allocations", "2000 bytes"}, 0},
		"nothing was run": {Figures{}, []string{"did not run", "did not run"}, 0},
	} {
		base := Figures{"a": {100, 1000}, "z": {0, 0}}
		if _, few := c.got["few"]; few {
			base["few"] = Figure{10, 100}
		}
		better := 0
		var worse []string
		for _, f := range append(Compare(c.got, base, 0.02), Missing(c.got, base)...) {
			if f.Better {
				better++
			} else {
				worse = append(worse, f.What)
			}
		}
		if better != c.better || len(worse) != len(c.worse) {
			t.Errorf("%s: %q, %d better", name, worse, better)
			continue
		}
		for i, want := range c.worse {
			if !strings.Contains(worse[i], want) {
				t.Errorf("%s: %q, want %q", name, worse[i], want)
			}
		}
	}
}

// A suite fails on a regression that is seeded into a module of our own, and passes
// without it.
func TestSeededRegression(t *testing.T) {
	suite := Suite{Packages: []string{"./hot"}, Benchmarks: "^BenchmarkStage$", Iterations: 20, Tolerance: 0.01}
	measure := func(allocations string) Figures {
		root := t.TempDir()
		for name, text := range map[string]string{
			"go.mod":            "module github.com/genway/genway\n\ngo 1.26.0\n",
			"hot/hot.go":        "// Package hot is hot.\npackage hot\n\nvar Sink [][]byte\n\nfunc Stage() {\n\tSink = Sink[:0]\n\tfor range " + allocations + " {\n\t\tSink = append(Sink, make([]byte, 64))\n\t}\n}\n",
			"hot/stage_test.go": "package hot\n\nimport \"testing\"\n\nfunc BenchmarkStage(b *testing.B) {\n\tfor b.Loop() {\n\t\tStage()\n\t}\n}\n",
		} {
			path := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		figures, err := suite.Run(t.Context(), root)
		if err != nil {
			t.Fatal(err)
		}
		return figures
	}
	good := measure("20")
	if findings := Compare(measure("20"), good, suite.Tolerance); len(findings) > 0 {
		t.Errorf("nothing changed: %v", findings)
	}
	findings := Compare(measure("22"), good, suite.Tolerance)
	if len(findings) == 0 || findings[0].Better || findings[0].Name != "hot BenchmarkStage" {
		t.Errorf("two allocations more: %v", findings)
	}
}

// The suites are of benchmarks that are in the baseline, and it of theirs: each package
// has a line.
func TestSuitesHaveBaselines(t *testing.T) {
	text, err := os.ReadFile("baseline.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range Suites() {
		for _, pkg := range s.Packages {
			if !strings.Contains(string(text), "\n"+strings.TrimPrefix(pkg, "./")+" Benchmark") {
				t.Errorf("no baseline of %s", pkg)
			}
		}
	}
}
