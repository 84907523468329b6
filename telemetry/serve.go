package telemetry

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Serve answers GET /metrics on the listener until ctx ends, and probes: GET /livez with 200,
// GET /readyz with 200, or 503 with the parts that fail. The bodies are those of the edge.
func (t *Telemetry) Serve(ctx context.Context, listener net.Listener, failing func() []string) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { probed(w, nil) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { probed(w, failing()) })
	mux.Handle("GET /metrics", t.Handler())
	return t.serve(ctx, listener, mux, 30*time.Second)
}

// probed answers a probe.
func probed(w http.ResponseWriter, failing []string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	status := "ok"
	if len(failing) > 0 {
		status = "not ready"
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	//nolint:errchkjson // texts can be encoded, and a probe that has disconnected needs no answer
	_ = json.NewEncoder(w).Encode(struct {
		Status  string   `json:"status"`
		Failing []string `json:"failing,omitempty"`
	}{status, failing})
}

// serve answers requests until ctx ends. It returns nil after that.
func (t *Telemetry) serve(ctx context.Context, listener net.Listener, handler http.Handler, write time.Duration) error {
	server := &http.Server{Handler: handler, ReadTimeout: 5 * time.Second, WriteTimeout: write, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(t.log.Handler(), slog.LevelDebug)}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	err := server.Close()
	if served := <-failed; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
