package gateway

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/genway/genway/internal/identifier"
	"github.com/genway/genway/internal/overload"
	"github.com/genway/genway/protocol"
	"github.com/genway/genway/telemetry/flight"
	"github.com/genway/genway/telemetry/instrument"
	"github.com/genway/genway/telemetry/tracing"
	"google.golang.org/grpc"
)

// Config is what an edge needs. Core is required; everything else has a default.
type Config struct {
	// Core is the connection to the Generation service. Requests carry the whole canonical
	// message, unless the connection is Deferring and reports that its core takes less.
	Core grpc.ClientConnInterface
	// WholeBodies has all requests carry the whole message. Default: false.
	WholeBodies bool
	// Headers says in which headers keys and versions come.
	Headers Headers
	// MaxBodyBytes bounds a request body, after decompression. Default 64 MiB.
	MaxBodyBytes int64
	// BodyMemory bounds the memory for request bodies of all requests together, in bytes;
	// one key and one address may have half of it each. Default 1 GiB; at least four times
	// MaxBodyBytes.
	BodyMemory int64
	// BodyTimeout is how long a body may make no progress. Default 30 s.
	BodyTimeout time.Duration
	// MinUploadRate is how fast a body must come, in bytes a second, over each
	// BodyTimeout. Default 1,000; negative is any.
	MinUploadRate int64
	// WriteTimeout is how long a caller may take to accept the next piece of an
	// answer. Default 60 s.
	WriteTimeout time.Duration
	// Heartbeat is how long a stream may be silent before the edge says that it
	// is alive. Default 10 s; negative turns heartbeats off.
	Heartbeat time.Duration
	// TrustedProxies are the addresses of proxies in front of the edge, whose word in
	// X-Forwarded-For on where a request comes from is taken. Default: none.
	TrustedProxies []netip.Prefix
	// CORSOrigins are the origins whose pages may call the edge from a browser: * for
	// all, or each as browsers send it (https://app.example). Default: none.
	CORSOrigins []string
	// Draining, if set, is closed when the edge is about to end: it is not ready any more,
	// and its callers reconnect to another edge.
	Draining <-chan struct{}
	// Gate refuses requests while the process is overloaded; nil admits all. In one
	// process it is the core's too.
	Gate *overload.Gate
	// Metrics count requests; nil does not. Tracer makes their spans; nil makes none.
	Metrics *instrument.Edge
	Tracer  *tracing.Tracer
	// Board lists the requests in flight; nil does not.
	Board *flight.Board
	// NewRequestID makes request identifiers. Default:
	// req_ and 32 hexadecimal digits.
	NewRequestID func() string
	// Logger gets one line a request. Default: slog.Default().
	Logger *slog.Logger
}

// Deferring is a connection that knows whether its core takes deferred bodies, as do the connections of
// Dial and of core.Channel do (proto/genway/edge/v1).
type Deferring interface {
	grpc.ClientConnInterface
	// TakesDeferredBodies reports whether the core has announced that it takes them.
	TakesDeferredBodies() bool
}

// Headers names the headers in which keys and versions come, as configuration:
// the interface names some of them by neutral words, real SDKs use the vendors'.
// Names match without regard to case.
type Headers struct {
	// Keys are headers with the bare key of protocols, by their group (protocol.Protocol.KeyGroup).
	// Default: the protocol's. A protocol that has its key only in Authorization has none.
	Keys map[string][]string
	// Versions are the headers with the version of a protocol, by its kind. Default: the
	// protocol's. They have no effect for a protocol without such a header.
	Versions map[string][]string
	// Passed are the headers that travel with the body to an upstream of the caller's
	// protocol, which takes its vendor's. A name that ends in a dash matches all
	// with that prefix. Default: the protocol's.
	Passed []string
}

// names is a list of headers.
type names struct {
	// shown are the headers as they are configured.
	shown []string
	// read are the same as http.Header has them.
	read []string
}

// namesOf returns the headers that are configured, or else the protocol's.
func namesOf(configured, own []string) names {
	if len(configured) == 0 || len(own) == 0 {
		configured = own
	}
	n := names{shown: configured}
	for _, name := range configured {
		n.read = append(n.read, http.CanonicalHeaderKey(name))
	}
	return n
}

func (c *Config) setDefaults() error {
	if c.Core == nil {
		return errors.New("gateway: no connection to a core")
	}
	if c.MaxBodyBytes == 0 {
		c.MaxBodyBytes = 64 << 20
	}
	// A compressed body is held twice, and a caller has half of the budget.
	least := 4 * c.MaxBodyBytes
	if c.BodyMemory == 0 {
		c.BodyMemory = max(1<<30, least)
	}
	if c.BodyMemory < least {
		return fmt.Errorf("gateway: memory for bodies of %d bytes; bodies of up to %d bytes need at least %d", c.BodyMemory, c.MaxBodyBytes, least)
	}
	if c.MinUploadRate == 0 {
		c.MinUploadRate = 1000
	}
	if c.BodyTimeout == 0 {
		c.BodyTimeout = 30 * time.Second
	}
	if c.WriteTimeout == 0 {
		c.WriteTimeout = 60 * time.Second
	}
	if c.Heartbeat == 0 {
		c.Heartbeat = 10 * time.Second
	}
	if c.NewRequestID == nil {
		c.NewRequestID = func() string { return identifier.New("req_") }
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return nil
}

// defers returns the function that reports whether requests may carry deferred bodies now.
func (c *Config) defers() func() bool {
	if core, ok := c.Core.(Deferring); ok && !c.WholeBodies {
		return core.TakesDeferredBodies
	}
	return func() bool { return false }
}

// passedWith returns the headers that pass with the bodies of a protocol: by default its own, and
// those that name a session, by which routes may go.
func (h *Headers) passedWith(p *protocol.Protocol) []string {
	if len(h.Passed) > 0 {
		return h.Passed
	}
	return slices.Concat(protocol.SessionHeaders, p.PassedHeaders)
}
