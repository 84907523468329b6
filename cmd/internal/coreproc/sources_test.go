package coreproc

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/genway/genway/cmd/internal/cli"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
)

// program is one with the core's flags.
type program struct{ CoreFlags }

func (*program) Run(context.Context, io.Writer) error { return nil }

// Case U24: what is in force is reported with where it is from, and without secrets; the file that a reload did not
// take is not what is in force.
func TestConfigurationBySource(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "genway.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("store: other.db\nupstreams:\n  one: {kind: chat, base_url: \"https://one.example/v1\", api_key: \"${CANARY_KEY}\"}\nroutes:\n  - {model: \"*\", targets: [{upstream: one}]}\n")
	t.Setenv("CANARY_KEY", "canary")
	t.Setenv("GENWAY_GRPC", "127.0.0.1:0")
	t.Setenv("GENWAY_DATA", dir)
	t.Setenv("GENWAY_OTLP_ENDPOINT", "")
	var given program
	if _, err := (cli.Program{Name: "core", Grammar: &given}).Parse([]string{"--config", file, "--store", filepath.Join(dir, "mine.db"), "--grace=1s"}); err != nil {
		t.Fatal(err)
	}
	core, err := given.Open(t.Context(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = core.Close() })
	check := func(when string) {
		t.Helper()
		members := map[string]*adminv1.ConfigurationMember{}
		resp := core.routing.Configuration()
		for _, m := range resp.GetMembers() {
			members[m.GetName()] = m
		}
		for name, want := range map[string]string{
			"--grace":                "1s FLAG 0 [] ",
			"--grpc":                 "127.0.0.1:0 ENVIRONMENT 0 [GENWAY_GRPC] ",
			"--ledger-sync":          "batch DEFAULT 0 [] ",
			"--data":                 dir + " ENVIRONMENT 0 [GENWAY_DATA] ",
			"--store":                filepath.Join(dir, "mine.db") + " FLAG 0 [] ",
			"--answer-memory":        " DEFAULT 0 [] ",
			"store":                  "other.db FILE 1 [] --store",
			"upstreams.one.base_url": "https://one.example/v1 FILE 3 [] ",
			"upstreams.one.api_key":  "${CANARY_KEY} ENVIRONMENT 3 [CANARY_KEY] ",
			"routes[0].model":        "* FILE 5 [] ",
		} {
			m := members[name]
			got := strings.Join([]string{
				m.GetValue(), strings.TrimPrefix(m.GetSource().String(), "CONFIGURATION_SOURCE_"), strconv.Itoa(int(m.GetLine())),
				"[" + strings.Join(m.GetVariables(), " ") + "]", m.GetOverriddenBy(),
			}, " ")
			if m == nil || got != want {
				t.Errorf("%s, %s: %q, want %q", when, name, got, want)
			}
		}
		if strings.Contains(resp.String(), "canary") {
			t.Errorf("%s: a secret is shown: %v", when, resp)
		}
	}
	check("at the start")
	write("\n\nroutes: [{model: wrong}]\n")
	if err := core.routing.Reload(); err == nil {
		t.Error("a wrong file was taken")
	}
	check("after a file that was not taken")
}

// Addresses with a password are masked wherever they are from.
func TestSourcesAreMasked(t *testing.T) {
	got := bySource([]cli.Setting{
		{Flag: "--store", Value: "postgres://genway:canary@db/genway", Given: true},
		{Flag: "--otlp-endpoint", Value: "https://user:canary@collector", Variable: "GENWAY_OTLP_ENDPOINT"},
		{Flag: "--cors-origin", Value: "https://a.example,https://b.example"},
	}, nil)
	if got[0].GetValue() != "(masked)" || got[1].GetValue() != "(masked)" || got[2].GetValue() != "https://a.example,https://b.example" {
		t.Errorf("%v", got)
	}
}
