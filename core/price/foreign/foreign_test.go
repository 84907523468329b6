package foreign_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/genway/genway/core/price"
	"github.com/genway/genway/core/price/foreign"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write the goldens")

// Each golden is a catalogue of another's, the rows it becomes and what is reported of the
// rest. The first line chooses: the format, then providers.
func TestGoldens(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			words := strings.Fields(string(archive.Comment))
			var options foreign.Options
			for _, w := range words[1:] {
				if day, ok := strings.CutPrefix(w, "@"); ok {
					if options.From, err = price.ParseDay(day); err != nil {
						t.Fatal(err)
					}
					continue
				}
				name, upstream, _ := strings.Cut(w, "=")
				options.Providers = append(options.Providers, foreign.Provider{Name: name, Upstream: upstream})
			}
			read := map[string]func([]byte, foreign.Options) ([]price.Row, *foreign.Report, error){"litellm": foreign.LiteLLM, "models.dev": foreign.ModelsDev}[words[0]]
			rows, report, err := read(archive.Files[0].Data, options)
			if err != nil {
				t.Fatal(err)
			}
			var yaml strings.Builder
			if err := price.Write(&yaml, rows); err != nil {
				t.Fatal(err)
			}
			got := []string{yaml.String(), strings.Join(report.Lines(2), "\n") + "\n"}
			if *update {
				archive.Files = append(archive.Files[:1], txtar.File{Name: "prices.yaml", Data: []byte(got[0])}, txtar.File{Name: "report", Data: []byte(got[1])})
				if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			for i, g := range got {
				if diff := cmp.Diff(string(archive.Files[i+1].Data), g); diff != "" {
					t.Errorf("%s (-want +got):\n%s", archive.Files[i+1].Name, diff)
				}
			}
			if _, err := price.Parse("prices.yaml", []byte(got[0])); err != nil {
				t.Errorf("it is no catalogue: %v", err)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		name, text, says string
		options          foreign.Options
		read             func([]byte, foreign.Options) ([]price.Row, *foreign.Report, error)
	}{
		{"no JSON", `{`, "it is no api.json", foreign.Options{}, foreign.ModelsDev},
		{"no JSON either", `[]`, "it is no model_prices", foreign.Options{}, foreign.LiteLLM},
		{"a model twice", `{"a": {}, "a": {}}`, "it is no model_prices", foreign.Options{}, foreign.LiteLLM},
		{"two prices for one", `{"a": {"models": {"m": {"cost": {"input": 1, "output": 2}}}}, "b": {"models": {"m": {"cost": {"input": 2, "output": 2}}}}}`,
			`a/m and b/m have different prices and would both be for model "m"`, foreign.Options{Providers: []foreign.Provider{{Name: "a"}, {Name: "b"}}}, foreign.ModelsDev},
	} {
		if _, _, err := c.read([]byte(c.text), c.options); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// Whatever the bytes, what comes out is a catalogue.
func FuzzForeign(f *testing.F) {
	f.Add([]byte(`{"a": {"mode": "chat", "input_cost_per_token": 1e-6, "output_cost_per_token": "2e-6", "input_cost_per_token_above_200k_tokens": 3e-6}}`))
	f.Add([]byte(`{"hd/1-x-1/a": {"input_cost_per_pixel": 1e-9}, "b": {"tiered_pricing": [{"range": [0, 5], "input_cost_per_token": 1}]}}`))
	f.Add([]byte(`{"a": {"input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6, "input_cost_per_token_above_9k_tokens_priority": 3e-6, "file_search_cost_per_1k_calls": 2.5,
		"provider_specific_entry": {"fast": 2.0, "us": 1.1}, "search_context_cost_per_query": {"search_context_size_low": 0.03, "search_context_size_medium": 0.035}}}`))
	f.Add([]byte(`{"a": {"models": {"m": {"cost": {"input": 1, "output": 2}, "experimental": {"modes": {"fast": {"cost": {"input": 3}, "provider": {"body": {"service_tier": "fast", "speed": "fast"}}}}}}}}}`))
	f.Add([]byte(`{"a": {"models": {"m": {"cost": {"input": 1, "output": 2, "tiers": [{"input": 3, "tier": {"type": "context", "size": 5}}]}}}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, read := range []func([]byte, foreign.Options) ([]price.Row, *foreign.Report, error){foreign.LiteLLM, foreign.ModelsDev} {
			rows, _, err := read(text, foreign.Options{})
			if err != nil {
				continue
			}
			if _, err := price.New(rows); err != nil {
				t.Errorf("%v", err)
			}
		}
	})
}
