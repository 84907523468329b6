package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestModels(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	write("own.yaml", `models: [{model: "claude-opus-4-7*", refuses: [], context: 5}]`)
	write("prices.yaml", "prices: [{model: claude-opus-4-7, input: 5, output: 25}]")
	file := write("genway.yaml", `catalog: own.yaml
prices: prices.yaml
upstreams:
  claude: {kind: messages, provider: anthropic, api_key: k}
  local: {kind: chat, base_url: "http://127.0.0.1/v1", models: [my-model, gpt-x]}
routes:
  - {model: best, targets: [{upstream: claude, model: claude-opus-4-7, fit: true}], fallback: [{upstream: local, model: gpt-4o}]}
  - {model: "gpt-*", targets: [{upstream: local}]}
  - {model: "o3*", targets: [{upstream: local}]}
`)
	var out strings.Builder
	if err := (&listModels{Config: file}).Run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.SplitSeq(strings.TrimSpace(out.String()), "\n") {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	const want = `MODEL UPSTREAM MODEL THERE CONTEXT OUTPUT READS WRITES REFUSES THINKING TOOLS SCHEMAS PRICE
best claude claude-opus-4-7 5 128000 text,image,document text none adaptive,effort yes ? claude-opus-4-7#54be72f6
best local gpt-4o 128000 16384 text,image,document text ? none yes ? none
gpt-x local gpt-x ? ? ? ? ? ? ? ? none
o3* local o3* 200000 100000 ? ? temperature,top_p,frequency_penalty,presence_penalty,logprobs,top_logprobs effort ? ? none`
	if joined := strings.Join(got, "\n"); joined != want {
		t.Errorf("got\n%s\nwant\n%s", joined, want)
	}
	bad := write("bad.yaml", "catalog: none.yaml\nroutes: [{model: \"*\", targets: [{upstream: sandbox}]}]\n")
	if err := (&listModels{Config: bad}).Run(t.Context(), &out); err == nil || !strings.Contains(err.Error(), "none.yaml") {
		t.Errorf("got %v", err)
	}
	if err := (&checkConfig{File: bad}).Run(t.Context(), &out); err == nil || !strings.Contains(err.Error(), "none.yaml") {
		t.Errorf("config check: got %v", err)
	}
	fit := write("fit.yaml", "upstreams: {a: {kind: chat, base_url: http://x}}\nroutes: [{model: \"*\", targets: [{upstream: a, fit: true}]}]\n")
	if err := (&checkConfig{File: fit}).Run(t.Context(), &out); err == nil || !strings.Contains(err.Error(), "the route is a glob; name the target's model") {
		t.Errorf("config check: got %v", err)
	}
}

func TestModelsImport(t *testing.T) {
	file := filepath.Join(t.TempDir(), "api.json")
	if err := os.WriteFile(file, []byte(`{"a": {"models": {"m": {"limit": {"context": 9}}, "x*": {}}}, "b": {"models": {"n": {}}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, stderr strings.Builder
	if err := (&importModels{Format: "models.dev", Provider: []string{"a"}, File: file, stderr: &stderr}).Run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	if out.String() != "models:\n  - {model: m, context: 9, source: \"models.dev, a\"}\n" || stderr.String() != "not taken, a pattern: 1 (a/x*)\n1 models\n" {
		t.Errorf("printed %q, stderr %q", out.String(), stderr.String())
	}
	if err := (&importModels{Format: "models.dev", Provider: []string{"c"}, File: file, stderr: &stderr}).Run(t.Context(), &out); err == nil || !strings.Contains(err.Error(), "no models in it of these providers") {
		t.Errorf("got %v", err)
	}
}
