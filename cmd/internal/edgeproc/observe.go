package edgeproc

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/gateway"
	"github.com/genway/genway/telemetry"
	"github.com/genway/genway/telemetry/flight"
	"github.com/genway/genway/telemetry/instrument"
	"github.com/genway/genway/telemetry/tracing"
)

// UseTelemetry sets what the edge records by, and the board that lists its requests, which
// may be nil. Without it nothing is recorded.
func (f *EdgeFlags) UseTelemetry(tel *telemetry.Telemetry, board *flight.Board) {
	f.telemetry, f.board = tel, board
	f.metrics = instrument.NewEdge(tel.Registry)
}

// Pages are the listeners of an edge that has no core in its process; nil for none.
type Pages struct{ Metrics, Debug net.Listener }

// ServePages has Serve serve these as well. It says that the core is another process.
func (f *EdgeFlags) ServePages(p Pages) { f.pages, f.coreIsRemote = p, true }

// servePages serves them until ctx ends.
func (f EdgeFlags) servePages(ctx context.Context, edge *gateway.Edge, group *sync.WaitGroup, log *slog.Logger) {
	serve := func(what string, listener net.Listener, run func() error) {
		if listener == nil {
			return
		}
		group.Go(func() {
			if err := run(); err != nil {
				log.Error(what+" cannot be served any more", "error", err)
			}
		})
	}
	serve("metrics", f.pages.Metrics, func() error { return f.telemetry.Serve(ctx, f.pages.Metrics, edge.Failing) })
	serve("pages for debugging", f.pages.Debug, func() error { return f.telemetry.ServeDebug(ctx, f.pages.Debug, f.board) })
}

// Instruments are those of UseTelemetry; nil before.
func (f EdgeFlags) Instruments() *instrument.Edge { return f.metrics }

func (f EdgeFlags) tracer() *tracing.Tracer {
	if f.telemetry == nil {
		return nil
	}
	return f.telemetry.Tracer
}

// watch has the state of the edge read whenever metrics are collected. The result stops it.
func (f EdgeFlags) watch(edge *gateway.Edge, listener Listener, log *slog.Logger) (stop func(), err error) {
	if f.telemetry == nil {
		return func() {}, nil
	}
	state := instrument.State{Certificates: func(yield func(group string, end time.Time)) {
		if end, ok := listener.Certificates.First(); ok {
			yield("http", end)
		}
	}}
	if f.coreIsRemote {
		state.CoreReady, state.LogLinesLost = edge.CoreReady, cli.LinesLost(log)
		state.Ready = func() bool { return len(edge.Failing()) == 0 }
	}
	unregister, err := state.Watch(f.telemetry.Meter)
	if err != nil {
		return nil, err
	}
	return func() { _ = unregister() }, nil // a provider that has ended knows no callbacks
}
