package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// file writes a file of a test.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPricesCheckAndShow(t *testing.T) {
	good := file(t, "prices.yaml", `
prices:
  - {model: m, input: 3, output: 15, cache_read: 0.30, tiers: [{above: 200000, input: 6, output: 22.50}]}
  - {model: m, from: 2099-01-01, input: 1, output: 1}
  - {model: draw, upstream: u, image: 0.04, images: [{quality: hd, price: 0.08}]}
`)
	var out strings.Builder
	if err := (&checkPrices{File: good}).Run(t.Context(), &out); err != nil || out.String() != good+" is good: 3 prices\n" {
		t.Errorf("%s%v", &out, err)
	}
	bad := file(t, "bad.yaml", "prices:\n  - {model: m, inputt: 3, output: 15}\n")
	if err := (&checkPrices{File: bad}).Run(t.Context(), &out); err == nil || !strings.Contains(err.Error(), bad+`:2:16: unknown key "inputt" in prices[0]; did you mean "input"?`) {
		t.Errorf("%v", err)
	}
	out.Reset()
	if err := (&showPrice{File: good, Model: "m"}).Run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(out.String(), "\n")
	if want := `$ PER MILLION    TOKENS  ABOVE 200000
input            3       6
output           15      22.5
cache read       0.3     0.3
cache write      3       6
cache write 30m  3       6
cache write 1h   3       6
cache write 12h  3       6
input audio      3       6
input image      3       6
output audio     15      22.5
output image     15      22.5
thinking         15      22.5
`; table != want {
		t.Errorf("got\n%swant\n%s", table, want)
	}
	out.Reset()
	if err := (&showPrice{File: good, Upstream: "u", Model: "draw"}).Run(t.Context(), &out); err != nil || !strings.Contains(out.String(), "\nan image         0.04\nan image hd      0.08\n") {
		t.Errorf("%s%v", &out, err)
	}
	out.Reset()
	later := moment{time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)}
	if err := (&showPrice{File: good, Model: "m", At: later}).Run(t.Context(), &out); err != nil || !strings.Contains(out.String(), "m@2099-01-01#") {
		t.Errorf("%s%v", &out, err)
	}
	if err := (&showPrice{File: good, Model: "draw", At: later}).Run(t.Context(), &out); err == nil || !strings.Contains(err.Error(), "has no price for draw at - on 2099-01-01") {
		t.Errorf("%v", err)
	}
}

// An import writes a file that is valid, and reports what it did not take.
func TestPricesImport(t *testing.T) {
	catalogue := file(t, "api.json", `{"openai": {"models": {"m": {"cost": {"input": 1.25, "output": 10, "per_minute": 1}}, "n": {}}}, "other": {"models": {"m": {"cost": {"input": 2, "output": 3}}}}}`)
	var out, stderr strings.Builder
	command := importPrices{Format: "models.dev", Provider: []string{"openai", "other=cheap"}, From: "2026-01-01", File: catalogue, stderr: &stderr}
	if err := command.Run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	if want := "prices:\n  - {model: m, from: 2026-01-01, input: 1.25, output: 10}\n  - {model: m, upstream: cheap, from: 2026-01-01, input: 2, output: 3}\n"; out.String() != want {
		t.Errorf("got\n%swant\n%s", &out, want)
	}
	if want := "not taken, 1: no cost (openai/n)\nin part, 1: cost.per_minute (openai/m)\n2 prices\n"; stderr.String() != want {
		t.Errorf("stderr\n%swant\n%s", &stderr, want)
	}
	if err := (&checkPrices{File: file(t, "prices.yaml", out.String())}).Run(t.Context(), &out); err != nil {
		t.Error(err)
	}
	for says, command := range map[string]importPrices{
		"write NAME or NAME=UPSTREAM":              {Format: "models.dev", Provider: []string{"a="}, File: catalogue},
		`--from: "soon" is no day`:                 {Format: "models.dev", From: "soon", File: catalogue},
		"there are no prices in it of these":       {Format: "models.dev", Provider: []string{"nobody"}, File: catalogue},
		"no such file":                             {Format: "models.dev", File: catalogue + "x"},
		"different prices and would both be for":   {Format: "models.dev", Provider: []string{"openai", "other"}, File: catalogue},
		"it is no model_prices_and_context_window": {Format: "litellm", File: file(t, "x.json", "[]")},
	} {
		if err := command.Run(t.Context(), &out); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %s", err, says)
		}
	}
}
