package coreproc

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/sandbox"
)

const secretive = `# a comment
upstreams:
  one: {kind: chat, base_url: "https://one.example/v1", api_key: canary-1}
routes: [{model: "*", targets: [{upstream: one}]}]
`

// written is a routing whose file may be written, and how many changes were recorded.
func written(t *testing.T) (r *Routing, file string, log *bytes.Buffer, record func() error, recorded *int) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "genway.yaml")
	if err := os.WriteFile(file, []byte(secretive), 0o640); err != nil {
		t.Fatal(err)
	}
	embedded, err := sandbox.New(sandbox.Config{TextModel: "text", ImageModel: "image"})
	if err != nil {
		t.Fatal(err)
	}
	log, recorded = &bytes.Buffer{}, new(int)
	if r, err = NewRouting(file, embedded, nil, slog.New(slog.NewTextHandler(log, nil))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	r.writable = true
	return r, file, log, func() error { *recorded++; return nil }, recorded
}

func textOf(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A configuration is written with what was masked, its rights stay, the text before is kept, and it is
// in force at once.
func TestWriteConfiguration(t *testing.T) {
	r, file, _, record, recorded := written(t)
	c := r.Configuration()
	typed := strings.Replace(c.GetYaml(), `model: "*"`, `model: b`, 1)
	if !c.GetWritable() || c.GetFileHash() != c.GetHash() || typed == c.GetYaml() || strings.Contains(typed, "canary") {
		t.Fatalf("%v", c)
	}
	hash, err := r.WriteConfiguration(typed, c.GetFileHash(), record)
	if err != nil {
		t.Fatal(err)
	}
	now := r.Configuration()
	if hash != now.GetHash() || !now.GetCurrent() || r.Routes()[0].GetModel() != "b" || *recorded != 1 {
		t.Errorf("%s, %v, %v, %d recorded", hash, now, r.Routes(), *recorded)
	}
	if text := textOf(t, file); !strings.Contains(text, "canary-1") || strings.Contains(text, "(masked)") {
		t.Errorf("written: %s", text)
	}
	if text := textOf(t, file+".before"); text != secretive {
		t.Errorf("before: %s", text)
	}
	for _, name := range []string{file, file + ".before"} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("%s: %v %v", name, info.Mode(), err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), ".*")); len(left) != 0 {
		t.Errorf("%v are left", left)
	}
	if _, err := r.WriteConfiguration(typed, c.GetFileHash(), record); reasonOf(err) != "CONFIGURATION_CHANGED" {
		t.Errorf("made of an old file: %v", err)
	}
}

func reasonOf(err error) string {
	f, _ := errors.AsType[*fault.Error](err)
	if f == nil {
		return ""
	}
	return f.Reason
}

// What is bad is not written: it is said by line, without a secret, and what was in force stays.
func TestWriteConfigurationRefuses(t *testing.T) {
	r, file, log, record, recorded := written(t)
	hash, masked := r.Configuration().GetFileHash(), r.Configuration().GetYaml()
	for typed, want := range map[string]string{
		"":          "there are no routes in it",
		"routes: [": "line 1",
		strings.Replace(masked, "routes:", "rotues:", 1):                                                     "unknown key",
		strings.Replace(masked, "upstream: one", "upstream: canary-2", 1):                                    `canary-2`,
		strings.Replace(masked, "https://one.example/v1", "ftp://one", 1):                                    "line ",
		masked + "prices: nowhere.yaml\n":                                                                    "nowhere.yaml",
		strings.Replace(masked, "one:", "two:", 1):                                                           "there is no upstream",
		strings.Replace(masked, "kind: chat", "kind: chat\n    headers: {\"bad name\": canary-4}", 1):        "line ",
		strings.Replace(masked, "api_key: (masked)", "api_key: (masked)\n    client_certificate: canary", 1): "line ",
	} {
		_, err := r.WriteConfiguration(typed, hash, record)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "canary-1") {
			t.Errorf("%s: %v", typed, err)
		}
		if checked := r.CheckConfiguration(typed); len(checked.GetMistakes()) == 0 || strings.Contains(checked.String(), "canary-1") {
			t.Errorf("%s: %v", typed, checked)
		}
	}
	r.writable = false
	if _, err := r.WriteConfiguration(masked, hash, record); reasonOf(err) != "CONFIGURATION_READ_ONLY" {
		t.Errorf("without the flag: %v", err)
	}
	r.writable = true
	if _, err := r.WriteConfiguration(masked, hash, func() error { return errors.New("no audit") }); err == nil {
		t.Error("a change that is not recorded")
	}
	if textOf(t, file) != secretive || *recorded != 0 || !r.Configuration().GetCurrent() {
		t.Errorf("%d changes: %s", *recorded, textOf(t, file))
	}
	if _, err := os.Stat(file + ".before"); err == nil {
		t.Error("a text before is kept of a file that stays")
	}
	if strings.Contains(log.String(), "canary") {
		t.Errorf("%s", log)
	}
}

// A check takes nothing, and a file that was changed is shown beside what is in force until it is taken.
func TestReloadConfiguration(t *testing.T) {
	r, file, _, record, recorded := written(t)
	changed := strings.Replace(secretive, `model: "*"`, "model: c", 1)
	checked := r.CheckConfiguration(changed)
	if len(checked.GetMistakes()) != 0 || !strings.Contains(checked.GetYaml(), "model: c") || strings.Contains(checked.GetYaml(), "canary") || r.Routes()[0].GetModel() != "*" {
		t.Errorf("%v", checked)
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(changed)
	if c := r.Configuration(); c.GetCurrent() || !strings.Contains(c.GetRunningYaml(), `model: "*"`) || !strings.Contains(c.GetYaml(), "model: c") || c.GetFileHash() == c.GetHash() || strings.Contains(c.String(), "canary") {
		t.Errorf("%v", c)
	}
	if hash, err := r.ReloadConfiguration(record); err != nil || hash != r.Hash() || r.Routes()[0].GetModel() != "c" || *recorded != 1 || r.Configuration().GetRunningYaml() != "" {
		t.Errorf("%s, %v, %v", hash, err, r.Routes())
	}
	write("routes: [canary")
	if _, err := r.ReloadConfiguration(record); err == nil || strings.Contains(err.Error(), "canary") || r.Routes()[0].GetModel() != "c" {
		t.Errorf("a bad file: %v", err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if _, err := r.ReloadConfiguration(record); err == nil {
		t.Error("a file that is missing was taken")
	}
	if _, err := r.WriteConfiguration(changed, "none", record); reasonOf(err) != "CONFIGURATION_FILE" {
		t.Errorf("a file that is missing: %v", err)
	}
	none, err := NewRouting("", r.embedded, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer none.Close()
	none.writable = true
	_, err1 := none.ReloadConfiguration(record)
	_, err2 := none.WriteConfiguration(changed, "none", record)
	if reasonOf(err1) != "CONFIGURATION_FILE" || reasonOf(err2) != "CONFIGURATION_FILE" || none.Configuration().GetWritable() {
		t.Errorf("without a file: %v, %v", err1, err2)
	}
	if c := none.CheckConfiguration("routes: [{model: a, targets: [{upstream: sandbox}]}]\n"); len(c.GetMistakes()) != 0 {
		t.Errorf("%v", c)
	}
}
