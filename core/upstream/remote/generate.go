package remote

import (
	"bytes"
	"context"
	"mime"
	"net/http"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/core/unread"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// GenerateText makes one unary call.
func (u *Upstream) GenerateText(ctx context.Context, req *genwayv1.GenerateTextRequest) (*genwayv1.GenerateTextResponse, error) {
	body, losses, err := u.textBody(ctx, req, false)
	if err != nil {
		return nil, err
	}
	op := generate
	if req.GetCompact() && u.config.Protocol == genwayv1.Protocol_PROTOCOL_RESPONSES {
		op = compact
	}
	raw, header, err := u.unary(ctx, op, req.GetModel(), body, req.GetWire())
	if err != nil {
		return nil, err
	}
	if u.speaks(req.GetWire()) {
		resp, ok := u.head(raw)
		if !ok {
			if resp, err = u.codec.DecodeResponse(raw); unreadable(err) {
				resp = u.watched(raw)
			}
		}
		return u.native(raw, header, resp, u.redactFault(err))
	}
	resp, err := u.codec.DecodeResponse(raw)
	if err != nil {
		f := fault.From(u.redactFault(err))
		f.Usage, f.Wire = u.cost(f), nil
		return nil, f
	}
	u.names(req).Response(resp)
	codec.NewFreeForm(req.GetTools()).Response(resp)
	resp.Losses = append(losses, resp.Losses...)
	return resp, nil
}

// head reads what an answer says of itself beside its candidates, which its caller
// reads.
func (u *Upstream) head(raw []byte) (*genwayv1.GenerateTextResponse, bool) {
	heads, ok := u.codec.(codec.HeadDecoder)
	if !ok {
		return nil, false
	}
	return heads.DecodeResponseHead(raw)
}

// native is the answer for a caller of the upstream's protocol: its body as it is.
// The caller may understand what the canonical model does not, as long as it is
// JSON at all or says itself that it is something else.
func (u *Upstream) native(raw []byte, header http.Header, resp *genwayv1.GenerateTextResponse, err error) (*genwayv1.GenerateTextResponse, error) {
	wire := &genwayv1.WireMessage{Protocol: u.config.Protocol, Json: raw}
	if resp == nil {
		raw = u.redact(raw)
		wire.Json = raw
		resp = &genwayv1.GenerateTextResponse{Usage: u.cost(fault.From(err))}
		if !isJSON(raw) {
			mediaType, ok := textType(header)
			if !ok || len(bytes.TrimSpace(raw)) == 0 {
				return nil, err
			}
			wire.Headers = map[string]string{"content-type": mediaType}
		}
	}
	resp.Wire = wire
	return resp, nil
}

// textType gives the content type of an answer that says to be text. One that only
// Go's servers gave it, for want of a type of its own (http.DetectContentType),
// says nothing.
func textType(h http.Header) (string, bool) {
	value := h.Get("Content-Type")
	name, _, err := mime.ParseMediaType(value)
	return value, err == nil && value != "text/plain; charset=utf-8" && (name == "text/plain" || name == "text/event-stream")
}

// cost gives the usage of an answer that failed, where the protocol reports it
// with the failure (case U7).
func (u *Upstream) cost(f *fault.Error) *genwayv1.Usage {
	if c, ok := u.codec.(interface {
		ErrorUsage(*fault.Error) *genwayv1.Usage
	}); ok {
		return c.ErrorUsage(f)
	}
	return nil
}

// CountTokens asks an upstream whose protocol counts.
func (u *Upstream) CountTokens(ctx context.Context, req *genwayv1.CountTokensRequest) (*genwayv1.CountTokensResponse, error) {
	counter, ok := u.codec.(codec.TokenCounter)
	if !ok {
		return nil, fault.New(fault.InvalidRequest, fault.ReasonUnsupported, "the upstream of this model does not count tokens")
	}
	var losses codec.Losses
	var err error
	body := req.GetWire().GetJson()
	if u.ownBody(req.GetWire(), req.GetRequest().GetMessages()) {
		body, err = u.patchModel(body, req.GetRequest().GetModel())
	} else {
		body, err = counter.EncodeCountRequest(&genwayv1.CountTokensRequest{Request: u.encodable(req.GetRequest(), u.speaks(req.GetWire()), &losses)}, &losses)
	}
	if err != nil {
		return nil, err
	}
	raw, _, err := u.unary(ctx, count, req.GetRequest().GetModel(), body, req.GetWire())
	if err != nil {
		return nil, err
	}
	resp, err := counter.DecodeCountResponse(raw)
	if unreadable(err) && u.speaks(req.GetWire()) && isJSON(raw) {
		resp, err = &genwayv1.CountTokensResponse{}, nil // the caller's to understand
	}
	if err != nil {
		return nil, err
	}
	resp.Losses = losses.List()
	if u.speaks(req.GetWire()) {
		resp.Wire = &genwayv1.WireMessage{Protocol: u.config.Protocol, Json: raw}
	}
	return resp, nil
}

// textBody gives the body of a text call: the caller's own, with the members that
// are the gateway's patched, or the canonical encoding.
func (u *Upstream) textBody(ctx context.Context, req *genwayv1.GenerateTextRequest, streamed bool) ([]byte, []*genwayv1.Loss, error) {
	if u.codec == nil {
		return nil, nil, fault.New(fault.InvalidRequest, fault.ReasonUnsupported, "the upstream of this model does not generate text")
	}
	own := u.passes(req)
	if !own {
		var err error
		if req, err = unread.Read(req); err != nil {
			return nil, nil, err
		}
		own = u.ownBody(req.GetWire(), req.GetMessages())
	}
	if own {
		body, err := u.patchModel(req.GetWire().GetJson(), req.GetModel())
		if err == nil && streamed && !u.config.LeaveUsage && u.config.Protocol == genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS {
			body, err = askForUsage(body)
		}
		return body, nil, err
	}
	if !u.speaks(req.GetWire()) {
		if err := codec.CheckRanges(req.GetSampling()); err != nil {
			return nil, nil, err
		}
	}
	var losses codec.Losses
	fitted := u.encodable(req, u.speaks(req.GetWire()), &losses)
	if !u.speaks(req.GetWire()) {
		var err error
		if fitted, err = fit.Stops(fitted, u.config.Protocol, &losses); err != nil {
			return nil, nil, err
		}
	}
	usage := streamed && (!u.config.LeaveUsage || u.speaks(req.GetWire()) && asksForUsage(req.GetWire().GetJson()))
	body, err := u.codec.EncodeRequest(&codec.Request{GenerateTextRequest: fitted, Stream: streamed, IncludeUsage: usage}, &losses)
	if err == nil {
		err = upstream.Lossless(ctx, losses.List())
	}
	return body, losses.List(), err
}

// encodable is the request as the upstream's vendor takes it. What a caller of the same
// protocol says is the vendor's to judge.
func (u *Upstream) encodable(req *genwayv1.GenerateTextRequest, own bool, losses *codec.Losses) *genwayv1.GenerateTextRequest {
	out := new(genwayv1.GenerateTextRequest)
	codec.Share(out, req)
	out.Messages = gatherResults(req.GetMessages())
	if own {
		return out
	}
	out = fit.Reasoning(u.names(out).Request(out), u.config.Protocol)
	return fit.Texts(out, u.config.Protocol, losses)
}

// names are those of the tools of a request that is translated.
func (u *Upstream) names(req *genwayv1.GenerateTextRequest) *fit.Names {
	return fit.NewNames(req, u.config.Protocol)
}

// patchModel sets the model, unless the body says the same or the protocol has it
// in the path.
func (u *Upstream) patchModel(body []byte, model string) ([]byte, error) {
	if u.config.Protocol == genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT {
		return body, nil
	}
	name, err := jsontext.AppendQuote(nil, model)
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "ENCODE", "%s", fault.InternalMessage)
	}
	return member.Patch(body, member.Member{Name: "model", Value: name})
}

// unary calls and reads the whole answer, which has begun when its headers say 2xx. The
// header is the answer's.
func (u *Upstream) unary(ctx context.Context, op operation, model string, body []byte, wire *genwayv1.WireMessage) ([]byte, http.Header, error) {
	note := upstream.NoteOf(ctx)
	note.Calls++
	a, err := u.call(ctx, op, model, body, wire)
	if err != nil {
		return nil, nil, err
	}
	defer a.close()
	note.Begin()
	raw, err := a.whole()
	if err != nil {
		return nil, nil, err
	}
	return raw, a.header, nil
}

// whole reads all of the answer's body.
func (a *answer) whole() ([]byte, error) {
	most := a.upstream.config.MaxAnswerBytes
	raw, err := a.read(most + 1)
	if err != nil {
		return nil, a.broken(err)
	}
	if int64(len(raw)) > most {
		return nil, fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer, "the upstream's answer is too large")
	}
	return raw, nil
}
