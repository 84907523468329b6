package harness

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/genway/genway/core"
	"github.com/genway/genway/core/auth"
	"github.com/genway/genway/core/capture/vault"
	"github.com/genway/genway/core/items"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/limit"
	"github.com/genway/genway/core/upstream"
	"github.com/genway/genway/core/upstream/remote"
	"github.com/genway/genway/gateway"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/overload"
	"github.com/genway/genway/test/cases/fake"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
)

// Config changes a gateway from its defaults. The zero value is good.
type Config struct {
	// Bubble is for a test in a bubble of synctest, whose clock goes on only when everything waits: callers,
	// gateway and upstreams are joined by connections in memory, since a wait for a socket does not count.
	Bubble bool
	// Heartbeat is the edge's; 0 is none at all.
	Heartbeat time.Duration
	// MaxBodyBytes is the edge's; 0 is its default.
	MaxBodyBytes int64
	// CORSOrigins are the edge's.
	CORSOrigins []string
	// Remote changes the adapters' configuration before they are made.
	Remote func(*remote.Config)
	// Wrap replaces what the core sees of the upstreams.
	Wrap func(upstream.Upstream) upstream.Upstream
	// Keys know the callers. Default: one key a group, each named like its group.
	Keys auth.Keys
	// Ledger accounts for the calls; nil does not.
	Ledger *ledger.Recorder
	// Limiter and Prices hold callers to their limits; nil does not.
	Limiter *limit.Limiter
	Prices  core.Pricer
	// Overload refuses requests, of edge and core; nil admits all.
	Overload *overload.Gate
	// Captures keep bodies of calls that the ledger has; nil keeps none.
	Captures *vault.Vault
	// Items keep what callers may refer to; nil keeps nothing.
	Items *items.Keeper
	// Background is how many responses one key may have in the background.
	Background int
}

// Gateway is a running gateway with a fake upstream of each protocol.
type Gateway struct {
	Chat, Responses, Messages, GenerateContent, Interactions, Images *fake.Upstream
	// URL is the edge's address, without a path.
	URL string
	// Core is the core's contract, for direct callers.
	Core genwayv1.GenerationClient

	t    *testing.T
	log  lockedBuffer
	dial dialer // nil without a bubble
}

// New starts a gateway that stops with the test.
func New(t *testing.T, config Config) *Gateway {
	t.Helper()
	var memory network
	start := func(Protocol) *fake.Upstream { return fake.New(t) }
	if config.Bubble {
		memory = network{}
		start = func(p Protocol) *fake.Upstream { return fake.Serve(t, memory.listen(string(p)), "http://"+string(p)) }
	}
	g := &Gateway{t: t, dial: memory.dialer(), Chat: start(Chat), Responses: start(Responses), Messages: start(Messages), GenerateContent: start(GenerateContent), Interactions: start(Interactions), Images: start(Images)}
	routes := byPrefix{}
	for _, p := range append(Texts(), Images) {
		adapter := remote.Config{Protocol: p.ID(), BaseURL: g.Upstream(p).URL, APIKey: "upstream-key-of-" + string(p)}
		if config.Remote != nil {
			config.Remote(&adapter)
		}
		u, transport := newAdapter(t, adapter, g.dial)
		t.Cleanup(transport.CloseIdleConnections)
		routes[string(p)] = u
	}
	var behind upstream.Upstream = routes
	if config.Wrap != nil {
		behind = config.Wrap(behind)
	}
	service, err := core.New(core.Config{Upstream: behind, Ledger: config.Ledger, Items: config.Items, Background: config.Background, Captures: config.Captures, Limiter: config.Limiter, Prices: config.Prices})
	if err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(context.Background())
	end()
	t.Cleanup(func() { service.Drain(ended) })
	log := slog.New(slog.NewTextHandler(&g.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	heartbeat := config.Heartbeat
	if heartbeat == 0 {
		heartbeat = -1
	}
	callers := config.Keys
	if callers == nil {
		callers = groupKeys{}
	}
	joined := channel(service, callers, config.Overload, log)
	g.Core = genwayv1.NewGenerationClient(joined)
	edge, err := gateway.New(gateway.Config{Core: joined, Heartbeat: heartbeat, MaxBodyBytes: config.MaxBodyBytes, CORSOrigins: config.CORSOrigins, Gate: config.Overload, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	if config.Bubble {
		server := &httptest.Server{Listener: memory.listen("edge"), Config: &http.Server{Handler: edge}}
		server.Start()
		t.Cleanup(server.Close)
		g.URL = "http://edge"
		return g
	}
	server := httptest.NewServer(edge)
	t.Cleanup(server.Close)
	g.URL = server.URL
	return g
}

// Upstream returns the fake upstream of a protocol.
func (g *Gateway) Upstream(p Protocol) *fake.Upstream {
	return map[Protocol]*fake.Upstream{Chat: g.Chat, Responses: g.Responses, Messages: g.Messages, GenerateContent: g.GenerateContent, Interactions: g.Interactions, Images: g.Images}[p]
}

// Log returns what edge and core have logged so far.
func (g *Gateway) Log() string { return g.log.String() }

// channel joins edge and core in one process, as the command genway does.
func channel(service *core.Service, callers auth.Keys, shed *overload.Gate, log *slog.Logger) grpc.ClientConnInterface {
	interceptors := core.Interceptors{Authenticator: auth.Authenticator{Keys: callers, Trust: auth.TrustAll}, Gate: shed, Logger: log}
	return core.Channel(service, interceptors, health.NewServer())
}

// groupKeys knows one key a group, each named like its group.
type groupKeys struct{}

func (groupKeys) Authenticate(_ context.Context, raw string) (keys.Principal, error) {
	group, err := keys.ParseGroup(raw)
	if err != nil {
		return keys.Principal{}, keys.ErrWrongKey
	}
	return keys.Principal{KeyID: "key_" + raw, Group: group}, nil
}
