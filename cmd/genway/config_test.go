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
routes:
  - {model: "draw-*", targets: [{upstream: pictures}]}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ protocol, model, prints, fails string }{
		{"images", "draw-1", "route 0, model draw-*\n  1. pictures (", ""},
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
