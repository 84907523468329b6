package protocol

import (
	"strings"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
)

// Operation is what a path asks for.
type Operation int

// The operations. Generate, Count, Compact and Draw read a body; of Generate and Draw the
// body may say that the answer is streamed. Stream is a path that always streams.
const (
	Generate Operation = iota + 1
	Stream
	Count
	Compact
	Draw
	ListModels
	GetModel
)

// Binding is one public path of a protocol.
type Binding struct {
	Operation Operation
	// Method is the HTTP method.
	Method string
	// Prefix is the path, or what stands ahead of the model in one that names a model.
	Prefix string
	// Suffix follows the model: a verb with its colon. Empty where the path has no verb.
	Suffix string
	// Model is the field of the contract's request that the path's model is for, as
	// request.model; empty for a path without a model.
	Model string
}

// same reports whether two paths match the same requests.
func (b Binding) same(other Binding) bool {
	return b.Method == other.Method && b.Prefix == other.Prefix && b.Suffix == other.Suffix
}

// compactSuffix is how the path ends that compacts conversations: an operation of its own
// that the contract maps onto GenerateText.
const compactSuffix = "/compact"

// StreamSuffix ends the contract's paths of streams that a body asks for. Only the edge calls
// them: they are no public paths.
const StreamSuffix = ":stream"

var operations = map[string]Operation{
	"GenerateText": Generate, "StreamGenerateText": Stream, "CountTokens": Count, "GenerateImage": Draw,
	"ListModels": ListModels, "GetModel": GetModel,
}

// Contract returns the public paths that the contract's annotations bind, in their order.
func Contract() []Binding {
	var found []Binding
	methods := genwayv1.File_genway_v1_generation_proto.Services().ByName("Generation").Methods()
	for i := range methods.Len() {
		rule, ok := proto.GetExtension(methods.Get(i).Options(), annotations.E_Http).(*annotations.HttpRule)
		if !ok || rule == nil {
			continue
		}
		for _, r := range append([]*annotations.HttpRule{rule}, rule.GetAdditionalBindings()...) {
			b := bindingOf(r)
			b.Operation = operations[string(methods.Get(i).Name())]
			if strings.HasSuffix(b.Prefix, compactSuffix) {
				b.Operation = Compact
			}
			if !strings.HasSuffix(b.Prefix, StreamSuffix) {
				found = append(found, b)
			}
		}
	}
	return found
}

// bindingOf reads one rule: a path of literals, with at most one field for the model.
func bindingOf(r *annotations.HttpRule) Binding {
	b := Binding{Method: "GET", Prefix: r.GetGet()}
	if r.GetPost() != "" {
		b.Method, b.Prefix = "POST", r.GetPost()
	}
	if prefix, rest, ok := strings.Cut(b.Prefix, "{"); ok {
		field, suffix, _ := strings.Cut(rest, "}")
		b.Prefix, b.Suffix = prefix, suffix
		b.Model, _, _ = strings.Cut(field, "=")
	}
	return b
}

// bound returns the paths of the contract for which own is true.
func bound(own func(Binding) bool) []Binding {
	var found []Binding
	for _, b := range Contract() {
		if own(b) {
			found = append(found, b)
		}
	}
	return found
}

// below claims the paths below a prefix.
func below(prefix string) func(Binding) bool {
	return func(b Binding) bool { return strings.HasPrefix(b.Prefix, prefix) }
}

// binding returns the first path of an operation; nil for none.
func (p *Protocol) binding(op Operation) *Binding {
	for i := range p.Bindings {
		if p.Bindings[i].Operation == op {
			return &p.Bindings[i]
		}
	}
	return nil
}
