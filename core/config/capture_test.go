package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/core/capture"
	"github.com/genway/genway/core/config"
)

const captureKey = "k2026 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"

// withCapture is a file whose route has that capture, and the section that follows.
func withCapture(rule, section string) []byte {
	return fmt.Appendf(nil, "routes:\n  - model: \"*\"\n    targets: [{upstream: sandbox}]\n    capture: %s\n%s", rule, section)
}

func TestCapture(t *testing.T) {
	soon := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "keys"), []byte(captureKey), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Parse(filepath.Join(dir, "genway.yaml"), withCapture("{share: 0.25, max_bytes: 1000, redact: [content, /a/*], until: "+soon.Format(time.RFC3339)+"}", "captures: {key_file: keys, keep: 2h}\n"), getenv)
	if err != nil {
		t.Fatal(err)
	}
	rule := c.Routes[0].Capture.Rule()
	if rule.Share != 0.25 || rule.MaxBytes != 1000 || strings.Join(rule.Redact, " ") != "content /a/*" || !rule.Until.Equal(soon) || c.Captures.KeepFor() != 2*time.Hour || c.Captures.Ring() == nil {
		t.Errorf("%+v, %+v", rule, c.Captures)
	}
	if files := strings.Join(c.Files(), " "); !strings.Contains(files, filepath.Join(dir, "keys")) {
		t.Errorf("the key file is not followed: %s", files)
	}
	plain, err := config.Parse("f", []byte("routes: [{model: \"*\", targets: [{upstream: sandbox}]}]\n"), getenv)
	if err != nil || plain.Routes[0].Capture.Rule() != nil || plain.Captures.Ring() != nil || plain.Captures.KeepFor() != 7*24*time.Hour {
		t.Errorf("nobody asks for it: %+v, %v", plain, err)
	}
	past, err := config.Parse("f", withCapture("{until: 2026-01-31}", ""), getenv)
	if err != nil || len(past.Warnings()) != 1 || !strings.Contains(past.Warnings()[0].Error(), "f:4:22: routes[0].capture.until: it has no effect") {
		t.Errorf("an end that has passed: %v, %v", past.Warnings(), err)
	}
}

func TestCaptureMistakes(t *testing.T) {
	soon := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	far := time.Now().Add(capture.MaxAhead + time.Hour).UTC().Format(time.RFC3339)
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad")
	if err := os.WriteFile(bad, []byte("k2026 secret-that-is-no-key\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ rule, section, want string }{
		"no end":         {"{share: 1}", "", "routes[0].capture.until: it is missing"},
		"far":            {"{until: " + far + "}", "", "routes[0].capture.until: expected at most 7 days from now"},
		"no time":        {"{until: soon}", "", `"soon" is no time`},
		"a number":       {"{until: 12}", "", `"12" is no time`},
		"share 0":        {"{share: 0, until: " + soon + "}", "", "routes[0].capture.share: expected"},
		"share 2":        {"{share: 2, until: " + soon + "}", "", "routes[0].capture.share: expected"},
		"share NaN":      {"{share: .nan, until: " + soon + "}", "", `routes[0].capture.share: ".nan" is no share`},
		"a text":         {"{share: all, until: " + soon + "}", "", "f:4:22: "},
		"bytes":          {"{max_bytes: -1, until: " + soon + "}", "", "routes[0].capture.max_bytes: expected"},
		"bytes too many": {"{max_bytes: 1048577, until: " + soon + "}", "", "routes[0].capture.max_bytes: expected"},
		"redact":         {"{redact: [\"\"], until: " + soon + "}", "", "routes[0].capture.redact[0]: it is empty"},
		"unknown":        {"{untyl: " + soon + "}", "", `unknown key "untyl" in routes[0].capture; did you mean "until"?`},
		"not a mapping":  {"yes", "", "f:4:"},
		"keep":           {"{until: " + soon + "}", "captures: {keep: 1m}\n", "captures.keep: expected 1h to 720h"},
		"keep too long":  {"{until: " + soon + "}", "captures: {keep: 721h}\n", "captures.keep: expected 1h to 720h"},
		"no file":        {"{until: " + soon + "}", "captures: {key_file: " + filepath.Join(dir, "none") + "}\n", "f:5:22: captures.key_file: "},
		"a wrong file":   {"{until: " + soon + "}", "captures: {key_file: " + bad + "}\n", "line 1"},
	} {
		_, err := config.Parse("f", withCapture(c.rule, c.section), getenv)
		if got := lines(err); !strings.Contains(got, c.want) || strings.Contains(got, "secret-that") {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}
