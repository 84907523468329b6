package spec_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/genway/genway/test/conformance/check"
	"github.com/genway/genway/test/conformance/server"
)

// kit runs genway-conformance against a server of the contract and returns its report.
func kit(t *testing.T, args ...string) string {
	t.Helper()
	program, err := server.Binary("genway-conformance")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
	if err != nil {
		t.Errorf("genway-conformance %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// TestKit: the sandbox, Genway in front of it, and a core in another language keep the contract.
func TestKit(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"sandbox", "generation", "chat", server.ForeignCore} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := ways.ByKind[kind]
			if s == nil {
				t.Skip("SKIPPED: no Python with gRPC: docs/examples/server-python was not tested")
			}
			report := kit(t, s.GRPC, "--key", s.Keys["internal"], "--text-model", "sandbox-text", "--image-model", "sandbox-image")
			for _, skip := range []string{"skip  tools", "skip  images", "skip  count", "skip  errors"} {
				if kind == "chat" && skip == "skip  count" {
					continue // the protocol of the upstream has no such operation
				}
				check.Truef(t, !strings.Contains(report, skip), "%s", report)
			}
		})
	}
}

// TestForeignUpstream: Genway routes to an upstream in another language that has no CountTokens, no tools and no images.
func TestForeignUpstream(t *testing.T) {
	t.Parallel()
	if _, err := server.Python(); err != nil {
		t.Skip("SKIPPED: docs/examples/server-python was not tested:", err)
	}
	upstream, address, err := server.StartPython("upstream.py", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := upstream.Stop(); err != nil {
			t.Error(err)
		}
	})
	check.Contains(t, kit(t, address), "skip  count: ")

	file := filepath.Join(t.TempDir(), "genway.yaml")
	configuration := fmt.Sprintf("upstreams:\n  shout: {kind: generation, target: %q}\nroutes:\n  - {model: shout, targets: [{upstream: shout}]}\n", address)
	if err := os.WriteFile(file, []byte(configuration), 0o600); err != nil {
		t.Fatal(err)
	}
	g := server.Start(t, server.Options{Args: []string{"--config", file}})
	check.Contains(t, kit(t, g.GRPC, "--key", g.Keys["internal"], "--text-model", "shout"), "ok    text/same")
	for _, op := range operations() {
		if op.name == "image generation" {
			continue
		}
		h := op.headers()
		for name, value := range h {
			for group, key := range keys() {
				h[name] = strings.Replace(value, key, g.Keys[group], 1)
				value = h[name]
			}
		}
		body := op.body()
		if body["model"] != nil {
			body["model"] = "shout"
		}
		a := send(t, "POST", g.URL()+strings.Replace(op.path, "sandbox-text", "shout", 1), h, body)
		check.Equal(t, op.name, a.status, 200)
		check.Contains(t, a.raw, "SAY HELLO.")
	}
}
