package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What the routes make of a model is said, and that they make nothing of it as well.
func TestExplain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "genway.yaml")
	text := `
upstreams:
  pictures: {kind: images, base_url: "http://127.0.0.1/v1"}
  local: {kind: chat, base_url: "http://127.0.0.1/v1"}
  claude: {kind: messages, base_url: "http://127.0.0.1/v1"}
routes:
  - {model: "draw-*", targets: [{upstream: pictures}]}
  - model: "talk-*"
    targets: [{upstream: local, weight: 3, drop: [top_p], set: {temperature: 0.2, stop_sequences: [END]}, bound: {max_output_tokens: 4096}}, {upstream: local, model: b}]
    fallback: [{upstream: claude, model: c, default: {max_output_tokens: 9}, bound: {temperature: {min: 0.1, max: 1}}}]
  - {model: "box", strict: true, deadline: 90s, drop_tools: [web_search], targets: [{upstream: sandbox}]}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ protocol, model, prints, fails string }{
		{"images", "draw-1", "routes[0], model draw-*\ntargets:\n  1. pictures: speaks images, passed through, model as asked, weight 1\n", ""},
		{"chat", "talk-1", `routes[1], model talk-*
targets, the first drawn by weight:
  1. local: speaks chat, passed through, model as asked, weight 3
     drop top_p; set stop_sequences ["END"], temperature 0.2; bound max_output_tokens to at most 4096
  2. local: speaks chat, passed through, model b, weight 1
fallback, in this order:
  3. claude: speaks messages, translated, model c
     default max_output_tokens 9; bound temperature to 0.1 to 1
`, ""},
		{"grpc", "box", "routes[2], model box\nstrict: requests that would lose something are refused\ndeadline: 1m30s in all\ntargets:\n  1. sandbox: takes every protocol's requests, model as asked, weight 1\n", ""},
		{"chat", "draw-1", "", "no target for chat callers"},
		{"chat", "talk", "", "no route matches"},
	} {
		var out strings.Builder
		err := (&explainRoute{Config: file, Protocol: c.protocol, Model: c.model}).Run(t.Context(), &out)
		if !strings.HasPrefix(out.String(), c.prints) || (err == nil) != (c.fails == "") || (err != nil && !strings.Contains(err.Error(), c.fails)) {
			t.Errorf("%s, %s: %v\n%s", c.protocol, c.model, err, out.String())
		}
	}
}
