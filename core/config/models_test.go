package config_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/core/config"
)

// Models are names, or the one word that has the upstream asked.
func TestModels(t *testing.T) {
	parse := func(kind, models string) (*config.Config, error) {
		where := map[string]string{"generation": "target: 'dns:///h:1'", "sandbox": ""}
		at, ok := where[kind]
		if !ok {
			at = "base_url: 'http://h'"
		}
		text := "upstreams:\n  u:\n    kind: " + kind + "\n    models: " + models + "\n    " + at + "\nroutes: [{model: '*', targets: [{upstream: u}]}]\n"
		return config.Parse("f", []byte(text), func(string) (string, bool) { return "discover", true })
	}
	for _, c := range []struct {
		kind, models, says string
		want               []string
		discover           bool
	}{
		{"chat", "[a, b]", "", []string{"a", "b"}, false},
		{"chat", "[]", "", nil, false},
		{"chat", "null", "f:4:5: models has no value", nil, false},
		{"chat", "~", "f:4:5: models has no value", nil, false},
		{"chat", "discover", "", nil, true},
		{"generation", "discover", "", nil, true},
		{"images", "'discover'", "", nil, true},
		{"chat", "'${X}'", "", nil, true},
		{"chat", "[discover]", "", []string{"discover"}, false},
		{"sandbox", "discover", "f:4:13: upstreams.u.models: an upstream of kind sandbox has none", nil, false},
		{"chat", "gpt-4o", "f:4:13: upstreams.u.models: expected a list of names, as in [gpt-4o], or the word discover", nil, false},
		{"chat", "Discover", "expected a list", nil, false},
		{"chat", "true", "expected a list", nil, false},
		{"chat", "7", "expected a list", nil, false},
		{"chat", "{a: b}", "expected a list", nil, false},
		{"chat", "[[a]]", "f:4:14: upstreams.u.models[0]: expected text", nil, false},
		{"chat", "['']", "f:4:14: upstreams.u.models[0]: expected a name of 1 to 256 bytes, got one of 0", nil, false},
		{"chat", `["a\tb"]`, "a character that cannot be shown", nil, false},
		{"chat", "[" + strings.Repeat("x", 257) + "]", "got one of 257", nil, false},
	} {
		t.Run(c.kind+" "+c.models, func(t *testing.T) {
			got, err := parse(c.kind, c.models)
			if c.says != "" {
				if err == nil || !strings.Contains(err.Error(), c.says) {
					t.Errorf("%v, want %s", err, c.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if m := got.Upstreams["u"].Models; m.Discover != c.discover || !slices.Equal(m.Names, c.want) {
				t.Errorf("%+v", m)
			}
		})
	}
}
