package coreproc

import (
	"log/slog"
	"slices"
	"testing"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/core"
	"github.com/genway/genway/sandbox"
)

// A node says what it is, and which parts do not work at present.
func TestNode(t *testing.T) {
	embedded := sandbox.New(sandbox.Config{TextModel: "text", ImageModel: "image"})
	routing, err := NewRouting("", embedded, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = routing.Close() })
	n := newNode("unix:/run/genway", routing)
	if is := n.now(); is.Host == "" || is.Version != cli.Version() || is.Address != "unix:/run/genway" || is.Configuration != "none" || len(is.Degraded) != 0 {
		t.Errorf("%+v", is)
	}
	service, err := core.New(core.Config{Upstream: embedded})
	if err != nil {
		t.Fatal(err)
	}
	server := core.NewServer(service, core.Interceptors{Logger: slog.New(slog.DiscardHandler)}, core.ServerConfig{})
	t.Cleanup(server.Close)
	n.server.Store(server)
	server.SetFailing([]string{partStore, partLedger})
	n.limitsUnavailable.Store(true)
	if is := n.now(); !slices.Equal(is.Degraded, []string{partStore, partLedger, partLimits}) {
		t.Errorf("%+v", is)
	}
	server.SetFailing(nil)
	n.limitsUnavailable.Store(false)
	if is := n.now(); len(is.Degraded) != 0 {
		t.Errorf("still degraded: %+v", is)
	}
}
