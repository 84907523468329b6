package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/genway/genway/core/config"
)

const withSecrets = `# a comment with sk-comment
upstreams:
  a: {provider: openai, api_key: "sk-\"1\" # no", headers: {X-Tenant: 7, X-More: "a: b"}}
  b:
    url: https://u:p@b.example/v1?key=x
    auth: {command: {run: [tool, --token, "s3cret"]}}
  c: {url: https://c.example, api_key: "${C_KEY}"}
routes: [{model: "*", targets: [{upstream: a}]}]
`

func shown(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "genway.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	masked, err := config.Masked(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(masked)
}

// What Masked has hidden is there again, each line where it was, whatever else is changed.
func TestUnmask(t *testing.T) {
	var want any
	if err := yaml.Unmarshal([]byte(withSecrets), &want); err != nil {
		t.Fatal(err)
	}
	masked := shown(t, withSecrets)
	for _, secret := range []string{"sk-", "s3cret", "u:p", "a: b"} {
		if strings.Contains(masked, secret) {
			t.Fatalf("%s is shown: %s", secret, masked)
		}
	}
	for name, change := range map[string]func(string) string{
		"nothing":          func(s string) string { return s },
		"comments":         func(s string) string { return "# mine\n" + strings.ReplaceAll(s, "\n", " # x\n") },
		"quotes":           func(s string) string { return strings.ReplaceAll(s, "(masked)", `"(masked)"`) },
		"single quotes":    func(s string) string { return strings.ReplaceAll(s, "(masked)", `'(masked)'`) },
		"a windows editor": func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
	} {
		typed := change(masked)
		whole, secrets, err := config.Unmask([]byte(typed), []byte(withSecrets))
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, typed)
			continue
		}
		var got any
		if err := yaml.Unmarshal(whole, &got); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if strings.Count(string(whole), "\n") != strings.Count(typed, "\n") {
			t.Errorf("%s: lines have moved", name)
		}
		if text := config.Hide("wrong: sk-\\\"1\\\" # no and s3cret", secrets); strings.Contains(text, "s3cret") || strings.Contains(text, "sk-") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// Where it is not known which value a mask hides, it is refused without a word of any.
func TestUnmaskRefuses(t *testing.T) {
	masked := shown(t, withSecrets)
	for name, typed := range map[string]string{
		"another upstream":                     strings.Replace(masked, "  a:", "  d:", 1),
		"one more":                             masked + "\nprices: (masked)\n",
		"in a comment":                         masked + "# (masked)\n",
		"within a text":                        masked + "\ncatalog: x(masked)\n",
		"as a key":                             masked + "\n(masked): 1\n",
		"a longer list":                        strings.Replace(masked, "run: [", "run: [more, ", 1),
		"no YAML":                              "a: [",
		"a mask alone":                         "(masked)",
		"a comment that is none of the file's": masked + "# (masked comment 2)\n",
		"a comment as a value":                 masked + "\ncatalog: \"# (masked comment 1)\"\n",
		"a comment in lines of a value":        masked + "\ncatalog: \"a\n  # (masked comment 1)\n  b\"\n",
		"a block":                              strings.Replace(masked, "api_key: (masked)", "api_key: |\n      (masked)\n", 1),
	} {
		if name == "a longer list" && typed == masked {
			t.Fatalf("the list is not as the test thinks: %s", masked)
		}
		whole, _, err := config.Unmask([]byte(typed), []byte(withSecrets))
		if err == nil {
			t.Errorf("%s: %s", name, whole)
			continue
		}
		for _, secret := range []string{"sk-", "s3cret", "u:p"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if whole, secrets, err := config.Unmask([]byte("a: 1\n"), nil); err != nil || string(whole) != "a: 1\n" || secrets != nil {
		t.Errorf("without a file: %s %v %v", whole, secrets, err)
	}
}

// A file is shown as it is: its comments, lines, quotes and anchors stay. What may be a secret is masked in comments, too, and is there
// again in what is saved.
func TestMaskedKeepsTheText(t *testing.T) {
	const file = "\ufeff# Über uns: who to ask\r\nupstreams: # all of them\n  a: {provider: openai, api_key: canary-1} # api_key: canary-2\n" +
		"  b:\n    # was canary-1\n    base_url: 'https://it''s.example/é' # sk-canary3333\n    api_key: \"${B_KEY}\"   # token: ${B_KEY}\n    headers: &h {X-A: \"canary-4 # no\"}\n" +
		"# https://u:canary-5@proxy\n\nroutes: [{model: \"*\", targets: [{upstream: a}]}] # the keys of all\n"
	masked := shown(t, file)
	const want = "\ufeff# Über uns: who to ask\nupstreams: # all of them\n  a: {provider: openai, api_key: (masked)} # (masked comment 1)\n" +
		"  b:\n    # (masked comment 2)\n    base_url: 'https://it''s.example/é' # (masked comment 3)\n    api_key: \"${B_KEY}\"   # token: ${B_KEY}\n    headers: &h {X-A: (masked)}\n" +
		"# (masked comment 4)\n\nroutes: [{model: \"*\", targets: [{upstream: a}]}] # the keys of all\n"
	if masked != want {
		t.Fatal(cmp.Diff(want, masked))
	}
	typed := strings.Replace(strings.Replace(masked, "# all of them", "# mine", 1), "    # (masked comment 2)\n", "", 1)
	whole, _, err := config.Unmask([]byte(typed), []byte(file))
	saved := strings.Replace(strings.Replace(file, "# all of them", "# mine", 1), "    # was canary-1\n", "", 1)
	saved = strings.Replace(strings.ReplaceAll(saved, "\r", ""), "api_key: canary-1", `api_key: "canary-1"`, 1)
	if err != nil || string(whole) != saved {
		t.Errorf("%v\n%s", err, cmp.Diff(saved, string(whole)))
	}
}

// A text whose secrets cannot be replaced where they are is written anew: none of them is shown, and it can be saved.
func TestMaskedWritesAnew(t *testing.T) {
	for name, text := range map[string]string{
		"a block":          "# a comment\nupstreams: {a: {provider: openai, headers: {X: |\n  canary\n  }}}\n",
		"a block of lines": "# a comment\nupstreams:\n  a:\n    api_key: |\n      canary\n      more\n",
		"an alias":         "# a comment\nx: &k canary\nupstreams: {a: {api_key: *k}}\n",
		"an alias of two":  "# a comment\nupstreams: {a: {api_key: &k canary}, b: {api_key: *k}}\n",
		"a key":            "upstreams: {canary-1: {api_key: canary-1}}\n",
	} {
		masked, err := config.MaskedText([]byte(text))
		if err != nil && strings.Contains(err.Error(), "canary") || name != "a key" && strings.Contains(string(masked), "canary") {
			t.Errorf("%s: %s, %v", name, masked, err)
		}
	}
}

// Whatever the text is, what is shown of it and saved again is shown as before.
func FuzzMasked(f *testing.F) {
	f.Add(withSecrets)
	f.Add("api_key: &a canary # canary\nheaders: {a: *a, b: [canary, \"x\\\ny\"]}\n")
	f.Fuzz(func(t *testing.T, text string) {
		masked, err := config.MaskedText([]byte(text))
		if err != nil {
			return
		}
		whole, _, err := config.Unmask(masked, []byte(text))
		if err != nil {
			return
		}
		var before, after any
		again, err := config.MaskedText(whole)
		if yaml.Unmarshal(masked, &before) != nil {
			return
		}
		if wrong := yaml.Unmarshal(again, &after); err != nil || wrong != nil || fmt.Sprint(before) != fmt.Sprint(after) {
			t.Errorf("%q is shown as %q, saved as %q and shown as %q: %v", text, masked, whole, again, err)
		}
	})
}
