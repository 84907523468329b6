// Package remote is the upstream adapter for services that speak one of the JSON protocols
// over HTTP: a codec, an address and credentials, with what a call needs beside: deadlines, connections,
// memory, and the buffer that holds the beginning of a stream back.
//
// To a caller of the same protocol the bytes pass through: the upstream gets the
// caller's body with only the members the gateway owns patched, the caller gets
// the upstream's answer. To all others everything goes through the canonical
// messages.
//
// It must not import the gateway.
package remote

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/dialect"
	"github.com/genway/genway/core/upstream"
	"github.com/genway/genway/core/upstream/provider"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
)

// Config says where an upstream is and what it speaks.
type Config struct {
	// Name tells the upstream from others, for Upstream.Account.
	Name string
	// Protocol is what it speaks. Required.
	Protocol genwayv1.Protocol
	// BaseURL is the base URL that the SDK of the protocol takes: with the version for chat,
	// responses and images (https://host/v1), without it for messages and generateContent
	// (https://host). A version is added to a URL without a path, and never a second one. A query
	// is added to every call. Required.
	BaseURL string
	// Path takes the place of the protocol's own path (chat/completions) and version behind
	// the base's; "/" adds none. For generateContent it is that of the models. Empty is the
	// protocol's.
	Path string
	// Query goes with every call, after the base's.
	Query map[string]string
	// APIKey goes where the protocol puts it; empty sends none.
	APIKey string
	// Credential authorises calls in place of a key that stays the same; nil is none.
	Credential Credential
	// Place describes the provider that runs the upstream; nil is the protocol's vendor.
	Place *provider.Endpoint
	// Dialect lists the members of chat completions that it takes, for requests that are translated;
	// nil lists OpenAI's and the additions of others.
	Dialect *dialect.Chat
	// Version is the version of the protocol that it is called with, whatever the caller's; empty
	// is the caller's for its own body, and the oldest for any other.
	Version string
	// Headers are sent with every call.
	Headers map[string]string
	// LeaveUsage does not ask streams of chat completions for their usage. Usage that they report
	// anyway is sent to every caller of the protocol.
	LeaveUsage bool
	// Models is the listing. ListModels asks the upstream for its own.
	Models []*genwayv1.Model
	// HTTP makes the calls. Default: NewTransport with its defaults.
	HTTP http.RoundTripper
	// FirstByte is how long the headers of an answer may take, and how long a
	// stream may have only heartbeats. Default 10 min: unary answers come
	// after all thinking.
	FirstByte time.Duration
	// Idle is how long an answer may make no progress once it has begun. Default
	// 5 min.
	Idle time.Duration
	// Hold is how long a stream without content is held back from the caller, so that a failure
	// until then is a plain error. Default 15 s.
	Hold time.Duration
	// Grace is how long an upstream may keep a stream open after the answer has
	// ended, for usage that may follow. Default 5 s.
	Grace time.Duration
	// MaxAnswerBytes bounds a unary answer and one event of a stream, after
	// decompression. Default 64 MiB, for images 120 MiB: a little less than a gRPC message
	// takes.
	MaxAnswerBytes int64
	// Trace adds the context of the trace to the headers of calls (traceparent, tracestate, baggage).
	Trace bool
	// Memory is the budget that the answers of all upstreams share. Default: one of its own.
	Memory *AnswerMemory
}

// Upstream is an adapter.
type Upstream struct {
	config   Config
	protocol *protocol.Protocol
	base     *url.URL
	codec    codec.Codec // the protocol's; nil for images
	// These are shared by all calls: a request without address and body, headers, and the addresses
	// of operations if the protocol does not have the model in them.
	blank     *http.Request
	own       atomic.Pointer[http.Header]
	keys      atomic.Pointer[[]string] // the current key, and the previous one
	account   atomic.Pointer[string]
	addresses map[protocol.Operation]*url.URL
	// trusts says whether the upstream keeps pooled connections, by the kind of call that they served
	// last.
	trusts    [kinds]trust
	freshOnce sync.Once
	freshHTTP http.RoundTripper
	held      atomic.Int64 // bytes of Config.Memory
}

var _ upstream.Upstream = (*Upstream)(nil)

// New makes an adapter. Nothing is sent before the first call.
func New(config Config) (*Upstream, error) {
	base, err := url.Parse(config.BaseURL)
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		return nil, fmt.Errorf("remote: base URL %q: expected http(s)://host[/path]", config.BaseURL)
	}
	spec := protocol.Of(config.Protocol)
	if spec.Codec == nil && !spec.Images {
		return nil, errors.New("remote: no protocol")
	}
	u := &Upstream{config: config, protocol: spec, base: base, codec: spec.Codec}
	if u.config.HTTP == nil {
		u.config.HTTP = NewTransport(Way{})
	}
	if u.config.FirstByte == 0 {
		u.config.FirstByte = 10 * time.Minute
	}
	if u.config.Idle == 0 {
		u.config.Idle = 5 * time.Minute
	}
	if u.config.Hold == 0 {
		u.config.Hold = 15 * time.Second
	}
	if u.config.Grace == 0 {
		u.config.Grace = 5 * time.Second
	}
	if u.config.MaxAnswerBytes == 0 {
		u.config.MaxAnswerBytes = DefaultMaxAnswerBytes(spec)
	}
	if u.config.Memory == nil {
		u.config.Memory = NewAnswerMemory(0)
	}
	if u.blank, err = http.NewRequest(http.MethodPost, config.BaseURL, http.NoBody); err != nil { //nolint:noctx // each call has its own
		return nil, fmt.Errorf("remote: base URL %q: %w", config.BaseURL, err)
	}
	u.blank.Host = "" // that of the address
	u.useKeys(config.APIKey)
	if !u.namesModelInPath() {
		u.addresses = map[protocol.Operation]*url.URL{}
		for _, op := range operations {
			u.addresses[op] = u.addressOf(op, "")
		}
	}
	return u, nil
}

// DefaultMaxAnswerBytes is Config.MaxAnswerBytes where it is not set.
func DefaultMaxAnswerBytes(p *protocol.Protocol) int64 {
	return cmp.Or(p.Upstream.MaxAnswerBytes, 64<<20)
}

// Models returns the configured listing.
func (u *Upstream) Models() []*genwayv1.Model { return u.config.Models }
