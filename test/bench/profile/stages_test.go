package profile

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sample is a stack, the innermost function first.
func sample(cpu int64, functions ...string) *profile.Sample {
	s := &profile.Sample{Value: []int64{1, cpu}}
	for _, name := range functions {
		s.Location = append(s.Location, &profile.Location{Line: []profile.Line{{Function: &profile.Function{Name: name}}}})
	}
	return s
}

// A stack belongs to the innermost function that has a stage.
func TestShares(t *testing.T) {
	const m = "github.com/genway/genway/"
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		Sample: []*profile.Sample{
			sample(5, "strings.Index", m+"codec/chat.(*content).UnmarshalJSONFrom", m+"codec/chat.(*Codec).DecodeRequest"),
			sample(5, "runtime.memmove", m+"codec/member.Patch", m+"core/upstream/remote.(*Upstream).textBody"),
			sample(5, "runtime.mallocgc", m+"codec/chat.(*Codec).DecodeRequest", m+"gateway.(*marshaler).Unmarshal", "net/http.(*conn).serve", "runtime.goexit"),
			sample(10, m+"codec/chat.(*Codec).EncodeResponse", m+"gateway.(*marshaler).Marshal", "net/http.(*conn).serve"),
			sample(20, "internal/runtime/syscall.Syscall6", "syscall.write", "net.(*conn).Write", "net/http.(*persistConn).writeLoop", "runtime.goexit"),
			sample(20, "syscall.read", "net/http.(*connReader).Read", "net/http.(*conn).serve"),
			sample(10, "runtime.scanobject", "runtime.gcBgMarkWorker", "runtime.goexit"),
			sample(10, "runtime.findRunnable", "runtime.schedule", "runtime.mcall"),
			sample(10, "crypto/sha256.block", m+"core/keys.(*Service).Authenticate", m+"core.(*Service).GenerateText"),
			sample(5, "io.Copy", "runtime.goexit"),
		},
	}
	got := Shares(p)
	for stage, want := range map[Stage]float64{
		Decode: .1, Encode: .1, Upstream: .2, HTTPServer: .2, Collector: .1, Scheduler: .1, Accounts: .1, Patch: .05, Other: .05, Transport: 0,
	} {
		if got[stage] != want {
			t.Errorf("%s: %v, want %v", stage, got[stage], want)
		}
	}
}

// Every stage of a rule is one that is shown.
func TestRulesHaveStages(t *testing.T) {
	known := map[Stage]bool{}
	for _, s := range Stages() {
		known[s] = true
	}
	for _, r := range rules {
		if !known[r.stage] {
			t.Errorf("%s: %s", r.prefix, r.stage)
		}
	}
}

// What is added to the commands compiles against a command that knows nothing of it.
func TestBuild(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"go.mod":                  "module example.org/m\n\ngo 1.26.0\n",
		"cmd/genway/main.go":      "package main\n\nfunc main() {}\n",
		"cmd/genway-core/main.go": "package main\n\nfunc main() {}\n",
		"cmd/genway-edge/main.go": "package main\n\nfunc main() {}\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := Build(t.Context(), root, dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"genway", "genway-core", "genway-edge"} {
		program, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(program), Env) {
			t.Errorf("%s does not profile", name)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Build(cancelled, root, dir); err == nil {
		t.Error("built after the end")
	}
}
