// Package config reads and validates the configuration file: which upstreams there are and which
// models go to which of them. The file is YAML, decoded strictly; without it, only
// the sandbox answers.
//
// The structs are the file's schema: their tags name the keys, their comments say
// what they mean. The package must not import the packages it configures, but for
// core/limit, which defines money and periods, core/capture, which defines what may be captured
// and reads its keys, and core/upstream/provider, which is data.
package config

import (
	"bytes"
	"compress/gzip"
	_ "embed" // the schema
	"io"
	"maps"
	"slices"

	"github.com/genway/genway/protocol"
)

// Config is the whole file.
type Config struct {
	// Store is where keys and the ledger are kept: a PostgreSQL URL or the path of an
	// SQLite file; empty is genway.db in the data directory. Read only at the start.
	Store string `yaml:"store,omitempty" json:"store,omitempty" jsonschema_description:"Where keys and the ledger are kept: postgres://USER:PASSWORD@HOST:PORT/DATABASE, best as ${NAME} from the environment, or the path of an SQLite file. Default: genway.db in the data directory. Read only at the start."`
	// Upstreams are the services that answer, by a name of the operator's.
	Upstreams map[string]Upstream `yaml:"upstreams,omitempty" json:"upstreams,omitempty" jsonschema_description:"The services that answer, by a name of your own. The name sandbox is the built-in one."`
	// Routes say which models go where; the first that matches wins. Required.
	Routes []Route `yaml:"routes,omitempty" json:"routes,omitempty" jsonschema_description:"Which models go where. The first route that matches wins."`
	// Ledger is how long the ledger keeps what.
	Ledger Ledger `yaml:"ledger,omitempty" json:"ledger,omitzero" jsonschema_description:"How long the ledger keeps rows."`
	// ReportCost has answers tell callers what they cost.
	ReportCost bool `yaml:"report_cost,omitempty" json:"report_cost,omitempty" jsonschema_description:"Tell callers what each answer costs: the header x-genway-cost, in streams a trailer, and the contract's field cost. Default false."`
	// Prices is a file of package core/price: what requests cost.
	Prices string `yaml:"prices,omitempty" json:"prices,omitempty" jsonschema_description:"A file with prices, as docs/access.md has it; a relative path begins beside this file. It is read again with this one, and on change."`
	// Catalog is a file of package core/catalog: what models accept.
	Catalog string `yaml:"catalog,omitempty" json:"catalog,omitempty" jsonschema_description:"A file that says what models accept, ahead of what ships, as docs/models.md has it; a relative path begins beside this file. It is read again with this one, and on change."`
	// Console is who signs in to the console.
	Console *Console `yaml:"console,omitempty" json:"console,omitempty" jsonschema_description:"Who signs in to the console, besides keys and links."`
	// Limits hold keys, owners and models to what they were given.
	Limits *Limits `yaml:"limits,omitempty" json:"limits,omitempty" jsonschema_description:"Limits and budgets of keys, owners and models."`
	// Captures is how captured bodies are kept; which are captured is for keys and routes to say.
	Captures *Captures `yaml:"captures,omitempty" json:"captures,omitempty" jsonschema_description:"How captured bodies are kept. Keys and routes say which are captured."`

	warnings Errors
}

// Kinds returns what an upstream may speak: the kinds of the registered protocols, generation
// and sandbox.
func Kinds() []string { return append(protocol.Kinds(), "generation", Sandbox) }

// Upstream is a service that answers.
type Upstream struct {
	// Kind is the protocol it speaks, one of Kinds.
	Kind string `yaml:"kind" json:"kind" jsonschema_description:"The protocol it speaks."`
	// Provider is where it lives, one of the names of package provider. Default custom, which
	// assumes nothing.
	Provider string `yaml:"provider,omitempty" json:"provider,omitempty" jsonschema:"enum=anthropic,enum=azure,enum=bedrock,enum=deepseek,enum=fireworks,enum=gemini,enum=groq,enum=llamacpp,enum=mistral,enum=ollama,enum=openai,enum=openrouter,enum=tgi,enum=together,enum=vertex,enum=vllm,enum=xai,enum=custom" jsonschema_description:"Where it lives: its address, paths and authentication are then known, as docs/reference/providers.md has them. Default custom: what base_url says."`
	// Endpoint is one of the provider's, where it has several for the kind. Default its first.
	Endpoint string `yaml:"endpoint,omitempty" json:"endpoint,omitempty" jsonschema_description:"One of the provider's endpoints, where it has several for the kind: foundry of azure; runtime, mantle or invoke of bedrock."`
	// Resource, Project and Region are parts of the addresses of some providers.
	Resource string `yaml:"resource,omitempty" json:"resource,omitempty" jsonschema_description:"The name of the resource, for provider azure."`
	Project  string `yaml:"project,omitempty" json:"project,omitempty" jsonschema_description:"The project, for provider vertex."`
	Region   string `yaml:"region,omitempty" json:"region,omitempty" jsonschema_description:"The region, for providers bedrock and vertex (its location: global, us, eu or a region)."`
	// BaseURL is what the protocol's own SDK takes: with the version for chat, responses
	// and images, without it for messages and generatecontent. A version is added to a
	// bare host. Not for generation and sandbox. With a provider it may be left out, or be
	// another host (https://host).
	BaseURL string `yaml:"base_url,omitempty" json:"base_url,omitempty" jsonschema_description:"What the protocol's own SDK takes as its base URL: https://host/v1 for chat, responses and images, https://host for messages and generatecontent."`
	// Path takes the place of the protocol's path and version after BaseURL; / adds none.
	Path string `yaml:"path,omitempty" json:"path,omitempty" jsonschema_description:"What to call behind base_url instead of the protocol's own path (chat/completions); for generatecontent the path of the models."`
	// Query goes with every call.
	Query map[string]string `yaml:"query,omitempty" json:"query,omitempty" jsonschema_description:"Members of the query of every call, as api-version."`
	// Target is the gRPC target of a Generation server, for kind generation.
	Target string `yaml:"target,omitempty" json:"target,omitempty" jsonschema_description:"The gRPC target of another Generation server, for kind generation: dns:///host:9090."`
	// TLS encrypts the gRPC connection, for kind generation.
	TLS bool `yaml:"tls,omitempty" json:"tls,omitempty" jsonschema_description:"Encrypt the gRPC connection, for kind generation."`
	// APIKey goes where the protocol puts it.
	APIKey string `yaml:"api_key,omitempty" json:"api_key,omitempty" jsonschema_description:"The credential, best as ${NAME} from the environment."`
	// APIKeyFile is a file with the key, in place of APIKey.
	APIKeyFile string `yaml:"api_key_file,omitempty" json:"api_key_file,omitempty" jsonschema_description:"A file with the credential; a relative path begins beside this file. It is read again when it changes."`
	// Auth obtains a credential that renews itself, in place of a key.
	Auth *Auth `yaml:"auth,omitempty" json:"auth,omitempty" jsonschema_description:"How to obtain a credential that renews itself, in place of api_key: one of entra, managed_identity, google, aws, command."`
	// Proxy is the address of an HTTP(S) or SOCKS proxy; none is no proxy, whatever the
	// environment says.
	Proxy string `yaml:"proxy,omitempty" json:"proxy,omitempty" jsonschema_description:"A proxy: http://, https:// or socks5://host:port; none is none. Without it, the environment's."`
	// CAFile has the certificates to trust in place of the system's.
	CAFile string `yaml:"ca_file,omitempty" json:"ca_file,omitempty" jsonschema_description:"A PEM file with the certificate authorities to trust in place of the system's."`
	// CertFile and KeyFile are the client certificate for an upstream that asks for one.
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
	// Takes is what a chat upstream is sent of translated requests: what its provider
	// documents, or the least without one, unless it is everything.
	Takes string `yaml:"takes,omitempty" json:"takes,omitempty" jsonschema:"enum=documented,enum=everything" jsonschema_description:"For kind chat, which members a translated request may have: documented (default), those that the provider documents, and the fewest without a provider; or everything, all that OpenAI and others have in the protocol, for an upstream that accepts them, such as another gateway."`
	// APIVersion is the version of messages that the upstream speaks, one of its protocol's
	// Known. Default: the caller's for its own body, and the oldest for any other.
	APIVersion string `yaml:"api_version,omitempty" json:"api_version,omitempty" jsonschema:"enum=2023-06-01,enum=2026-10-21" jsonschema_description:"For kind messages, the version that the upstream is called with (anthropic-version). Requests of another version, and of other protocols, are made to fit it. Without it, callers' own version goes with their bodies, and 2023-06-01 with translated requests."`
	// StreamUsage is whether streams are asked for their usage: ask, or leave, which sends
	// what the caller asked for and passes the answer on in full. For chat. Default ask.
	StreamUsage string `yaml:"stream_usage,omitempty" json:"stream_usage,omitempty" jsonschema:"enum=ask,enum=leave" jsonschema_description:"For kind chat, whether streams are asked for their usage: ask (default) requests it always; leave requests it only when the caller does, for an upstream that always sends usage or refuses the option."`
	// OnCancel is what happens to a call whose caller disconnects: cancel, or drain, which
	// reads the answer on for at most DrainFor. Defaults cancel and 30s.
	OnCancel string   `yaml:"on_cancel,omitempty" json:"on_cancel,omitempty" jsonschema:"enum=cancel,enum=drain" jsonschema_description:"What happens to a call whose caller disconnects: cancel (default) ends it at once; drain reads the answer on, so that the request is settled with the usage that the upstream reports."`
	DrainFor Duration `yaml:"drain_for,omitempty" json:"drain_for,omitempty" jsonschema:"type=string" jsonschema_description:"How long drain reads the answer of a caller that has disconnected; default 30s."`
	// Models are the names the upstream is listed with, or that it is asked for them.
	Models Models `yaml:"models,omitempty" json:"models,omitzero" jsonschema_description:"Names to list at /v1/models as far as a route leads to them, or discover: the upstream is asked for its own list, at the start, on a reload and every five minutes."`
	// Check asks the upstream at intervals whether it answers; nil asks nothing.
	Check *Check `yaml:"check,omitempty" json:"check,omitempty" jsonschema_description:"Ask the upstream at intervals whether it answers, and do not call it while it does not."`
	// MaxConcurrent bounds the calls at once; 0 is no bound.
	MaxConcurrent int `yaml:"max_concurrent,omitempty" json:"max_concurrent,omitempty" jsonschema:"minimum=0" jsonschema_description:"Most calls at once; without it, no bound."`
	// Concurrency says when the upstream gets fewer calls at once than that for some seconds.
	Concurrency Concurrency `yaml:"concurrency,omitempty" json:"concurrency,omitzero" jsonschema_description:"When the upstream gets fewer calls at once for some seconds."`
	// Trace is whether the upstream gets the context of the caller's trace. Default Traces.
	Trace *bool `yaml:"trace,omitempty" json:"trace,omitempty" jsonschema_description:"Whether the upstream gets the context of the caller's trace (traceparent, tracestate, baggage); default true for kind generation and for engines that operators run themselves (llamacpp, ollama, tgi, vllm), else false."`
	// Retries is how often a call that failed before its answer began is made again;
	// -1 is never. Default 1.
	Retries int `yaml:"retries,omitempty" json:"retries,omitempty" jsonschema:"minimum=-1" jsonschema_description:"How often a call that failed before its answer began is made again; default 1, -1 is never."`
	// MaxAnswerBytes bounds one answer, or one event of a stream, after decompression.
	// Defaults 64 MiB, for images and generation 120 MiB, which is the most.
	MaxAnswerBytes Bytes `yaml:"max_answer_bytes,omitempty" json:"max_answer_bytes,omitempty" jsonschema:"minimum=65536,maximum=125829120" jsonschema_description:"Most bytes of one answer, or of one event of a stream, after decompression; default 64 MiB, for images and generation 120 MiB, which is the most."`
	// BreakAfter is the failures in a row after which the circuit breaker opens for
	// BreakFor; -1 is never. Defaults 5 and 10s.
	BreakAfter int      `yaml:"break_after,omitempty" json:"break_after,omitempty" jsonschema:"minimum=-1" jsonschema_description:"Failures in a row after which the circuit breaker opens and the upstream is not called; default 5, -1 is never."`
	BreakFor   Duration `yaml:"break_for,omitempty" json:"break_for,omitempty" jsonschema:"type=string" jsonschema_description:"How long the circuit breaker stays open before it lets one trial call through; default 10s."`
}

// Concurrency says when an upstream gets fewer calls at once for a while.
type Concurrency struct {
	// Adaptive is whether a model gets fewer calls at once while the upstream answers more
	// than a fifth of that model's calls with 429, 503 or 529. Default true.
	Adaptive *bool `yaml:"adaptive,omitempty" json:"adaptive,omitempty" jsonschema_description:"Whether a model gets fewer calls at once while the upstream answers more than a fifth of that model's calls with 429, 503 or 529; default true."`
}

// Check is an active check of an upstream.
type Check struct {
	// Every is the time from one check to the next, and how long one may take. Required.
	Every Duration `yaml:"every" json:"every" jsonschema:"type=string" jsonschema_description:"The time from one check to the next, and how long a check may take: 30s."`
	// Model is what is asked for. Without it the upstream is asked for its list of models.
	Model string `yaml:"model,omitempty" json:"model,omitempty" jsonschema_description:"The upstream's name of a model to check: by a count of tokens where the upstream counts, else by an answer of a few tokens. Without it, the upstream is asked for its list of models."`
}

// Route sends models to targets.
type Route struct {
	// Model is a name or a glob: * is any run of characters.
	Model string `yaml:"model" json:"model" jsonschema_description:"A model's name, or a glob: gpt-*, *."`
	// Protocols limits the route to callers of these; empty is all, direct gRPC
	// callers included.
	Protocols []string `yaml:"protocols,omitempty" json:"protocols,omitempty" jsonschema_description:"Only for callers of these protocols; without it, for all."`
	// Targets share the load by Strategy. If some speak the caller's protocol, only these
	// are tried, since they lose nothing, and then Fallback.
	Targets []Target `yaml:"targets" json:"targets" jsonschema:"minItems=1" jsonschema_description:"Where the requests go. If some targets speak the caller's protocol, only these are tried; a target that is to stand in for them belongs in fallback."`
	// Strategy is how the targets share the load, one of Strategies. Default weight.
	Strategy string `yaml:"strategy,omitempty" json:"strategy,omitempty" jsonschema:"enum=weight,enum=least_busy,enum=fastest" jsonschema_description:"How the targets share the load: weight (default), a random target, each as often as its weight says; least_busy, the one with the fewest calls in flight for its weight; fastest, the one with the lowest moving average of the time until answers begin, times its calls in flight."`
	// Sticky sends the requests of a session to one target while it answers. Default: where targets of one
	// protocol have several accounts.
	Sticky *bool `yaml:"sticky,omitempty" json:"sticky,omitempty" jsonschema_description:"Send requests with one prompt_cache_key, or of one session of a client that names it in a header, to one target while it answers, so that the vendor's prompt cache stays warm. Default: true where targets of one protocol have several accounts."`
	// Fallback are tried in order when the targets fail in a way that another target may
	// not, as long as nothing of the answer has reached the caller.
	Fallback []Target `yaml:"fallback,omitempty" json:"fallback,omitempty" jsonschema_description:"Tried in order when the targets fail before anything of the answer was sent."`
	// Deadline is how long a request may take in all, retries and fallback included;
	// without it, only the upstreams' bounds apply. Each target must begin its answer
	// within its share of what is left.
	Deadline Duration `yaml:"deadline,omitempty" json:"deadline,omitempty" jsonschema:"type=string" jsonschema_description:"How long a request may take in all, retries and fallback included; each target must begin its answer within its share."`
	// DropTools has no effect: a target that lacks a hosted tool is not offered it, whatever
	// its type. The key is read so that older files still load.
	DropTools []string `yaml:"drop_tools,omitempty" json:"drop_tools,omitempty" jsonschema_description:"Deprecated, without effect: hosted tools that a target lacks are left out and named, unless the caller demands one."`
	// Strict refuses what the target cannot carry instead of naming it in the losses.
	Strict bool `yaml:"strict,omitempty" json:"strict,omitempty" jsonschema_description:"Refuse requests with members that the target cannot carry."`
	// Capture has bodies of the route's requests captured; nil captures none.
	Capture *Capture `yaml:"capture,omitempty" json:"capture,omitempty" jsonschema_description:"Capture bodies of the route's requests for a while, as docs/observability.md has it. Without it, none."`
}

// Target is an upstream and the model to ask it for.
type Target struct {
	Upstream string `yaml:"upstream" json:"upstream" jsonschema_description:"The name of an upstream, or sandbox."`
	// Model is the upstream's name for the model; empty is the caller's.
	Model string `yaml:"model,omitempty" json:"model,omitempty" jsonschema_description:"The upstream's name for the model; without it, the caller's."`
	// Weight is the target's share of the load; nil and 0 are 1.
	Weight *int `yaml:"weight,omitempty" json:"weight,omitempty" jsonschema:"minimum=0,maximum=1000000" jsonschema_description:"Share of the load; default 1."`
	// On are the causes for which a fallback is tried, of Causes. Default failure.
	On []string `yaml:"on,omitempty" json:"on,omitempty" jsonschema:"enum=failure,enum=context,enum=policy" jsonschema_description:"When a target of fallback is tried, one or more of: failure (default), the last target failed (429, 5xx, timeout, unreachable); context, the prompt was longer than its model's context window; policy, its vendor's content policy refused the request."`
	// Fit has requests of the upstream's own protocol fit the model, too.
	Fit bool `yaml:"fit,omitempty" json:"fit,omitempty" jsonschema_description:"Have requests of callers that speak the upstream's protocol fit the model as translated ones do, by what the catalogue says: their bodies are not touched otherwise. The target's model is named."`
	// Cache is CacheAuto, or empty.
	Cache string `yaml:"cache,omitempty" json:"cache,omitempty" jsonschema:"enum=auto" jsonschema_description:"auto adds prompt-cache breakpoints to translated requests whose callers set none, for upstreams of kind messages. Without it, only callers set them."`
	// Overrides change the parameters of requests.
	Overrides `yaml:",inline"`
}

// CacheAuto adds prompt-cache breakpoints to the translated requests of a target.
const CacheAuto = "auto"

// Files are the files that are read with this one, but those with keys of upstreams: when one of them
// changes, this one is to be read again.
func (c *Config) Files() []string {
	files := []string{c.Prices, c.Catalog}
	if c.Captures != nil {
		files = append(files, c.Captures.KeyFile)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Upstreams)) {
		u := c.Upstreams[name]
		files = append(files, u.CAFile, u.CertFile, u.KeyFile)
	}
	return slices.DeleteFunc(files, func(file string) bool { return file == "" })
}

// packedSchema is schema.json. What reflects on Config to make it is in the test, and 0.5 MB of a command that
// holds it.
//
//go:embed schema.json.gz
var packedSchema []byte

// Schema returns the JSON Schema of the file, for editors.
func Schema() []byte {
	text, err := gzip.NewReader(bytes.NewReader(packedSchema))
	if err != nil {
		panic(err) // a test reads it
	}
	schema, err := io.ReadAll(text)
	if err != nil {
		panic(err)
	}
	return schema
}

// PricesRemedy says what to do about budgets without prices.
const PricesRemedy = "import prices (genway prices import --format models.dev api.json > prices.yaml) and name the file in the configuration (prices: prices.yaml), or admit such requests uncounted (limits: {unpriced: allow})"

// Ledger is how long the ledger keeps what.
type Ledger struct {
	// RetainDays is how many days the rows of single requests are kept; their sums by day
	// stay. 0 is for good.
	RetainDays Days `yaml:"retain_days,omitempty" json:"retain_days,omitempty" jsonschema:"minimum=0" jsonschema_description:"How many days the rows of single requests are kept; their sums by day stay. Without it, for good."`
}

const (
	// minRetain keeps a request that began yesterday: it may still run.
	minRetain = 2
	// maxRetain is a hundred years, so that arithmetic on days does not overflow.
	maxRetain = 36_500
)

func (l Ledger) validate(at string) error {
	if l.RetainDays > maxRetain {
		return wrong(at+".retain_days", "expected at most %d, or 0 to keep everything, got %d", maxRetain, l.RetainDays)
	}
	if l.RetainDays != 0 && l.RetainDays < minRetain {
		return wrong(at+".retain_days", "expected at least %d, or 0 to keep everything, got %d", minRetain, l.RetainDays)
	}
	return nil
}
