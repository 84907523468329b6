package config_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/core/config"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

const full = `
upstreams:
  openai: {kind: responses, base_url: "https://api.example/v1", api_key: "${KEY}"}
  local:
    kind: chat
    base_url: http://127.0.0.1:11434
    headers: {x-team: "a$$b"}
    first_byte: 30s
    idle: "${TIME}"
  other: {kind: generation, target: "dns:///core.example:9090"}
routes:
  - model: "gpt-*"
    protocols: [chat, responses]
    targets:
      - {upstream: openai, model: gpt-x, weight: 3}
      - {upstream: local}
    fallback: [{upstream: other}]
  - model: "*"
    targets: [{upstream: sandbox}]
    strict: true
`

func getenv(name string) (string, bool) {
	v, ok := map[string]string{"KEY": "secret", "TIME": "7s"}[name]
	return v, ok
}

func TestParse(t *testing.T) {
	c, err := config.Parse("genway.yaml", []byte(full), getenv)
	if err != nil {
		t.Fatal(err)
	}
	if u := c.Upstreams["openai"]; u.APIKey != "secret" || u.Kind != "responses" {
		t.Errorf("%+v", u)
	}
	if u := c.Upstreams["local"]; u.Headers["x-team"] != "a$b" || time.Duration(u.FirstByte) != 30*time.Second || time.Duration(u.Idle) != 7*time.Second {
		t.Errorf("%+v", u)
	}
	if r := c.Routes[0]; len(r.Targets) != 2 || r.Targets[0].Weight != 3 || r.Fallback[0].Upstream != "other" || !c.Routes[1].Strict {
		t.Errorf("%+v", c.Routes)
	}
}

func TestEmptyFile(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "{}", "upstreams:\n  a: {kind: chat, base_url: http://x}\n"} {
		if _, err := config.Parse("f", []byte(text), getenv); err == nil || !strings.Contains(err.Error(), "no routes") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestErrorsSayWhereAndWhat(t *testing.T) {
	for _, c := range []struct{ name, text, says string }{
		{"unknown key", "upstreams:\n  a:\n    kind: chat\n    base_ur: http://x\n", `f.yaml:4:5: unknown key "base_ur"; did you mean "base_url"?`},
		{"wrong type", "routes:\n  - model: a\n    targets: 7\n", "f.yaml:3:"},
		{"not YAML", "routes: [", "f.yaml:1:"},
		{"variable", "upstreams:\n  a: {kind: chat, base_url: http://x, api_key: \"${NOPE}\"}\n", "f.yaml:2:"},
		{"variable is named", "upstreams:\n  a: {kind: chat, base_url: http://x, api_key: \"${NOPE}\"}\n", "the environment variable NOPE is not set"},
		{"kind", "upstreams:\n  a: {kind: chatt, base_url: http://x}\n", `f.yaml:2:13: upstreams.a.kind: "chatt" is no kind; one of chat,`},
		{"no kind", "upstreams:\n  a: {base_url: http://x}\n", "upstreams.a: kind is missing"},
		{"no base_url", "upstreams:\n  a: {kind: chat}\n", "base_url is missing"},
		{"no http", "upstreams:\n  a: {kind: chat, base_url: ftp://x}\n", `"ftp://x" is no http(s) URL`},
		{"no target", "upstreams:\n  a: {kind: generation}\n", "target is missing"},
		{"target on HTTP", "upstreams:\n  a: {kind: chat, base_url: http://x, target: y}\n", "base_url's place"},
		{"unknown upstream", "upstreams:\n  local: {kind: chat, base_url: http://x}\nroutes:\n  - {model: a, targets: [{upstream: locl}]}\n", `there is no upstream "locl"; did you mean "local"?`},
		{"no targets", "routes:\n  - {model: a}\n", "f.yaml:2:"},
		{"no model", "routes:\n  - {targets: [{upstream: sandbox}]}\n", "model is missing"},
		{"protocol", "routes:\n  - {model: a, protocols: [gemini], targets: [{upstream: sandbox}]}\n", `"gemini" is no protocol`},
		{"weight", "routes:\n  - {model: a, targets: [{upstream: sandbox, weight: -1}]}\n", "expected at least 0"},
		{"duration", "upstreams:\n  a: {kind: chat, base_url: http://x, idle: soon}\n", `f.yaml:2:45: "soon" is no duration; write 90s`},
		{"duration without a unit", "upstreams:\n  a: {kind: chat, base_url: http://x, idle: 5}\n", `f.yaml:2:45: "5" is no duration`},
		{"number", "upstreams:\n  a: {kind: chat, base_url: http://x, retries: many}\n", "f.yaml:2:48: expected int, got string"},
		{"time below 0", "upstreams:\n  a: {kind: chat, base_url: http://x, idle: -5s}\n", "f.yaml:2:45: upstreams.a.idle: expected a time above 0"},
		{"retries below -1", "upstreams:\n  a: {kind: chat, base_url: http://x, retries: -2}\n", "upstreams.a.retries: expected at least -1, got -2"},
		{"ignored by gRPC", "upstreams:\n  a: {kind: generation, target: x, headers: {a: b}}\n", "upstreams.a.headers: an upstream of kind generation has none"},
		{"ignored by HTTP", "upstreams:\n  a: {kind: chat, base_url: http://x, tls: true}\n", "upstreams.a.tls: an upstream of kind chat has none"},
		{"ignored by the sandbox", "upstreams:\n  a: {kind: sandbox, api_key: k}\n", "upstreams.a.api_key: an upstream of kind sandbox has none"},
		{"header's name", "upstreams:\n  a: {kind: chat, base_url: http://x, headers: {a b: c}}\n", `"a b" cannot be sent as a header`},
		{"header's value", "upstreams:\n  a: {kind: chat, base_url: http://x, headers: {a: \"b\\nc\"}}\n", `"a" cannot be sent as a header`},
		{"dotted name", "upstreams:\n  a.b: {kind: chat, base_url: ftp://x}\n", "f.yaml:2:31: upstreams.'a.b'.base_url:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := config.Parse("f.yaml", []byte(c.text), getenv)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v", err)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("more than a line: %v", err)
			}
		})
	}
}

func TestSecretFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("from a file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := "upstreams:\n  a: {kind: chat, base_url: http://x, api_key_file: \"" + file + "\"}\nroutes:\n  - {model: m, targets: [{upstream: a}]}\n"
	c, err := config.Parse("f", []byte(text), getenv)
	if err != nil || c.Upstreams["a"].APIKey != "from a file" {
		t.Errorf("%v, %v", c, err)
	}
	empty := file + "-empty"
	if err := os.WriteFile(empty, []byte(" \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for bad, says := range map[string]string{
		strings.Replace(text, file, file+"x", 1):                             "f:2:53: upstreams.a.api_key_file: open " + file + "x",
		strings.Replace(text, file, empty, 1):                                "f:2:53: upstreams.a.api_key_file: " + empty + " is empty",
		strings.Replace(text, "api_key_file", "api_key: k, api_key_file", 1): "f:2:65: upstreams.a.api_key_file: api_key and api_key_file exclude each other",
	} {
		if _, err := config.Parse("f", []byte(bad), getenv); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %s", err, says)
		}
	}
}

// The schema that editors use takes what the parser takes, and refuses what it
// refuses by name.
func TestSchema(t *testing.T) {
	schema := compiled(t)
	for text, good := range map[string]bool{
		`{"upstreams":{"a":{"kind":"chat","base_url":"http://x","idle":"5m"}},"routes":[{"model":"*","targets":[{"upstream":"a"}]}]}`: true,
		`{"upstreams":{"a":{"kind":"chatt"}}}`:         false,
		`{"upstreams":{"a":{"kind":"chat","nope":1}}}`: false,
		`{"routes":[{"model":"*"}]}`:                   false,
	} {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); (err == nil) != good {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	raw, err := config.Schema()
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("genway.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("genway.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}
