package gateway

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"google.golang.org/grpc"
)

// Config is what an edge needs. Core is required; everything else has a default.
type Config struct {
	// Core is the connection to the Generation service.
	Core grpc.ClientConnInterface
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
	// NewRequestID makes request identifiers. Default: req_ and 26 random
	// characters.
	NewRequestID func() string
	// Logger gets one line a request. Default: slog.Default().
	Logger *slog.Logger
}

// Headers names the headers in which keys and versions come, as configuration:
// the interface names some of them by neutral words, real SDKs use the vendors'.
// Names match without regard to case.
type Headers struct {
	// MessagesKey are headers with the bare key of the messages protocol, besides
	// Authorization: Bearer. Default x-api-key.
	MessagesKey []string
	// GenerateContentKey are those of the generateContent protocol, besides the
	// query parameter key. Default x-goog-api-key, x-vendorc-api-key.
	GenerateContentKey []string
	// Version are the headers with the version of the messages protocol. Default
	// anthropic-version, vendorb-version.
	Version []string
	// Beta are protocol headers that travel with the body to an upstream of the
	// same protocol, which takes those of its vendor. Default anthropic-beta,
	// anthropic-version, openai-beta.
	Beta []string
}

// canonical gives the names as http.Header has them.
func (h Headers) canonical() Headers {
	for _, names := range []*[]string{&h.MessagesKey, &h.GenerateContentKey, &h.Version, &h.Beta} {
		own := make([]string, len(*names))
		for i, name := range *names {
			own[i] = http.CanonicalHeaderKey(name)
		}
		*names = own
	}
	return h
}

func (c *Config) setDefaults() error {
	if c.Core == nil {
		return errors.New("gateway: no connection to a core")
	}
	defaultTo(&c.Headers.MessagesKey, "x-api-key")
	defaultTo(&c.Headers.GenerateContentKey, "x-goog-api-key", "x-vendorc-api-key")
	defaultTo(&c.Headers.Version, "anthropic-version", "vendorb-version")
	defaultTo(&c.Headers.Beta, "anthropic-beta", "anthropic-version", "openai-beta")
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
		c.NewRequestID = newRequestID
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return nil
}

func defaultTo(list *[]string, names ...string) {
	if len(*list) == 0 {
		*list = names
	}
}
