package config_test

import (
	"bytes"
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
    deadline: 20m
    proxy: none
    on_cancel: drain
    drain_for: 10s
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
    deadline: 90s
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
	if u := c.Upstreams["local"]; u.Proxy != config.NoProxy || time.Duration(u.Deadline) != 20*time.Minute || u.OnCancel != config.Drain || time.Duration(u.DrainFor) != 10*time.Second {
		t.Errorf("%+v", u)
	}
	if d := time.Duration(c.Routes[1].Deadline); d != 90*time.Second {
		t.Errorf("deadline %v", d)
	}
	if r := c.Routes[0]; len(r.Targets) != 2 || *r.Targets[0].Weight != 3 || r.Fallback[0].Upstream != "other" || !c.Routes[1].Strict {
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
		{"key of another mapping", "routes:\n  - {model: a, upstream: sandbox}\n", `f.yaml:2:16: unknown key "upstream" in routes[0]; write targets: [{upstream: NAME}]`},
		{"unknown key", "upstreams:\n  a:\n    kind: chat\n    base_ur: http://x\n", `f.yaml:4:5: unknown key "base_ur" in upstreams.a; did you mean "base_url"?`},
		{"wrong type", "routes:\n  - model: a\n    targets: 7\n", "f.yaml:3:"},
		{"not YAML", "routes: [", "f.yaml:1:"},
		{"variable", "upstreams:\n  a: {kind: chat, base_url: http://x, api_key: \"${NOPE}\"}\n", "f.yaml:2:"},
		{"variable is named", "upstreams:\n  a: {kind: chat, base_url: http://x, api_key: \"${NOPE}\"}\n", "the environment variable NOPE is not set"},
		{"kind", "upstreams:\n  a: {kind: chatt, base_url: http://x}\n", `f.yaml:2:13: upstreams.a.kind: "chatt" is no kind; one of chat,`},
		{"no kind", "upstreams:\n  a: {base_url: http://x}\n", "upstreams.a: kind is missing"},
		{"name of two lines", "upstreams:\n  \"a\\nb\": {kind: chat}\n", `f.yaml:2:9: upstreams: expected a name of printable characters, got "a\nb"`},
		{"name from right to left", "upstreams:\n  \"a\\u202Eb\": {kind: chat}\n", `expected a name of printable characters, got "a\u202eb"`},
		{"no base_url", "upstreams:\n  a: {kind: chat}\n", "base_url is missing"},
		{"no http", "upstreams:\n  a: {kind: chat, base_url: ftp://x}\n", `"ftp://x" is no http(s) URL`},
		{"no target", "upstreams:\n  a: {kind: generation}\n", "target is missing"},
		{"target on HTTP", "upstreams:\n  a: {kind: chat, base_url: http://x, target: y}\n", "base_url's place"},
		{"unknown upstream", "upstreams:\n  local: {kind: chat, base_url: http://x}\nroutes:\n  - {model: a, targets: [{upstream: locl}]}\n", `there is no upstream "locl"; did you mean "local"?`},
		{"no targets", "routes:\n  - {model: a}\n", "f.yaml:2:"},
		{"no model", "routes:\n  - {targets: [{upstream: sandbox}]}\n", "model is missing"},
		{"protocol", "routes:\n  - {model: a, protocols: [gemini], targets: [{upstream: sandbox}]}\n", `"gemini" is no protocol`},
		{"weight", "routes:\n  - {model: a, targets: [{upstream: sandbox, weight: -1}]}\n", "expected at least 0"},
		{"duration", "upstreams:\n  a: {kind: chat, base_url: http://x, idle: soon}\n", `f.yaml:2:45: upstreams.a.idle: "soon" is no duration; write 90s, 5m, 1h30m or 30d`},
		{"duration without a unit", "upstreams:\n  a: {kind: chat, base_url: http://x, idle: 5}\n", `f.yaml:2:45: upstreams.a.idle: "5" has no unit; write 5s, 5m or 5h`},
		{"number", "upstreams:\n  a: {kind: chat, base_url: http://x, retries: many}\n", "f.yaml:2:48: upstreams.a.retries: expected a whole number, as in 10 (how often a call that failed before its answer began is made again), got text"},
		{"time below 0", "upstreams:\n  a: {kind: chat, base_url: http://x, idle: -5s}\n", "f.yaml:2:45: upstreams.a.idle: expected a time above 0"},
		{"retries below -1", "upstreams:\n  a: {kind: chat, base_url: http://x, retries: -2}\n", "upstreams.a.retries: expected at least -1, got -2"},
		{"ignored by gRPC", "upstreams:\n  a: {kind: generation, target: x, headers: {a: b}}\n", "upstreams.a.headers: an upstream of kind generation has none"},
		{"ignored by HTTP", "upstreams:\n  a: {kind: chat, base_url: http://x, tls: true}\n", "upstreams.a.tls: an upstream of kind chat has none"},
		{"ignored by the sandbox", "upstreams:\n  a: {kind: sandbox, api_key: k}\n", "upstreams.a.api_key: an upstream of kind sandbox has none"},
		{"retries of the sandbox", "upstreams:\n  a: {kind: sandbox, retries: 2}\n", "upstreams.a.retries: an upstream of kind sandbox has none"},
		{"proxy", "upstreams:\n  a: {kind: chat, base_url: http://x, proxy: \"me:secret@host\"}\n", "f.yaml:2:46: upstreams.a.proxy: expected none, or http://, https://, socks5://, socks5h://host:port"},
		{"proxy of gRPC", "upstreams:\n  a: {kind: generation, target: x, proxy: http://y}\n", "upstreams.a.proxy: an upstream of kind generation has none"},
		{"authorities without TLS", "upstreams:\n  a: {kind: chat, base_url: http://x, ca_file: f}\n", "upstreams.a.ca_file: it takes effect with a base_url of https:// only"},
		{"authorities without TLS, gRPC", "upstreams:\n  a: {kind: generation, target: x, ca_file: f}\n", "upstreams.a.ca_file: it takes effect with tls: true only"},
		{"authorities that are not there", "upstreams:\n  a: {kind: chat, base_url: https://x, ca_file: /nowhere}\n", "f.yaml:2:49: upstreams.a.ca_file: open /nowhere"},
		{"half a certificate", "upstreams:\n  a: {kind: chat, base_url: https://x, cert_file: f}\n", "upstreams.a.cert_file: key_file is missing"},
		{"the other half", "upstreams:\n  a: {kind: chat, base_url: https://x, key_file: f}\n", "upstreams.a.key_file: cert_file is missing"},
		{"certificate that is not there", "upstreams:\n  a: {kind: chat, base_url: https://x, cert_file: /nowhere, key_file: f}\n", "f.yaml:2:51: upstreams.a.cert_file: open /nowhere"},
		{"deadline", "upstreams:\n  a: {kind: chat, base_url: http://x, deadline: -1s}\n", "upstreams.a.deadline: expected a time above 0"},
		{"deadline of a route", "routes:\n  - {model: a, deadline: -1s, targets: [{upstream: sandbox}]}\n", "f.yaml:2:26: routes[0].deadline: expected a time above 0"},
		{"policy", "upstreams:\n  a: {kind: chat, base_url: http://x, on_cancel: drian}\n", `f.yaml:2:50: upstreams.a.on_cancel: "drian" is no policy; one of cancel, drain; did you mean "drain"?`},
		{"takes", "upstreams:\n  a: {kind: chat, base_url: http://x, takes: everythin}\n", `upstreams.a.takes: "everythin" is no set of members; one of documented, everything; did you mean "everything"?`},
		{"takes of another kind", "upstreams:\n  a: {kind: responses, base_url: http://x, takes: everything}\n", "upstreams.a.takes: an upstream of kind responses has none"},
		{"usage", "upstreams:\n  a: {kind: chat, base_url: http://x, stream_usage: leaf}\n", `upstreams.a.stream_usage: "leaf" is no policy; one of ask, leave; did you mean "leave"?`},
		{"version", "upstreams:\n  a: {kind: messages, base_url: http://x, api_version: 2026-10-12}\n", `upstreams.a.api_version: "2026-10-12" is no version of messages; one of 2023-06-01, 2026-10-21; did you mean "2026-10-21"?`},
		{"version of another kind", "upstreams:\n  a: {kind: chat, base_url: http://x, api_version: 2026-10-21}\n", "upstreams.a.api_version: an upstream of kind chat has none"},
		{"version said twice", "upstreams:\n  a: {kind: messages, base_url: http://x, api_version: 2026-10-21, headers: {Anthropic-Version: 2023-06-01}}\n", `upstreams.a.headers: Anthropic-Version says "2023-06-01" beside api_version: leave the header out`},
		{"usage of another kind", "upstreams:\n  a: {kind: messages, base_url: http://x, stream_usage: leave}\n", "upstreams.a.stream_usage: an upstream of kind messages has none"},
		{"time without its policy", "upstreams:\n  a: {kind: chat, base_url: http://x, drain_for: 5s}\n", "upstreams.a.drain_for: it takes effect with on_cancel: drain only"},
		{"header's name", "upstreams:\n  a: {kind: chat, base_url: http://x, headers: {a b: c}}\n", `"a b" cannot be sent as a header`},
		{"header's value", "upstreams:\n  a: {kind: chat, base_url: http://x, headers: {a: \"b\\nc\"}}\n", `"a" cannot be sent as a header`},
		{"retention", "ledger: {retain_days: 1}\nroutes:\n  - {model: a, targets: [{upstream: sandbox}]}\n", "f.yaml:1:23: ledger.retain_days: expected at least 2, or 0 to keep everything, got 1"},
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
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(config.Schema()))
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
