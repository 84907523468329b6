package protocol

import (
	"math"
	"strconv"
	"strings"
	"time"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
)

// Operation is what a path asks for.
type Operation int

// The operations. Generate, Stream, Count, Compact, Draw and Edit read a body; of Generate, Draw and Edit the
// body may say that the answer is streamed. Stream is a path that always streams. GetStored, DeleteStored,
// ListInput and CancelStored are about an answer that is stored.
const (
	Generate Operation = iota + 1
	Stream
	Count
	Compact
	Draw
	Edit
	ListModels
	GetModel
	GetStored
	DeleteStored
	ListInput
	CancelStored
)

// Binding is one public path of a protocol.
type Binding struct {
	Operation Operation
	// Method is the HTTP method.
	Method string
	// Prefix is the path, or the part before the model or the identifier in one that has either.
	Prefix string
	// Suffix follows the model, a verb with its colon, or the identifier. Empty where nothing does.
	Suffix string
	// Model is the field of the contract's request that the path's model is for, as
	// request.model; empty for a path without a model.
	Model string
	// Stored reports that the path has the identifier of an answer that is stored.
	Stored bool
}

// same reports whether two paths match the same requests.
func (b Binding) same(other Binding) bool {
	return b.Method == other.Method && b.Prefix == other.Prefix && b.Suffix == other.Suffix
}

// suffixes end the paths of operations that the contract maps onto the RPC of another one: conversations are compacted
// by GenerateText, and images are edited by GenerateImage.
var suffixes = map[string]Operation{"/compact": Compact, "/edits": Edit}

// StreamSuffix ends the contract's paths of streams that a body asks for. Only the edge calls
// them: they are no public paths.
const StreamSuffix = ":stream"

var operations = map[string]Operation{
	"GenerateText": Generate, "StreamGenerateText": Stream, "CountTokens": Count, "GenerateImage": Draw,
	"ListModels": ListModels, "GetModel": GetModel, "GetResponse": GetStored, "DeleteResponse": DeleteStored, "ListInputItems": ListInput, "CancelResponse": CancelStored,
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
			for suffix, op := range suffixes {
				if strings.HasSuffix(b.Prefix, suffix) {
					b.Operation = op
				}
			}
			if !strings.HasSuffix(b.Prefix+b.Suffix, StreamSuffix) {
				found = append(found, b)
			}
		}
	}
	return found
}

// storedField is the field of the contract's requests that has the identifier of an answer that is stored.
const storedField = "id"

// bindingOf reads one rule: a path of literals, with at most one field, for the model or for an identifier.
func bindingOf(r *annotations.HttpRule) Binding {
	b := Binding{Method: "GET", Prefix: r.GetGet()}
	switch {
	case r.GetPost() != "":
		b.Method, b.Prefix = "POST", r.GetPost()
	case r.GetDelete() != "":
		b.Method, b.Prefix = "DELETE", r.GetDelete()
	}
	if prefix, rest, ok := strings.Cut(b.Prefix, "{"); ok {
		field, suffix, _ := strings.Cut(rest, "}")
		b.Prefix, b.Suffix = prefix, suffix
		if b.Model, _, _ = strings.Cut(field, "="); b.Model == storedField {
			b.Model, b.Stored = "", true
		}
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

// events is the framing of protocols that stream only in server-sent events (WHATWG HTML,
// 9.2), whose callers skip comments.
var events = Framing{Heartbeat: ": ping\n\n", Comments: true, Batches: true}

// openaiAnswers are the headers that openai-go hands to programs, but for the quota of the upstream's
// account: a caller would take it for its own.
var openaiAnswers = []string{"Openai-Processing-Ms", "Openai-Version"}

var openaiRates = RateHeaders{
	Requests: [3]string{"X-Ratelimit-Limit-Requests", "X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Requests"},
	Tokens:   [3]string{"X-Ratelimit-Limit-Tokens", "X-Ratelimit-Remaining-Tokens", "X-Ratelimit-Reset-Tokens"},
	Reset:    time.Duration.String,
}

var anthropicRates = RateHeaders{
	Requests: [3]string{"Anthropic-Ratelimit-Requests-Limit", "Anthropic-Ratelimit-Requests-Remaining", "Anthropic-Ratelimit-Requests-Reset"},
	Tokens:   [3]string{"Anthropic-Ratelimit-Tokens-Limit", "Anthropic-Ratelimit-Tokens-Remaining", "Anthropic-Ratelimit-Tokens-Reset"},
	Reset:    resetTime,
	Budget:   anthropicBudget,
}

// anthropicBudget returns the usage-limit headers of the vendor's own gateway (Claude Code 2.1.332,
// GET /protocol, read 2026-11-27), by which Claude Code warns of a budget that is nearly spent. For a
// budget that is spent they leave out the claim and the status of overage: with them it shows a text
// of its own in place of the error's.
func anthropicBudget(b Budget) map[string]string {
	const prefix = "Anthropic-Ratelimit-Unified-"
	spent, threshold, status := math.Round(b.Spent*100)/100, "", "allowed"
	switch {
	case b.Refused:
		spent, threshold, status = max(spent, 1), "1", "rejected"
	case b.Spent > 0.95:
		spent, threshold, status = min(spent, 0.99), "0.95", "allowed_warning"
	case b.Spent > 0.75:
		threshold, status = "0.75", "allowed_warning"
	}
	reset := strconv.FormatInt(b.Reset.Unix(), 10)
	h := map[string]string{
		prefix + "Status": status, prefix + "Reset": reset, prefix + "Overage-Reset": reset,
		prefix + "Overage-Utilization": strconv.FormatFloat(spent, 'f', -1, 64),
	}
	if threshold != "" {
		h[prefix+"Overage-Surpassed-Threshold"] = threshold
	}
	if !b.Refused {
		h[prefix+"Representative-Claim"], h[prefix+"Overage-Status"] = "overage", status
		return h
	}
	h[prefix+"Overage-Period"], h[prefix+"Overage-Disabled-Reason"] = "monthly", "org_spend_cap_reached"
	if b.Period == "day" {
		h[prefix+"Overage-Period"] = "daily"
	}
	if b.Shared {
		h[prefix+"Overage-Scope"] = "group_pool"
	}
	return h
}

// resetTime is the time of a reset in whole seconds, never early.
func resetTime(in time.Duration) string {
	return time.Now().Add(in + time.Second - 1).UTC().Format(time.RFC3339)
}

// NamesHeader reports whether a list of headers names one. A name in the list that ends in
// a dash matches all names with that prefix, and one that begins with ! is not named, whatever
// else is in the list. All are spelled alike: in canonical form, or in lower case.
func NamesHeader(list []string, name string) bool {
	named := false
	for _, known := range list {
		known, except := strings.CutPrefix(known, "!")
		if name == known || strings.HasSuffix(known, "-") && strings.HasPrefix(name, known) {
			if except {
				return false
			}
			named = true
		}
	}
	return named
}
