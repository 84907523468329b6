// Package edgeproc runs the edge: its flags, its listener and its end. It must not
// import core, so that the edge's binary holds no store and no upstream code.
package edgeproc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/gateway"
	"github.com/genway/genway/internal/certs"
	"github.com/genway/genway/internal/connections"
	"github.com/genway/genway/internal/overload"
	"github.com/genway/genway/internal/proxyprotocol"
	"github.com/genway/genway/telemetry"
	"github.com/genway/genway/telemetry/flight"
	"github.com/genway/genway/telemetry/instrument"
	"github.com/genway/genway/telemetry/tracing"
	"google.golang.org/grpc"
)

// EdgeFlags are the edge's flags.
type EdgeFlags struct { //nolint:recvcheck // only UseGate and UseTelemetry change it
	HTTP string `name:"http" env:"GENWAY_HTTP" default:"127.0.0.1:8080" placeholder:"ADDR" group:"JSON side:" help:"Address of the JSON side: HOST:PORT or unix:PATH."`
	TLSFlags
	MaxBody      int64         `name:"max-body-bytes" env:"GENWAY_MAX_BODY_BYTES" default:"67108864" least:"1" most:"2147483647" type:"bytes" placeholder:"BYTES" group:"Limits:" help:"Largest request body, after decompression; at most 2 GiB."`
	BodyMemory   int64         `name:"body-memory" env:"GENWAY_BODY_MEMORY" least:"0" type:"bytes" placeholder:"BYTES" group:"Limits:" help:"Memory limit for the bodies of all requests together, at least 4 × --max-body-bytes. Default: 1 GiB."`
	Heartbeat    time.Duration `env:"GENWAY_HEARTBEAT" default:"10s" group:"JSON side:" help:"Silence after which a stream sends a heartbeat; 0 or a negative value: none."`
	WriteTimeout time.Duration `env:"GENWAY_WRITE_TIMEOUT" default:"60s" least:"1s" group:"JSON side:" help:"How long a caller may take to accept the next part of an answer."`

	TrustedProxy []cli.Network `name:"trusted-proxy" env:"GENWAY_TRUSTED_PROXIES" placeholder:"CIDR" group:"JSON side:" help:"Proxies whose X-Forwarded-For is trusted: networks or addresses."`

	cli.Connections

	ProxyProtocol []cli.Network `name:"proxy-protocol" env:"GENWAY_PROXY_PROTOCOL" placeholder:"CIDR" group:"JSON side:" help:"Load balancers whose connections begin with a PROXY header: networks or addresses."`

	CORSOrigin []string `name:"cors-origin" env:"GENWAY_CORS_ORIGINS" placeholder:"ORIGIN" group:"JSON side:" help:"Origins whose pages may call from a browser: SCHEME://HOST[:PORT], or *."`

	MessagesKeyHeader        []string `env:"GENWAY_MESSAGES_KEY_HEADERS" default:"x-api-key" placeholder:"NAME" group:"JSON side:" help:"Headers with the key of the messages protocol."`
	GenerateContentKeyHeader []string `name:"generatecontent-key-header" env:"GENWAY_GENERATECONTENT_KEY_HEADERS" default:"x-goog-api-key,x-vendorc-api-key" placeholder:"NAME" group:"JSON side:" help:"Headers with the key of generateContent and interactions."`
	VersionHeader            []string `env:"GENWAY_VERSION_HEADERS" default:"anthropic-version,vendorb-version" placeholder:"NAME" group:"JSON side:" help:"Headers with the version of the messages protocol."`

	DeferBodies bool `name:"defer-bodies" env:"GENWAY_DEFER_BODIES" default:"true" negatable:"" group:"JSON side:" help:"Send cores that can take it only the settings decoded, and the raw body."`

	gate         *overload.Gate
	inside       net.Listener
	telemetry    *telemetry.Telemetry
	metrics      *instrument.Edge
	pages        Pages
	board        *flight.Board
	coreIsRemote bool
}

// linger is how long callers with an idle connection may still use it after the shutdown delay:
// more than a request takes to get here, and no more than the end can wait for.
const linger = time.Second

// UseGate sets the gate that refuses requests while the process is overloaded. Without
// one all are admitted.
func (f *EdgeFlags) UseGate(gate *overload.Gate) { f.gate = gate }

// UseInside has Serve accept the connections of this listener as well: in cleartext, from parts of
// this process. Serve closes it. Without one there are none.
func (f *EdgeFlags) UseInside(listener net.Listener) { f.inside = listener }

// heartbeat is negative for never, as the gateway has it: its 0 is the default.
func (f EdgeFlags) heartbeat() time.Duration {
	if f.Heartbeat == 0 {
		return -1
	}
	return f.Heartbeat
}

// Listener is the edge's.
type Listener struct {
	net.Listener
	// Certificates encrypt its connections; nil is cleartext.
	Certificates *certs.Source
}

// ListenHTTP checks settings, reads the edge's certificates and opens its listener.
func (f EdgeFlags) ListenHTTP(ctx context.Context) (Listener, error) {
	if least := 4 * f.MaxBody; f.BodyMemory != 0 && f.BodyMemory < least {
		return Listener{}, cli.UsageError{Err: fmt.Errorf("--body-memory (GENWAY_BODY_MEMORY): expected at least %d bytes, four times --max-body-bytes, got %d", least, f.BodyMemory)}
	}
	if err := gateway.CheckOrigins(f.CORSOrigin); err != nil {
		return Listener{}, cli.UsageError{Err: fmt.Errorf("--cors-origin (GENWAY_CORS_ORIGINS): %w", err)}
	}
	certificates, err := f.open()
	if err != nil {
		return Listener{}, err
	}
	listener, err := cli.Listen(ctx, "--http", f.HTTP)
	return Listener{Listener: listener, Certificates: certificates}, err
}

// Serve serves the edge on the listener, in front of core, until ctx ends and the
// requests in flight are done or the grace is over. count, which may be nil, counts the
// connections that it refuses or ends. A ctx of cli.Delay says when the end is near.
func (f EdgeFlags) Serve(ctx context.Context, listener Listener, core grpc.ClientConnInterface, grace time.Duration, log *slog.Logger, count func(port, reason string)) error {
	notices, proxies := connections.NewNotices(log, "http", count), cli.Prefixes(f.TrustedProxy)
	edge, err := gateway.New(gateway.Config{ //nolint:contextcheck // the registration outlives ctx, as the connection does
		Core:        core,
		WholeBodies: !f.DeferBodies,
		Headers: gateway.Headers{
			Keys:     map[string][]string{"messages": f.MessagesKeyHeader, "generatecontent": f.GenerateContentKeyHeader},
			Versions: map[string][]string{"messages": f.VersionHeader},
		},
		MaxBodyBytes:   f.MaxBody,
		BodyMemory:     f.BodyMemory,
		TrustedProxies: proxies,
		CORSOrigins:    f.CORSOrigin,
		Heartbeat:      f.heartbeat(),
		WriteTimeout:   f.WriteTimeout,
		Draining:       cli.Draining(ctx),
		Gate:           f.gate,
		Metrics:        f.metrics,
		Tracer:         f.tracer(),
		Board:          f.board,
		Logger:         log,
	})
	if err != nil {
		return err
	}
	unwatch, err := f.watch(edge, listener, log) //nolint:contextcheck // the watch outlives the start
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer unwatch()
	if len(f.ProxyProtocol) > 0 {
		refused := func(from net.Addr) { notices.Add(proxyprotocol.Refusal, from) }
		listener.Listener = proxyprotocol.NewListener(listener.Listener, proxyprotocol.Config{Balancers: cli.Prefixes(f.ProxyProtocol), Refused: refused})
	}
	limited, err := f.Limit(listener.Listener, proxies, notices)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	config := gateway.ServerConfig{Grace: cli.Grace(grace), Logger: log, Notices: notices, TrustedProxies: proxies}
	var following sync.WaitGroup
	followed, stop := context.WithCancel(ctx)
	defer func() {
		stop()
		following.Wait()
	}()
	f.servePages(followed, edge, &following, log)
	if f.inside != nil {
		inside := config
		following.Go(func() {
			if err := gateway.Serve(followed, f.inside, edge, inside); err != nil {
				log.Error("the gateway no longer answers the console of this process", "error", err)
			}
		})
	}
	if listener.Certificates != nil {
		config.TLS = listener.Certificates.Server(&tls.Config{MinVersion: tls.VersionTLS12, NextProtos: gateway.NextProtos()})
		following.Go(func() { certs.Follow(followed, log, listener.Certificates) })
	}
	// Without a delay the end is meant to be at once.
	config.Linger = min(linger, cli.DelayOf(ctx))
	return gateway.Serve(ctx, limited, edge, config)
}

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

// Instruments are set by UseTelemetry; nil before.
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

// TLSFlags name the certificates of the JSON side.
type TLSFlags struct {
	HTTPCert     []string `name:"http-cert" env:"GENWAY_HTTP_CERT" type:"existingfile" placeholder:"FILE" group:"JSON side:" help:"PEM certificate of the JSON side with those of its issuers; turns TLS on. Of several, SNI selects one."`
	HTTPKey      []string `name:"http-key" env:"GENWAY_HTTP_KEY" type:"existingfile" placeholder:"FILE" group:"JSON side:" help:"PEM key of each certificate, in their order."`
	HTTPClientCA string   `name:"http-client-ca" env:"GENWAY_HTTP_CLIENT_CA" type:"existingfile" placeholder:"FILE" group:"JSON side:" help:"Authorities of client certificates (PEM), for keys that require one."`
}

// open reads the certificates; nil without any.
func (f TLSFlags) open() (*certs.Source, error) {
	switch {
	case len(f.HTTPCert) != len(f.HTTPKey):
		return nil, cli.UsageError{Err: fmt.Errorf("--http-cert names %d files and --http-key %d; each certificate needs its key, in the same order", len(f.HTTPCert), len(f.HTTPKey))}
	case len(f.HTTPCert) == 0 && f.HTTPClientCA != "":
		return nil, cli.UsageError{Err: errors.New("--http-client-ca needs --http-cert and --http-key")}
	case len(f.HTTPCert) == 0:
		return nil, nil //nolint:nilnil // no TLS is no error
	}
	var files certs.Files
	for i, cert := range f.HTTPCert {
		files.Pairs = append(files.Pairs, certs.Pair{Cert: cert, Key: f.HTTPKey[i]})
	}
	if f.HTTPClientCA != "" {
		files.Authorities = []string{f.HTTPClientCA}
	}
	source, err := certs.Open(files)
	if err != nil {
		return nil, fmt.Errorf("TLS of --http: %w", err)
	}
	return source, nil
}

// Scheme is the scheme of the listener's URLs.
func (l Listener) Scheme() string {
	if l.Certificates != nil {
		return "https"
	}
	return "http"
}
