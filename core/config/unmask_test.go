package config_test

import (
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
		"another upstream": strings.Replace(masked, "  a:", "  d:", 1),
		"one more":         masked + "\nprices: (masked)\n",
		"in a comment":     masked + "# (masked)\n",
		"within a text":    masked + "\ncatalog: x(masked)\n",
		"as a key":         masked + "\n(masked): 1\n",
		"a longer list":    strings.Replace(masked, "run:\n", "run:\n      - more\n", 1),
		"no YAML":          "a: [",
		"a mask alone":     "(masked)",
		"a block":          strings.Replace(masked, "api_key: (masked)", "api_key: |\n      (masked)\n", 1),
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
