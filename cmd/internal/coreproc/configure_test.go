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
	embedded := sandbox.New(sandbox.Config{TextModel: "text", ImageModel: "image"})
	log, recorded = &bytes.Buffer{}, new(int)
	r, err := NewRouting(file, embedded, nil, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
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

// A text is checked without a look at the environment and at files, unless who sends it may write the file: an error would
// show what an admin must not see. What is in a file that a text names is never shown.
func TestChecksShowNothing(t *testing.T) {
	r, file, _, record, _ := written(t)
	dir := filepath.Dir(file)
	t.Setenv("GENWAY_TEST_CANARY", "canary-env")
	secret := filepath.Join(dir, "shadow")
	if err := os.WriteFile(secret, []byte("canary-file: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const routes = "routes: [{model: \"*\", targets: [{upstream: sandbox}]}]\n"
	upstream := func(members string) string {
		return "upstreams: {a: {kind: chat, base_url: \"https://a.example\", " + members + "}}\n" + routes
	}
	for _, text := range []string{
		"prices: " + secret + "\n" + routes, "catalog: " + secret + "\n" + routes, "captures: {key_file: " + secret + "}\n" + routes,
		upstream("ca_file: " + secret), upstream("cert_file: " + secret + ", key_file: " + secret), upstream("api_key_file: " + secret),
		"console: {oidc: {issuer: \"https://a.example\", client_id: a, redirect_url: \"https://b.example/sign-in/oidc\", admin_groups: [a], client_secret_file: " + secret + "}}\n" + routes,
		strings.Replace(upstream("idle: 1s"), "kind: chat", "kind: \"${GENWAY_TEST_CANARY}\"", 1), upstream("takes: \"${GENWAY_TEST_CANARY}\""), upstream("idle: \"${GENWAY_TEST_CANARY}\""),
		"prices: \"${GENWAY_TEST_CANARY}\"\n" + routes, "limits: {store: \"${GENWAY_TEST_CANARY}\"}\n" + routes, "store: \"${GENWAY_TEST_CANARY}://a\"\n" + routes,
		"routes: [{model: a, targets: [{upstream: \"${GENWAY_TEST_CANARY}\"}]}]\n", "limits: {keys: {budgets: [\"${GENWAY_TEST_CANARY}\"]}}\n" + routes,
	} {
		absent := strings.ReplaceAll(strings.ReplaceAll(text, secret, filepath.Join(dir, "nothing")), "GENWAY_TEST_CANARY", "GENWAY_TEST_NOTHING")
		r.writable = false
		checked, other := r.CheckConfiguration(text), r.CheckConfiguration(absent)
		if strings.Contains(checked.String(), "canary") || len(checked.GetMistakes()) != len(other.GetMistakes()) || len(checked.GetWarnings()) != len(other.GetWarnings()) {
			t.Errorf("%s: %v, and %v of what there isn't", text, checked, other)
		}
		r.writable = true
		if checked := r.CheckConfiguration(text); strings.Contains(checked.String(), "canary-file") {
			t.Errorf("%s: %v", text, checked)
		}
		if _, err := r.WriteConfiguration(text, r.Configuration().GetFileHash(), record); err == nil || strings.Contains(err.Error(), "canary-file") {
			if !strings.Contains(text, "api_key_file") && !strings.Contains(text, "client_secret_file") { // a line that a key may have
				t.Errorf("%s: %v", text, err)
			}
			if err := os.WriteFile(file, []byte(secretive), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Programs that the server runs are named on its host alone: a text that is written may keep the file's, and have no
// others.
func TestCommandsAreNotWritten(t *testing.T) {
	r, file, _, record, recorded := written(t)
	const with = `upstreams:
  one: {kind: chat, base_url: "https://one.example/v1", auth: {command: {run: [/usr/bin/true, "${HOME}", a]}}}
routes: [{model: "*", targets: [{upstream: one}]}]
`
	write := func(text string) string {
		t.Helper()
		_, err := r.WriteConfiguration(text, r.Configuration().GetFileHash(), record)
		if err == nil {
			return ""
		}
		return err.Error()
	}
	refused := func(how, text string) {
		t.Helper()
		before := *recorded
		err := write(text)
		if !strings.Contains(err, "auth.command") || !strings.Contains(err, "line ") || *recorded != before {
			t.Errorf("%s: %s", how, err)
		}
		if checked := r.CheckConfiguration(text); len(checked.GetMistakes()) == 0 {
			t.Errorf("%s: the check finds nothing", how)
		}
	}
	refused("a new one", with)
	r.writable = false
	if checked := r.CheckConfiguration(with); len(checked.GetMistakes()) != 0 {
		t.Errorf("a text for the host: %v", checked)
	}
	r.writable = true
	if err := os.WriteFile(file, []byte(with), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := r.ReloadConfiguration(record); err != nil {
		t.Fatalf("from the host: %v", err)
	}
	shown := r.Configuration().GetYaml()
	if err := write(strings.Replace(shown, `model: "*"`, "model: kept", 1)); err != "" || r.Routes()[0].GetModel() != "kept" {
		t.Errorf("kept: %s", err)
	}
	if err := write(strings.Replace(with, `model: "*"`, "model: again", 1)); err != "" {
		t.Errorf("written out: %s", err)
	}
	refused("another program", strings.Replace(with, "/usr/bin/true", "/bin/sh", 1))
	refused("another argument", strings.Replace(with, ", a]", ", b]", 1))
	refused("one argument more", strings.Replace(with, ", a]", ", a, a]", 1))
	refused("none of them", strings.Replace(with, `, "${HOME}", a]`, "]", 1))
	refused("another variable", strings.Replace(with, "${HOME}", "${PATH}", 1))
	refused("what the variable has", strings.Replace(with, "${HOME}", os.Getenv("HOME"), 1))
	refused("by an alias", strings.Replace(with, "routes:", "  two: {kind: chat, base_url: \"https://two.example\", auth: {command: {run: &x [/bin/sh]}}}\n  three: {kind: chat, base_url: \"https://two.example\", auth: {command: {run: *x}}}\nroutes:", 1))
	if err := write(strings.Replace(with, "  one: {", "  renamed: {", 1)); !strings.Contains(err, "there is no upstream") {
		t.Errorf("renamed: %s", err)
	}
	_, rest, _ := strings.Cut(secretive, "upstreams")
	if err := write("upstreams" + rest); err != "" {
		t.Errorf("taken out: %s", err)
	}
	refused("put back", with)
}
