package route

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/codec/responses"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/catalog"
	"github.com/genway/genway/core/override"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/transport"
	"github.com/genway/genway/protocol"
	"github.com/genway/genway/protocol/deferred"
)

// attempt is one try of a request at a target.
type attempt struct {
	Target
	// drain is set for a call that may outlive its caller.
	drain *drain
}

// targeted returns the request as the target gets it: under its own name for the model,
// with the caller's own body only if it speaks the caller's protocol. All else is
// shared, since upstreams do not change requests.
func (a attempt) targeted(req *genwayv1.GenerateTextRequest) *genwayv1.GenerateTextRequest {
	asked := codec.Shared(req)
	if a.Protocol != genwayv1.Protocol_PROTOCOL_UNSPECIFIED && !a.speaks(req) {
		asked = codec.Shared(fit.Updates(asked, a.Protocol)) // for overrides and the catalogue, which bear on settings
	}
	asked.Model = cmp.Or(a.Model, req.GetModel())
	asked.Wire = wireFor(req.GetWire(), a.Target)
	// All others are asked for a summary by the last message.
	asked.Compact = req.GetCompact() && protocol.Of(a.Protocol).Compacts()
	return asked
}

// text is targeted with the target's overrides, and captured. A strict request that would lose
// something is refused.
func (a attempt) text(ctx context.Context, req *deferred.Request) (*deferred.Request, []*genwayv1.Loss, error) {
	if a.Fit || !a.passes(req.Head()) {
		whole, err := req.Whole()
		if err != nil {
			return nil, nil, err
		}
		req = deferred.New(whole)
	}
	message, unknown, err := a.withoutReferences(req.Head())
	if err != nil {
		return nil, nil, err
	}
	asked, losses, err := a.Overrides.Text(a.targeted(message))
	if err != nil {
		return nil, nil, err
	}
	losses = append(unknown, losses...)
	if asked, losses, err = a.fitted(asked, losses, a.speaks(req.Head())); err != nil {
		return nil, nil, err
	}
	asked, lost, err := a.ofVersion(asked)
	if err != nil {
		return nil, nil, err
	}
	losses = append(losses, lost...)
	if most := call.Of(ctx).MaxOutput; most > 0 {
		if asked, err = a.cut(asked, most); err != nil {
			return nil, nil, err
		}
	}
	if err := upstream.Lossless(ctx, losses); err != nil {
		return nil, nil, err
	}
	if place := protocol.Of(a.Protocol).Upstream.Breakpoints; a.Cache && place != nil && !a.speaks(req.Head()) {
		asked = place(asked)
	}
	a.capture(ctx, asked)
	return req.With(asked), losses, nil
}

// cut returns a request whose answer ends after so many tokens, the caller's own body included. One that ends earlier
// anyway is not changed, nor one for a target whose overrides leave the maximum out.
func (a attempt) cut(asked *genwayv1.GenerateTextRequest, most int64) (*genwayv1.GenerateTextRequest, error) {
	const name = "max_output_tokens"
	known := a.Catalog.Find(asked.GetModel())
	limit := asked.MaxOutputTokens
	switch {
	case limit != nil && *limit >= 0 && *limit <= most, limit == nil && known.MaxOutput != nil && *known.MaxOutput <= most,
		a.Overrides.Drops(name):
		return asked, nil
	}
	if limit == nil {
		asked = limitedAs(asked, known)
	}
	cut, err := override.New(override.Rules{Set: map[string]any{name: most}})
	if err != nil {
		return nil, err
	}
	asked, _, err = cut.Text(asked)
	return asked, err
}

// limitedAs returns a request whose limit of tokens chat completions names as the model takes it: OpenAI's reasoning models
// refuse max_tokens.
func limitedAs(asked *genwayv1.GenerateTextRequest, known catalog.Row) *genwayv1.GenerateTextRequest {
	if known.Thinking == nil || !slices.Contains(*known.Thinking, catalog.Effort) {
		return asked
	}
	out := codec.Shared(asked)
	out.NativeFields = append(slices.Clip(asked.GetNativeFields()), member.Mark(genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, "max_completion_tokens"))
	return out
}

// fitted returns the request as the model takes it, as far as the catalogue knows: a caller's
// own body is the vendor's to judge, and an upstream that takes every protocol's requests
// finds the models itself.
func (a attempt) fitted(asked *genwayv1.GenerateTextRequest, losses []*genwayv1.Loss, own bool) (*genwayv1.GenerateTextRequest, []*genwayv1.Loss, error) {
	most := protocol.Of(a.Protocol).Upstream.MaxTokens
	if own && !a.Fit || a.Protocol == genwayv1.Protocol_PROTOCOL_UNSPECIFIED || a.Catalog == nil {
		if most != nil {
			asked = a.Overrides.WithLimit(asked, most(asked.GetModel()))
		}
		return asked, losses, nil
	}
	known := a.Catalog.Find(asked.GetModel())
	before := asked
	asked, lost, err := known.Fit(asked, a.Protocol)
	if err == nil && own {
		asked, err = override.Followed(before, asked)
		return asked, append(losses, lost...), err
	}
	if err != nil {
		return nil, nil, err
	}
	if asked.MaxOutputTokens != nil {
		asked = limitedAs(asked, known)
	}
	if most != nil {
		limit := most(asked.GetModel())
		if known.MaxOutput != nil && *known.MaxOutput != limit {
			limit = *known.MaxOutput
			asked = withLimit(a.Overrides.WithLimit(asked, limit), limit)
		} else {
			asked = a.Overrides.WithLimit(asked, limit)
		}
	}
	return asked, append(losses, lost...), nil
}

// withLimit returns a request that has none a limit of tokens.
func withLimit(req *genwayv1.GenerateTextRequest, limit int64) *genwayv1.GenerateTextRequest {
	if req.MaxOutputTokens != nil {
		return req
	}
	out := codec.Shared(req)
	out.MaxOutputTokens = &limit
	return out
}

// speaks reports whether the target's protocol is the caller's.
func (a attempt) speaks(req *genwayv1.GenerateTextRequest) bool {
	return a.Protocol != genwayv1.Protocol_PROTOCOL_UNSPECIFIED && a.Protocol == req.GetWire().GetProtocol()
}

// passes reports whether the target takes the caller's own body as it is, so that its
// conversation need not be decoded here.
func (a attempt) passes(req *genwayv1.GenerateTextRequest) bool {
	return a.speaks(req) && a.sameVersion(req.GetWire())
}

// sameVersion reports whether a body of the target's protocol is of the version that the target
// speaks.
func (a attempt) sameVersion(wire *genwayv1.WireMessage) bool {
	return a.Version == "" || a.Version == protocol.Of(a.Protocol).Version.Sent(wire.GetHeaders())
}

// ofVersion returns a request as the version of the protocol takes it that the target speaks. A
// caller's own body of that version is the vendor's to judge.
func (a attempt) ofVersion(asked *genwayv1.GenerateTextRequest) (*genwayv1.GenerateTextRequest, []*genwayv1.Loss, error) {
	if a.passes(asked) || a.Version == "" {
		return asked, nil, nil
	}
	versioned, ok := protocol.Of(a.Protocol).Codec.(codec.Versioned)
	if !ok {
		return asked, nil, nil
	}
	var losses codec.Losses
	fitted, err := versioned.FitVersion(asked, a.Version, &losses)
	return fitted, losses.List(), err
}

// image does so for images.
func (a attempt) image(ctx context.Context, req *genwayv1.GenerateImageRequest) (*genwayv1.GenerateImageRequest, []*genwayv1.Loss, error) {
	asked := codec.Shared(req)
	asked.Model = cmp.Or(a.Model, req.GetModel())
	asked.Wire = wireFor(req.GetWire(), a.Target)
	if asked.Wire != nil && a.Protocol == genwayv1.Protocol_PROTOCOL_UNSPECIFIED && len(req.GetImages()) > 0 {
		asked.Wire = codec.Shared(asked.Wire)
		asked.Wire.Json = nil // the message has the images, which are too large to be sent twice
	}
	asked, losses, err := a.Overrides.Image(asked)
	if err != nil {
		return nil, nil, err
	}
	if err := upstream.Lossless(ctx, losses); err != nil {
		return nil, nil, err
	}
	a.capture(ctx, asked)
	return asked, losses, nil
}

// count is targeted. Nothing is changed or captured of a request whose tokens are only counted.
func (a attempt) count(_ context.Context, req *genwayv1.CountTokensRequest) (*genwayv1.CountTokensRequest, []*genwayv1.Loss, error) {
	whole, unknown, err := a.withoutReferences(req.GetRequest())
	if err != nil {
		return nil, nil, err
	}
	asked, lost := a.targeted(whole), []*genwayv1.Loss(nil)
	asked.Wire = wireFor(req.GetWire(), a.Target)
	if a.Catalog != nil && a.Protocol != genwayv1.Protocol_PROTOCOL_UNSPECIFIED && !a.speaks(asked) {
		if asked, lost, err = a.Catalog.Find(asked.GetModel()).Fit(asked, a.Protocol); err != nil {
			return nil, nil, err
		}
	}
	asked, older, err := a.ofVersion(asked)
	if err != nil {
		return nil, nil, err
	}
	wire := asked.GetWire()
	asked.Wire = nil
	return &genwayv1.CountTokensRequest{Request: asked, Wire: wire}, slices.Concat(unknown, lost, older), nil
}

// wireFor keeps the caller's body for an upstream of its protocol, and for the
// sandbox, which looks only at the protocol.
func wireFor(wire *genwayv1.WireMessage, t Target) *genwayv1.WireMessage {
	if t.Protocol == genwayv1.Protocol_PROTOCOL_UNSPECIFIED || t.Protocol == wire.GetProtocol() {
		return wire
	}
	return nil
}

// AnswerPrefix begins the metadata with call.Record.Headers. An edge knows the
// same.
const AnswerPrefix = "genway-answer-"

// sendHeaders puts into the answer's headers the upstream that serves the caller, how often
// upstreams were called, retries included, and the upstream's own headers.
func (a attempt) sendHeaders(ctx context.Context, answered map[string]string) {
	fields := make([]transport.Field, 0, 2+len(answered))
	fields = append(fields, transport.Field{Name: "x-genway-upstream", Value: a.Name},
		transport.Field{Name: "x-genway-attempts", Value: strconv.FormatInt(call.Of(ctx).Calls, 10)})
	for name, value := range answered { // all in lower case, as metadata are
		fields = append(fields, transport.Field{Name: AnswerPrefix + name, Value: value})
	}
	transport.SetHeader(ctx, fields...)
}

// usageOf returns what a call that has failed reported to have used; nil if it reported nothing.
func usageOf(record *call.Record, err error) *genwayv1.Usage {
	if err == nil {
		return nil
	}
	return cmp.Or(fault.From(err).Usage, record.RawUsage)
}

// request is what a route is chosen by.
type request struct {
	protocol genwayv1.Protocol
	model    string
	images   bool
	streamed bool
	counted  bool // only its tokens
	// head is a text request, for its session; nil for all others.
	head *genwayv1.GenerateTextRequest
}

// unable is the fault of a model whose route has no target of the right sort.
func unable(q request) error {
	what := map[bool]string{true: "draw images", false: "generate text"}[q.images]
	e := fault.New(fault.InvalidRequest, fault.ReasonUnsupported, "the model `%s` does not %s", q.model, what)
	e.Param = "model"
	return e
}

// Cause is why a call did not answer, as far as another upstream might. Causes can be combined by |.
type Cause uint8

const (
	// Failure is a failure that the request is not to blame for: 429, 5xx, timeouts, no connection.
	Failure Cause = 1 << iota
	// Context is a prompt that is longer than the context window of the model.
	Context
	// Policy is a refusal by the vendor's policy for contents: an error, or an answer that ends so before it has content.
	Policy
)

// causes are the words for the causes, in the order of their bits: those of the configuration.
var causes = []string{"failure", "context", "policy"}

// CauseOf returns the cause of a word; 0 for a word of none.
func CauseOf(word string) Cause {
	if i := slices.Index(causes, word); i >= 0 {
		return 1 << i
	}
	return 0
}

// Causes are the words of the causes for which a fallback is tried.
func (t *Target) Causes() (words []string) {
	for i, word := range causes {
		if t.on(1 << i) {
			words = append(words, word)
		}
	}
	return words
}

// causeOf returns the causes of a failed call; 0 for one that no other upstream would answer either.
func causeOf(err error) (c Cause) {
	f := fault.From(err)
	if slices.Contains(failureKinds, f.Kind) {
		c = Failure
	}
	switch f.Reason {
	case fault.ReasonContextLength:
		c |= Context
	case fault.ReasonContentPolicy, fault.ReasonImageBlocked:
		c |= Policy
	}
	return c
}

// on reports whether the target is tried after a call that failed for one of the causes.
func (t *Target) on(c Cause) bool { return cmp.Or(t.On, Failure)&c != 0 }

// follow counts the targets that are tried after a call that failed for the cause.
func follow(targets []Target, c Cause) (n int) {
	for i := range targets {
		if targets[i].on(c) {
			n++
		}
	}
	return n
}

var failureKinds = []fault.Kind{fault.NotSupported, fault.RateLimited, fault.QuotaExhausted, fault.Overloaded, fault.Unavailable, fault.BadUpstream, fault.Timeout}

// withoutReferences leaves out the references to items of earlier answers that are still
// unresolved, for a target of another protocol than theirs, which stores no items; each is
// named in the losses. A request of which nothing is left to answer is refused.
func (a attempt) withoutReferences(req *genwayv1.GenerateTextRequest) (*genwayv1.GenerateTextRequest, []*genwayv1.Loss, error) {
	if protocol.Of(a.Protocol).Upstream.StoresItems || !slices.ContainsFunc(req.GetMessages(), refers) {
		return req, nil, nil
	}
	out := codec.Shared(req)
	out.Messages = nil
	var losses []*genwayv1.Loss
	answerable := false
	for i, m := range req.GetMessages() {
		if refers(m) {
			kept := codec.Shared(m)
			kept.Parts = nil
			for j, p := range m.GetParts() {
				if responses.IsReference(p) {
					losses = append(losses, &genwayv1.Loss{Member: fmt.Sprintf("messages[%d].parts[%d]", i, j), Reason: "the item that is referred to is not known to this server"})
					continue
				}
				kept.Parts = append(kept.Parts, p)
			}
			if m = kept; len(m.Parts) == 0 {
				continue
			}
		}
		answerable = answerable || m.GetRole() != genwayv1.Role_ROLE_SYSTEM && m.GetRole() != genwayv1.Role_ROLE_DEVELOPER
		out.Messages = append(out.Messages, m)
	}
	if !answerable {
		return nil, nil, fault.Invalid("input", "input: none of the items that it refers to is known to this server, which keeps the items of its answers for a limited time; send the items themselves")
	}
	return out, losses, nil
}

func refers(m *genwayv1.Message) bool {
	return slices.ContainsFunc(m.GetParts(), responses.IsReference)
}
