package provider

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/genway/genway/codec/dialect"
)

// Custom is the name of the provider that assumes nothing: an upstream at its base_url that
// speaks its kind as the protocol's vendor does.
const Custom = "custom"

// Provider is a place where models live. A registered one is never changed.
type Provider struct {
	// Name is its word in the configuration, Title its name for people.
	Name, Title string
	// Engine says that operators run it themselves, so that it belongs to their traces.
	Engine bool
	// Auth are the ways of auth that it takes, as the configuration names them, beside
	// command, which any takes. Empty takes any.
	Auth []string
	// KeyEnv is the variable that its own tools read the key from; empty for none.
	KeyEnv string
	// Endpoints are what it serves. Of several for a kind, the first is the default.
	Endpoints []Endpoint
	// Notes are what its users should know: quirks of its errors and streams.
	Notes []string
}

// Endpoint is an address that a place serves one or several protocols at.
type Endpoint struct {
	// Name tells it from others for the same kind in the configuration.
	Name string
	// Kinds are the kinds of upstreams that it serves.
	Kinds []string
	// Base is the base URL as the SDK of the protocol takes it; {host}, {resource}, {project}
	// and {region} are the operator's. Empty has the operator write base_url.
	Base string
	// Hosts are the hosts of regions whose {host} is not the common one, which is under "".
	Hosts map[string]string
	// KeyHeader is where a static key goes, if that is not where the protocol has it; in
	// Authorization it follows the word Bearer.
	KeyHeader string
	// Scope is what tokens of Entra are for, and Service what signatures of AWS are for.
	Scope, Service string
	// Generate, Stream and Count are the paths behind the base, if they are not the
	// protocol's. {model} is the model's name.
	Generate, Stream, Count string
	// NoCount and NoList say that tokens cannot be counted, and models not be listed.
	NoCount, NoList bool
	// Version is set as the body's anthropic_version where the caller gives none. A body of
	// such an endpoint has no model, which the path names, but for Count.
	Version string
	// NoStream says that the body has no stream, which the path says, and that the header
	// anthropic-beta goes into the body's anthropic_beta.
	NoStream bool
	// EventStream says that streams are framed by AWS's event stream, and errors are AWS's.
	EventStream bool
	// Errors is how errors of the place are shaped that are not the protocol's: aws or google.
	Errors string
	// Betas are those of the vendor of messages that the place has under another name, needs or
	// refuses. Any other passes as the caller sends it.
	Betas []Beta
	// Chat is what it documents to take of chat completions; nil is what OpenAI takes. Other
	// members are left out of translated requests, and named.
	Chat *dialect.Chat
	// Documents is the page that Chat was read from, and when, if that is not Source; whether it
	// was read whole or in excerpts.
	Documents string
	// Headers are headers of its answers that callers of the protocol may read, beside the
	// protocol's own. A name that ends in a dash stands for all that begin so.
	Headers []string
	// Source is the page that the row was read from, and Read when.
	Source, Read string
}

// All are the providers, by name.
var All = []*Provider{
	&anthropic, &azure, &bedrock, &deepseek, &fireworks, &gemini, &groq, &llamacpp, &mistral, &ollama,
	&openai, &openrouter, &tgi, &together, &vertex, &vllm, &xai,
}

// Names are the words of the configuration.
func Names() []string {
	names := make([]string, 0, len(All)+1)
	for _, p := range All {
		names = append(names, p.Name)
	}
	return append(names, Custom)
}

// Find returns a provider; nil for Custom and for one that is not known.
func Find(name string) *Provider {
	for _, p := range All {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// Kinds are the kinds that it serves.
func (p *Provider) Kinds() []string {
	var kinds []string
	for _, e := range p.Endpoints {
		for _, kind := range e.Kinds {
			if !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
			}
		}
	}
	return kinds
}

// Endpoint returns the endpoint for a kind: the one of a name, or the first. It is nil if there
// is none; names are those that there are for the kind.
func (p *Provider) Endpoint(kind, name string) (found *Endpoint, names []string) {
	for i := range p.Endpoints {
		e := &p.Endpoints[i]
		if !slices.Contains(e.Kinds, kind) {
			continue
		}
		if e.Name != "" {
			names = append(names, e.Name)
		}
		if found == nil && (name == "" || name == e.Name) {
			found = e
		}
	}
	return found, names
}

var parameter = regexp.MustCompile(`\{[a-z]+\}`)

// Parameters are what the operator has to say for the base: resource, project, region.
func (e *Endpoint) Parameters() []string {
	text := e.Base
	if strings.Contains(text, "{host}") {
		text += strings.Join(slices.Collect(maps.Values(e.Hosts)), "")
	}
	var names []string
	for _, p := range []string{"resource", "project", "region"} {
		if strings.Contains(text, "{"+p+"}") {
			names = append(names, p)
		}
	}
	return names
}

// At returns the base URL with the operator's parameters. An origin that is not empty
// (https://host) takes the place of the base's own.
func (e *Endpoint) At(origin string, parameters map[string]string) string {
	base := e.Base
	if origin != "" {
		_, rest, _ := strings.Cut(base, "://")
		_, path, _ := strings.Cut(rest, "/")
		base = strings.TrimRight(strings.TrimRight(origin, "/")+"/"+path, "/")
	}
	host, known := e.Hosts[parameters["region"]]
	if !known {
		host = e.Hosts[""]
	}
	base = strings.ReplaceAll(base, "{host}", host)
	return parameter.ReplaceAllStringFunc(base, func(p string) string { return parameters[strings.Trim(p, "{}")] })
}

// String names the endpoint for errors.
func (e *Endpoint) String() string { return fmt.Sprintf("endpoint %q", e.Name) }
