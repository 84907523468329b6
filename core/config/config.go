// Package config is what an operator writes: which upstreams there are and which
// models go to which of them. It is one YAML file, read strictly; without one, the
// sandbox alone answers.
//
// The structs are the file's schema: their tags name the keys, their comments say
// what they mean. The package must not import the packages it configures, but for
// core/limit, whose words for money and periods are everybody's.
package config

import (
	"fmt"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// Config is the whole file.
type Config struct {
	// Store is where keys and the ledger are kept: a PostgreSQL URL or the path of an
	// SQLite file; empty is genway.db in the data directory. Read at the start alone.
	Store string `yaml:"store,omitempty" json:"store,omitempty" jsonschema_description:"Where keys and the ledger are kept: postgres://USER:PASSWORD@HOST:PORT/DATABASE, best as ${NAME} from the environment, or the path of an SQLite file. Default: genway.db in the data directory. Read at the start alone."`
	// Upstreams are the services that answer, by a name of the operator's.
	Upstreams map[string]Upstream `yaml:"upstreams,omitempty" json:"upstreams,omitempty" jsonschema_description:"The services that answer, by a name of your own. The name sandbox is the built-in one."`
	// Routes say which models go where; the first that matches wins. Required.
	Routes []Route `yaml:"routes,omitempty" json:"routes,omitempty" jsonschema_description:"Which models go where. The first route that matches wins."`
	// Ledger is how long the ledger keeps what.
	Ledger Ledger `yaml:"ledger,omitempty" json:"ledger,omitzero" jsonschema_description:"How long the ledger keeps what."`
	// Prices is a file of package core/price: what requests cost.
	Prices string `yaml:"prices,omitempty" json:"prices,omitempty" jsonschema_description:"A file with prices, as docs/prices.md has it; a relative path begins beside this file. It is read again with this one, and on change."`
	// Limits hold keys, owners and models to what they were given.
	Limits *Limits `yaml:"limits,omitempty" json:"limits,omitempty" jsonschema_description:"What keys, owners and models are held to."`

	warnings Errors
}

// Kinds are what an upstream may speak.
var Kinds = []string{"chat", "responses", "messages", "generatecontent", "images", "generation", "sandbox"}

// Upstream is a service that answers.
type Upstream struct {
	// Kind is the protocol it speaks, one of Kinds.
	Kind string `yaml:"kind" json:"kind" jsonschema:"enum=chat,enum=responses,enum=messages,enum=generatecontent,enum=images,enum=generation,enum=sandbox" jsonschema_description:"The protocol it speaks."`
	// BaseURL is what the protocol's own SDK takes: with the version for chat, responses
	// and images, without it for messages and generatecontent. A version is added to a
	// host alone. Not for generation and sandbox.
	BaseURL string `yaml:"base_url,omitempty" json:"base_url,omitempty" jsonschema_description:"What the protocol's own SDK takes as its base URL: https://host/v1 for chat, responses and images, https://host for messages and generatecontent."`
	// Path takes the place of the protocol's path and version behind BaseURL; / adds none.
	Path string `yaml:"path,omitempty" json:"path,omitempty" jsonschema_description:"What to call behind base_url instead of the protocol's own path (chat/completions); for generatecontent the path of the models."`
	// Query goes with every call.
	Query map[string]string `yaml:"query,omitempty" json:"query,omitempty" jsonschema_description:"Members of the query of every call, as api-version."`
	// Target is the gRPC target of a Generation server, for kind generation.
	Target string `yaml:"target,omitempty" json:"target,omitempty" jsonschema_description:"The gRPC target of another Generation server, for kind generation: dns:///host:9090."`
	// TLS encrypts the gRPC hop, for kind generation.
	TLS bool `yaml:"tls,omitempty" json:"tls,omitempty" jsonschema_description:"Encrypt the gRPC hop, for kind generation."`
	// APIKey goes where the protocol puts it.
	APIKey string `yaml:"api_key,omitempty" json:"api_key,omitempty" jsonschema_description:"The credential, best as ${NAME} from the environment."`
	// APIKeyFile is a file with the key, in place of APIKey.
	APIKeyFile string `yaml:"api_key_file,omitempty" json:"api_key_file,omitempty" jsonschema_description:"A file with the credential; a relative path begins beside this file. It is read again when it changes."`
	// Proxy is the address of an HTTP(S) or SOCKS proxy; none is no proxy, whatever the
	// environment says.
	Proxy string `yaml:"proxy,omitempty" json:"proxy,omitempty" jsonschema_description:"A proxy: http://, https:// or socks5://host:port; none is none. Without it, the environment's."`
	// CAFile has the certificates to trust in place of the system's.
	CAFile string `yaml:"ca_file,omitempty" json:"ca_file,omitempty" jsonschema_description:"A PEM file with the certificate authorities to trust in place of the system's."`
	// CertFile and KeyFile are what the upstream knows us by, where it asks.
	CertFile string `yaml:"cert_file,omitempty" json:"cert_file,omitempty" jsonschema_description:"A PEM file with the client certificate to show the upstream."`
	KeyFile  string `yaml:"key_file,omitempty" json:"key_file,omitempty" jsonschema_description:"A PEM file with that certificate's key."`
	// Headers are sent with every call.
	Headers map[string]string `yaml:"headers,omitempty" json:"headers,omitempty" jsonschema_description:"Headers sent with every call."`
	// FirstByte is how long the headers of an answer may take. Default 10m.
	FirstByte Duration `yaml:"first_byte,omitempty" json:"first_byte,omitempty" jsonschema:"type=string" jsonschema_description:"How long an answer may take to begin; default 10m."`
	// Idle is how long an answer may make no progress. Default 5m.
	Idle Duration `yaml:"idle,omitempty" json:"idle,omitempty" jsonschema:"type=string" jsonschema_description:"How long an answer may make no progress; default 5m."`
	// Deadline is how long one call may take in all. Default 1h.
	Deadline Duration `yaml:"deadline,omitempty" json:"deadline,omitempty" jsonschema:"type=string" jsonschema_description:"How long one call may take in all, whatever its progress; default 1h."`
	// StreamUsage is whether streams are asked for their usage: ask, or leave, which sends
	// what the caller asked for and passes the answer on in full. For chat. Default ask.
	StreamUsage string `yaml:"stream_usage,omitempty" json:"stream_usage,omitempty" jsonschema:"enum=ask,enum=leave" jsonschema_description:"For kind chat, whether streams are asked for their usage: ask (default), whatever the caller asks for, or leave, for an upstream that sends usage unasked or refuses to be asked."`
	// OnCancel is what becomes of a call whose caller leaves: cancel, or drain, which
	// reads the answer on for at most DrainFor. Defaults cancel and 30s.
	OnCancel string   `yaml:"on_cancel,omitempty" json:"on_cancel,omitempty" jsonschema:"enum=cancel,enum=drain" jsonschema_description:"What becomes of a call whose caller leaves: cancel (default), or drain to account for what the upstream says it cost."`
	DrainFor Duration `yaml:"drain_for,omitempty" json:"drain_for,omitempty" jsonschema:"type=string" jsonschema_description:"How long an answer is read on for a caller who left; default 30s."`
	// Models are the names the upstream is listed with, or that it is asked for them.
	Models Models `yaml:"models,omitempty" json:"models,omitzero" jsonschema_description:"Names to list at /v1/models as far as a route leads to them, or discover: the upstream is asked for its own list, at the start, on a reload and every five minutes."`
	// MaxConcurrent bounds the calls at once; 0 is no bound.
	MaxConcurrent int `yaml:"max_concurrent,omitempty" json:"max_concurrent,omitempty" jsonschema:"minimum=0" jsonschema_description:"Most calls at once; without it, no bound."`
	// Retries is how often a call that failed before its answer began is made again;
	// -1 is never. Default 1.
	Retries int `yaml:"retries,omitempty" json:"retries,omitempty" jsonschema:"minimum=-1" jsonschema_description:"How often a call that failed before its answer began is made again; default 1, -1 is never."`
	// BreakAfter is the failures in a row after which the upstream is left alone for
	// BreakFor; -1 is never. Defaults 5 and 10s.
	BreakAfter int      `yaml:"break_after,omitempty" json:"break_after,omitempty" jsonschema:"minimum=-1" jsonschema_description:"Failures in a row after which the upstream is left alone; default 5, -1 is never."`
	BreakFor   Duration `yaml:"break_for,omitempty" json:"break_for,omitempty" jsonschema:"type=string" jsonschema_description:"How long it is left alone; default 10s."`
}

// Route sends models to targets.
type Route struct {
	// Model is a name or a glob: * is any run of characters.
	Model string `yaml:"model" json:"model" jsonschema_description:"A model's name, or a glob: gpt-*, *."`
	// Protocols limits the route to callers of these; empty is all, direct gRPC
	// callers included.
	Protocols []string `yaml:"protocols,omitempty" json:"protocols,omitempty" jsonschema:"enum=chat,enum=responses,enum=messages,enum=generatecontent,enum=images,enum=grpc" jsonschema_description:"Only for callers of these protocols; without it, for all."`
	// Targets share the load by weight. Where some speak the caller's protocol, they
	// alone do, since they lose nothing.
	Targets []Target `yaml:"targets" json:"targets" jsonschema:"minItems=1" jsonschema_description:"Where the requests go, by weight. Where some speak the caller's protocol, only to those."`
	// Fallback are tried in order when the targets fail in a way another try may
	// mend, as long as nothing of the answer has reached the caller.
	Fallback []Target `yaml:"fallback,omitempty" json:"fallback,omitempty" jsonschema_description:"Tried in order when the targets fail before anything of the answer was sent."`
	// Deadline is how long a request may take in all, retries and fallback included;
	// without it, no bound but those of the upstreams. Each target must begin its answer
	// within its share of what is left.
	Deadline Duration `yaml:"deadline,omitempty" json:"deadline,omitempty" jsonschema:"type=string" jsonschema_description:"How long a request may take in all, retries and fallback included; each target must begin its answer within its share."`
	// DropTools has no effect: a target that lacks a hosted tool is not offered it, whatever
	// its type. The key is read so that older files still load.
	DropTools []string `yaml:"drop_tools,omitempty" json:"drop_tools,omitempty" jsonschema_description:"Deprecated, without effect: hosted tools that a target lacks are left out and named, unless the caller demands one."`
	// Strict refuses what the target cannot carry instead of naming it in the losses.
	Strict bool `yaml:"strict,omitempty" json:"strict,omitempty" jsonschema_description:"Refuse requests of which something would be lost."`
}

// Target is an upstream and the model to ask it for.
type Target struct {
	Upstream string `yaml:"upstream" json:"upstream" jsonschema_description:"The name of an upstream, or sandbox."`
	// Model is the upstream's name for the model; empty is the caller's.
	Model string `yaml:"model,omitempty" json:"model,omitempty" jsonschema_description:"The upstream's name for the model; without it, the caller's."`
	// Weight is the target's share of the load; nil and 0 are 1.
	Weight *int `yaml:"weight,omitempty" json:"weight,omitempty" jsonschema:"minimum=0,maximum=1000000" jsonschema_description:"Share of the load; default 1."`
	// Overrides change the parameters of requests.
	Overrides `yaml:",inline"`
}

// Duration is a time.Duration spelled as in Go: 1m30s.
type Duration time.Duration

// UnmarshalYAML reads a duration. The error says where.
func (d *Duration) UnmarshalYAML(node ast.Node) error {
	text := node.GetToken().Value
	if s, ok := node.(*ast.StringNode); ok {
		text = s.Value // with its variables expanded
	}
	v, err := time.ParseDuration(text)
	if err != nil {
		return &yaml.SyntaxError{Token: node.GetToken(), Message: fmt.Sprintf("%q is no duration; write 90s, 5m or 1h30m", text)}
	}
	*d = Duration(v)
	return nil
}

// MarshalText writes it.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }
