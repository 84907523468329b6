// Package explain says what becomes of a body on its way to an upstream, member by member. It
// runs the codecs, the router and the adapter that requests run through, with a transport that
// keeps what it is given and sends nothing.
//
// What became of a setting is read from its table (codec/setting). Where another member arrives is
// found by experiment: the member is changed, and what differs in the upstream's body is what it
// has become. The package must not import the gateway or a store.
package explain

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/upstream"
	"github.com/genway/genway/core/upstream/remote"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"github.com/genway/genway/protocol"
)

// MaxBody bounds a body, in bytes.
const MaxBody = 1 << 20

// Explainer explains by the routes of a router. Its methods are safe for concurrent use.
type Explainer struct {
	// Router has the routes.
	Router *route.Router
}

// Explain says what would become of a request. A request that would be refused is an answer;
// the errors are *fault.Error values of what is asked.
func (e *Explainer) Explain(ctx context.Context, req *adminv1.ExplainRequest) (*adminv1.ExplainResponse, error) {
	caller := protocol.Of(req.GetProtocol())
	if caller.Codec == nil && !caller.Images {
		return nil, fault.Invalid("protocol", "protocol: expected one of %s", names())
	}
	for _, bound := range []struct {
		name string
		body []byte
	}{{"body", req.GetBody()}, {"answer", req.GetAnswer()}} {
		if len(bound.body) > MaxBody {
			return nil, fault.Invalid(bound.name, "%s: expected at most %d bytes, got %d", bound.name, MaxBody, len(bound.body))
		}
	}
	if req.GetUpstream() != "" && req.GetUpstreamProtocol() != protocol.Direct.ID {
		return nil, fault.Invalid("upstream_protocol", "upstream_protocol: the target is an upstream or a protocol, not both")
	}
	p := &passage{caller: caller, model: req.GetModel(), stream: req.GetStream()}
	decoded, refused := p.decode(req.GetBody())
	resp := &adminv1.ExplainResponse{}
	if refused != nil {
		resp.Refusal = refusal(refused, nil)
		return resp, nil
	}
	speller := caller.Names(req.GetBody(), decoded.proto)
	target, explained, err := e.target(caller, decoded.model, req)
	if err != nil {
		return nil, err
	}
	resp.Route, resp.Upstream, resp.UpstreamModel = explained.Model, target.Name, cmp.Or(target.Model, decoded.model)
	resp.UpstreamProtocol, resp.MessageJson = target.Protocol, decoded.json()
	if err := p.aim(target); err != nil {
		return nil, err
	}
	sent := p.run(ctx, req.GetBody(), nil)
	if sent.err != nil && sent.body == nil {
		resp.Refusal = refusal(sent.err, speller)
	} else if strict := req.GetStrict() || explained.Strict; strict {
		if err := upstream.Lossless(call.With(ctx, &call.Record{Strict: true}), sent.losses); err != nil {
			resp.Refusal = refusal(err, speller)
		}
	}
	resp.PassedThrough = target.Protocol == caller.ID && !decoded.foreign(sent) && !decoded.background
	t := tracing{from: req.GetBody(), to: sent.body, sender: caller, receiver: p.wire.spec, losses: sent.losses, names: speller, refusal: resp.GetRefusal(), background: decoded.background}
	if place := protocol.Of(target.Protocol).Upstream.Breakpoints; target.Cache && place != nil && decoded.text != nil && target.Protocol != caller.ID {
		t.cached = place(decoded.text.GenerateTextRequest) != decoded.text.GenerateTextRequest
	}
	t.plain = func(body []byte) ([]byte, bool) { r := p.plainly(ctx, body); return r.body, r.body != nil }
	resp.Members, resp.Truncated = t.members(ctx)
	if resp.Refusal == nil {
		resp.UpstreamBody = sent.body
		lost := sent.losses
		if len(req.GetAnswer()) > 0 {
			resp.Answer = p.answer(ctx, req.GetBody(), req.GetAnswer(), decoded.stream)
			lost = slices.Concat(lost, p.lost)
		}
		resp.Lost = speller.Lost(lost)
	}
	return resp, nil
}

// target finds the target that is asked for.
func (e *Explainer) target(caller *protocol.Protocol, model string, req *adminv1.ExplainRequest) (route.Target, route.Explanation, error) {
	if spec := protocol.Of(req.GetUpstreamProtocol()); spec != protocol.Direct {
		if spec.Codec == nil && !spec.Images || !spec.Serves(caller.Images) {
			return route.Target{}, route.Explanation{}, fault.Invalid("upstream_protocol", "upstream_protocol: expected one of %s, one that draws if protocol is for images, else one for text", names())
		}
		made, err := remote.New(remote.Config{Protocol: spec.ID, BaseURL: "https://upstream.invalid"})
		if err != nil {
			return route.Target{}, route.Explanation{}, err
		}
		return route.Target{Protocol: spec.ID, Upstream: made}, route.Explanation{}, nil
	}
	explained := e.Router.Explain(caller.ID, model)
	targets := slices.Concat(explained.Targets, explained.Fallback)
	if explained.Route < 0 || len(targets) == 0 {
		return route.Target{}, explained, fault.Invalid("model", "model: no route has a target for it; name an upstream_protocol instead")
	}
	if req.GetUpstream() == "" {
		return targets[0], explained, nil
	}
	at := slices.IndexFunc(targets, func(t route.Target) bool { return t.Name == req.GetUpstream() })
	if at < 0 {
		return route.Target{}, explained, fault.Invalid("upstream", "upstream: the model's route has no target of that name")
	}
	return targets[at], explained, nil
}

// names are those of the protocols.
func names() string {
	var list []string
	for _, p := range protocol.All() {
		if p.Codec != nil || p.Images {
			list = append(list, p.Name)
		}
	}
	return strings.Join(list, ", ")
}

// refusal is a failure as the contract has it, in the words of the caller whose names these are.
func refusal(err error, names *protocol.Names) *adminv1.ExplainedRefusal {
	f := *fault.From(err)
	if names != nil {
		names.Fault(&f)
	}
	protocol.Subject(&f)
	return &adminv1.ExplainedRefusal{Kind: f.Kind, Reason: f.Reason, Member: f.Param, Message: f.Message}
}

// errKept ends a call whose body is kept.
var errKept = errors.New("explain: nothing is sent")
