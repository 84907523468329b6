// Package protocol is the home of the JSON protocols: one file for each, and one table of
// all. Facts of a protocol as a whole are declared here once: its names, the group of its
// keys, its paths, where a key and a version go in requests, how its streams are framed,
// which headers belong to it, how its upstreams are addressed, and its codec. The edge, the
// upstream adapter, authentication, configuration, overrides and routing read the table.
//
// A new protocol is one value of the enum in the contract, its HTTP bindings there, a
// codec, and one file here whose row this file lists.
//
// The package is below gateway and core. It imports codecs and the contract, and must not
// import net/http, grpc, gateway or core.
package protocol

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/listing"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Protocol is what is true of one JSON protocol. A registered Protocol is never changed.
type Protocol struct {
	// ID is the contract's value of the protocol.
	ID genwayv1.Protocol
	// Name is the protocol's name in the metadata between edge and core, in logs, metrics
	// and the ledger: the enum's in lower case (chat_completions). It is stored and never
	// changes.
	Name string
	// Kind is the protocol's name in the configuration and on command lines, as the kind of
	// an upstream and as the protocol of a route's callers (chat).
	Kind string
	// KeyGroup is the group whose keys serve the protocol, by its name in core/keys.
	KeyGroup string

	// Bindings are the public paths. Those of the contract's protocols are read from its
	// google.api.http annotations.
	Bindings []Binding
	// Key is where the key goes, in requests to the edge and to upstreams.
	Key Key
	// Version is the header with the protocol's version.
	Version Version
	// Stream is how streams are framed for callers.
	Stream Framing
	// Rates are the headers that report its limits to a caller; nil for a protocol that has
	// none.
	Rates *RateHeaders
	// PassedHeaders are the headers of a request, in lower case, that travel with its body
	// to an upstream of the protocol: they turn on what the body asks for. It is a list as
	// NamesHeader takes it.
	PassedHeaders []string
	// AnswerHeaders are the headers of an upstream's answer that a caller of the protocol
	// may read, in canonical form, as a list that NamesHeader takes: what its client reads,
	// and what one cites when asking the vendor about a call. Headers that name the
	// gateway's account with the vendor, or what is left of its quota, are not among them.
	AnswerHeaders []string
	// FirstSteps are the first steps of paths, behind the version, that only clients of
	// the protocol send, beside its own paths: an error for an unknown path below them is
	// in the protocol's shape.
	FirstSteps []string
	// Example is the body of a first request, in which {{Model}} is replaced by the model and
	// {{Size}} for the size of an image.
	Example string
	// IDs are how the vendor begins identifiers.
	IDs IDs
	// ListQuery is the query parameter by which an agent asks for the list of models in this
	// protocol's form, on the path that protocols share; empty for none.
	ListQuery string
	// ResumeQuery is the query parameter of a stream of an answer that is stored with the number of the event after which it
	// begins; empty for a protocol without such answers.
	ResumeQuery string
	// PagedModels reports that the list of models comes in pages. Callers of other
	// protocols get the whole list unless they ask for less.
	PagedModels bool

	// Telemetry are the names that metrics and spans of calls to upstreams have.
	Telemetry Telemetry

	// Upstream is what is true of upstreams of the protocol.
	Upstream Upstream

	// Codec translates text; nil for a protocol without text. What else it can (count
	// tokens, list models, compact) it says by the optional interfaces of package codec.
	Codec codec.Codec
	// Images reports that the protocol is for images, whose codec is codec/images.
	Images bool
	// Models declares the members of bodies that name models. nil declares none.
	Models *Models
	// Conversation is where bodies have their conversation. By the tables of codec/setting, errors and losses
	// name members as the caller knows them.
	Conversation Conversation
	// Errors translates errors. Default: Codec.
	Errors ErrorCodec
}

// ErrorCodec is the part of a codec that translates errors.
type ErrorCodec interface {
	DecodeError(status int, body []byte) *fault.Error
	EncodeError(err *fault.Error) (status int, body []byte)
}

// Key is where a protocol has its key.
type Key struct {
	// Headers are the headers with the bare key, in lower case. The edge takes each of
	// them; upstreams get the first. Without any, the key goes in Authorization, behind
	// the word Bearer.
	Headers []string
	// Bearer reports that the edge takes a key from Authorization, behind the word Bearer.
	Bearer bool
	// Query is the query parameter that the edge takes a key from; empty for none.
	Query string
}

// Version is a header that names the version of a protocol.
type Version struct {
	// Headers are the names under which the edge reads it, in lower case; none for a
	// protocol that has no such header. Upstreams get the first, with Oldest unless they are
	// configured to speak another.
	Headers []string
	// Oldest is the first version that the edge speaks, a date as 2023-06-01. The edge
	// accepts later dates: the vendor's SDKs send them with the same shapes.
	Oldest string
	// Known are the versions that an upstream may be configured to speak, oldest first: those
	// whose requests differ.
	Known []string
}

// Sent returns the version of a request by the headers that came with its body: the oldest where
// they say none.
func (v Version) Sent(headers map[string]string) string {
	if len(v.Headers) == 0 {
		return ""
	}
	return cmp.Or(headers[v.Headers[0]], v.Oldest)
}

// CheckVersion refuses what a request holds that its version does not take, for requests that
// are decoded: a request that passes through is judged by the upstream.
func (p *Protocol) CheckVersion(req *genwayv1.GenerateTextRequest, headers map[string]string) error {
	versioned, ok := p.Codec.(codec.Versioned)
	if !ok {
		return nil
	}
	return versioned.CheckVersion(req, p.Version.Sent(headers))
}

// Telemetry are the names of a protocol in OpenTelemetry's conventions for generative AI.
type Telemetry struct {
	// Provider is gen_ai.provider.name: whose protocol it is, whichever operator runs the
	// upstream. Default: Protocol.Kind.
	Provider string
	// Operation is gen_ai.operation.name of a call that generates. Default: chat.
	Operation string
}

// The convention's names of operations. It has none for images: generate_content is its
// name for operations of several modalities.
const (
	OperationChat            = "chat"
	OperationGenerateContent = "generate_content"
)

// IDs are how a vendor begins the identifiers of answers and of tool calls.
type IDs struct{ Answer, Call string }

// Framing is how a stream is framed for callers.
type Framing struct {
	// Query is the query parameter by which a stream in server-sent events is asked for,
	// where the protocol streams as one JSON array without it. Upstreams get it with each
	// streamed call. The zero Param is a protocol that always streams in events.
	Query Param
	// Array is the value of that parameter that asks for the array, as its absence does.
	Array string
	// Heartbeat is what keeps a silent stream open where the protocol has no ping event:
	// a comment, or what else the official SDKs skip.
	Heartbeat string
	// Comments reports that callers skip comments of server-sent events. The official
	// SDKs of generateContent fail on them.
	Comments bool
	// Batches reports that several of an upstream's events may pass to the caller at once.
	Batches bool
}

// Param is a query parameter and its value.
type Param struct{ Name, Value string }

// RateHeaders are the headers by which a protocol's vendor reports a caller's standing with
// its limits a minute, in canonical form: the limit, what remains of it, and its reset.
type RateHeaders struct {
	Requests, Tokens [3]string
	// Reset spells when a limit that is used now will be unused again.
	Reset func(in time.Duration) string
	// Budget returns the headers that report a budget of money; nil for a vendor that has none.
	Budget func(Budget) map[string]string
}

// Budget is a caller's standing with a budget of money.
type Budget struct {
	// Spent is the part that is spent, 0 to 1 and beyond.
	Spent float64
	// Period is day or month.
	Period string
	// Shared reports that others spend of it as well.
	Shared bool
	// Reset is when it is full again.
	Reset time.Time
	// Refused reports that the request is refused because of it.
	Refused bool
}

// Compacts reports whether the protocol compacts conversations by an operation of its own.
func (p *Protocol) Compacts() bool { return p.binding(Compact) != nil }

// Serves reports whether upstreams of the protocol answer requests for images, or for text. Some draw in answers of text.
func (p *Protocol) Serves(images bool) bool {
	if !images {
		return !p.Images
	}
	_, draws := p.Codec.(codec.Drawer)
	return p.Images || draws
}

// NamesModelInPath reports whether requests name the model in the path, not in the body.
func (p *Protocol) NamesModelInPath() bool {
	b := p.binding(Generate)
	return b != nil && b.Model != ""
}

// registered are the protocols, in the order in which they are listed to people. Of protocols whose keys come in one
// header, the last answers at the paths that protocols share. The list is replaced, never changed.
var registered = tableOf(&chatCompletions, &responsesProtocol, &messagesProtocol, &interactionsProtocol, &generateContent, &imagesProtocol)

func tableOf(all ...*Protocol) *atomic.Pointer[[]*Protocol] {
	table := &atomic.Pointer[[]*Protocol]{}
	table.Store(&all)
	return table
}

// Direct describes callers of the contract itself, which speak no JSON protocol. It has
// no paths and no codec.
var Direct = &Protocol{ID: genwayv1.Protocol_PROTOCOL_UNSPECIFIED, Name: "grpc", Kind: "grpc", KeyGroup: "internal", Telemetry: Telemetry{Provider: "genway", Operation: OperationChat}}

// unknown is a protocol that is not registered.
var unknown = &Protocol{}

// Register adds a protocol to the table, which keeps a copy. It is for wiring code and
// tests, and is called before the edges and cores are made that are to serve the protocol:
// each of them reads the table when it is made. The error names what is missing, or what
// another protocol has already.
func Register(p *Protocol) error {
	if p.ID == Direct.ID || p.Name == "" || p.Kind == "" || p.main() == nil || p.Codec == nil && !p.Images {
		return fmt.Errorf("protocol: %q (%d, kind %q): expected an ID, a name, a kind, a path that generates and a codec", p.Name, p.ID, p.Kind)
	}
	own := *p
	own.Upstream.Listing = cmp.Or(p.Upstream.Listing, listing.OpenAI)
	own.Telemetry.Provider, own.Telemetry.Operation = cmp.Or(p.Telemetry.Provider, p.Kind), cmp.Or(p.Telemetry.Operation, OperationChat)
	for {
		old := registered.Load()
		for _, other := range append(slices.Clone(*old), Direct) {
			if other.ID == p.ID || other.Name == p.Name || other.Kind == p.Kind {
				return fmt.Errorf("protocol: %s (%d, kind %s): %s has that number, name or kind already", p.Name, p.ID, p.Kind, other.Name)
			}
			for _, b := range p.Bindings {
				if slices.ContainsFunc(other.Bindings, b.same) {
					return fmt.Errorf("protocol: %s: the path %s%s is %s's already", p.Name, b.Prefix, b.Suffix, other.Name)
				}
			}
		}
		list := append(slices.Clone(*old), &own)
		if registered.CompareAndSwap(old, &list) {
			return nil
		}
	}
}

// All returns the registered protocols in the order in which they are listed to people. The
// list must not be changed.
func All() []*Protocol { return *registered.Load() }

// Of returns the protocol of that ID: Direct for PROTOCOL_UNSPECIFIED, and a Protocol
// without names and codec for one that is not registered. It is never nil.
func Of(id genwayv1.Protocol) *Protocol {
	if id == Direct.ID {
		return Direct
	}
	for _, p := range All() {
		if p.ID == id {
			return p
		}
	}
	return unknown
}

// ByName returns the protocol of that Name; nil for none.
func ByName(name string) *Protocol {
	for _, p := range All() {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// ByKind returns the protocol of that Kind; nil for none. Direct is one.
func ByKind(kind string) *Protocol {
	for _, p := range append(slices.Clip(All()), Direct) {
		if p.Kind == kind {
			return p
		}
	}
	return nil
}

// Kinds returns the Kind of each registered protocol, in their order.
func Kinds() []string {
	var kinds []string
	for _, p := range All() {
		kinds = append(kinds, p.Kind)
	}
	return kinds
}

// ErrorCodec returns the codec of the protocol's errors.
func (p *Protocol) ErrorCodec() ErrorCodec {
	if p.Errors != nil {
		return p.Errors
	}
	return p.Codec
}

// Events reports whether a caller's query asks for a stream in server-sent events. A framing that
// the protocol does not have is refused: the caller could not read any other. The parameter may
// have a dollar sign before its name, as the vendor's common parameters may.
func (f Framing) Events(query string) (bool, error) {
	if f.Query.Name == "" || query == "" {
		return f.Query.Name == "", nil
	}
	asked, _ := url.ParseQuery(query) // what is no pair is nothing that was asked for
	for _, name := range []string{f.Query.Name, "$" + f.Query.Name} {
		switch value := asked.Get(name); value {
		case "":
		case f.Query.Value:
			return true, nil
		case f.Array:
			return false, nil
		default:
			return false, fault.Invalid(name, "%s: expected %s or %s, got %.60q", name, f.Array, f.Query.Value, value)
		}
	}
	return false, nil
}

// SessionHeaders are the headers, in lower case, by which clients name the session that a
// request belongs to, in the order in which they are looked at: Claude Code's, opencode's and
// pi's, and Codex', which sent the last in older versions. They reach the core with the
// body, and no upstream.
var SessionHeaders = []string{"x-claude-code-session-id", "x-session-affinity", "x-session-id", "session-id", "session_id"}
