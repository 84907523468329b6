package remote

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
	"github.com/genway/genway/protocol/deferred"
	"github.com/go-json-experiment/json/jsontext"
)

// GenerateText makes one unary call.
func (u *Upstream) GenerateText(ctx context.Context, asked *deferred.Request) (*genwayv1.GenerateTextResponse, error) {
	req, body, losses, err := u.textBody(ctx, asked, false)
	if err != nil {
		return nil, err
	}
	record := call.Of(ctx)
	noteLeftOut(record, losses)
	op := protocol.Generate
	if req.GetCompact() && u.protocol.Compacts() {
		op = protocol.Compact
	}
	raw, header, err := u.unary(ctx, op, req.GetModel(), body, req.GetWire())
	if err != nil {
		return nil, err
	}
	own, stream := u.speaks(req.GetWire()), isStream(header, raw)
	if u.protocol.Upstream.BindsSeals {
		noteTransformations(record, raw)
	}
	if own && !stream {
		resp, ok := u.head(raw)
		if !ok || record.PolicyFallback { // which asks for its content
			if resp, err = u.codec.DecodeResponse(raw); err != nil {
				resp = u.partialAnswer(raw)
			}
		}
		if resp, err = u.native(raw, header, resp, u.redactFault(err)); err != nil {
			declined(record, raw, err)
			return nil, err
		}
		resp.Losses = losses // of the request; the answer passes as it is
		return resp, nil
	}
	var resp *genwayv1.GenerateTextResponse
	if stream {
		resp, err = u.foldStream(raw)
	} else if resp, err = u.codec.DecodeResponse(raw); err != nil {
		f := fault.From(u.redactFault(err))
		if f.Usage == nil {
			f.Usage = u.cost(f)
		}
		err = f
	}
	if err == nil {
		err = codec.CheckCalls(resp)
	}
	if err != nil {
		declined(record, raw, err)
		f := fault.From(err)
		if !own {
			f.Wire = nil
		}
		return nil, f
	}
	if !own {
		u.names(req).Response(resp)
		codec.NewFreeForm(req.GetTools()).Response(resp)
		fit.NewCallerCalls(req.GetTools(), u.config.Protocol).Response(resp)
		if u.namesAccount(record) {
			for _, c := range resp.GetCandidates() {
				for _, p := range c.GetParts() {
					u.named(p)
				}
			}
		}
	}
	resp.Losses = append(losses, resp.Losses...)
	return resp, nil
}

// declined takes the error of an answer with a status of success. An upstream charges nothing if it reports
// a failure in it, or something else than an answer: only one that broke off in the middle may be charged.
func declined(record *call.Record, raw []byte, err error) {
	if !unreadable(err) || isJSON(raw) || !bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
		record.Accepted = false
	}
}

// head reads the members of an answer other than its candidates.
func (u *Upstream) head(raw []byte) (*genwayv1.GenerateTextResponse, bool) {
	heads, ok := u.codec.(codec.HeadDecoder)
	if !ok {
		return nil, false
	}
	return heads.DecodeResponseHead(raw)
}

// native is the answer for a caller of the upstream's protocol: the raw body. The caller may be
// able to read a body that the codec cannot read, if it is a JSON object that does not report an
// error in place of the answer, or a text whose Content-Type says that it is one.
func (u *Upstream) native(raw []byte, header http.Header, resp *genwayv1.GenerateTextResponse, err error) (*genwayv1.GenerateTextResponse, error) {
	wire := &genwayv1.WireMessage{Protocol: u.config.Protocol, Json: raw}
	switch {
	case resp == nil && !isText(header, raw):
		return nil, err
	case resp == nil:
		wire.Headers = map[string]string{"content-type": header.Get("Content-Type")}
		resp = &genwayv1.GenerateTextResponse{}
	}
	if err != nil {
		wire.Json = u.redact(raw)
	}
	resp.Wire = wire
	return resp, nil
}

// cost returns the usage of an answer that failed, where the protocol reports it
// with the failure (case U7).
func (u *Upstream) cost(f *fault.Error) *genwayv1.Usage {
	if c, ok := u.codec.(interface {
		ErrorUsage(*fault.Error) *genwayv1.Usage
	}); ok {
		return c.ErrorUsage(f)
	}
	return nil
}

// CountTokens asks the upstream, if its protocol has an operation that counts tokens.
func (u *Upstream) CountTokens(ctx context.Context, req *genwayv1.CountTokensRequest) (*genwayv1.CountTokensResponse, error) {
	counter, ok := u.codec.(codec.TokenCounter)
	if !ok || u.config.Place != nil && u.config.Place.NoCount {
		return nil, cannotCount()
	}
	var losses codec.Losses
	var err error
	body := req.GetWire().GetJson()
	if u.ownBody(req.GetWire(), req.GetRequest().GetMessages()) {
		body, err = u.patchModel(body, req.GetRequest().GetModel())
	} else {
		body, err = counter.EncodeCountRequest(&genwayv1.CountTokensRequest{Request: u.encodable(req.GetRequest(), u.speaks(req.GetWire()), &losses)}, &losses)
	}
	if err == nil {
		body, err = u.placeable(req.GetWire(), body, &losses)
	}
	if err != nil {
		return nil, losses.Fault(err)
	}
	raw, _, err := u.unary(ctx, protocol.Count, req.GetRequest().GetModel(), body, req.GetWire())
	if f, failed := errors.AsType[*fault.Error](err); failed && (f.Kind == fault.MethodNotAllowed || f.Kind == fault.NotFound && f.NativeType == "") {
		return nil, cannotCount() // it knows the protocol, and not this path of it
	}
	if err != nil {
		return nil, err
	}
	resp, err := counter.DecodeCountResponse(raw)
	if unreadable(err) && u.speaks(req.GetWire()) && isObject(raw) {
		resp, err = &genwayv1.CountTokensResponse{}, nil // the caller may be able to read it
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

func cannotCount() error {
	return fault.New(fault.NotSupported, fault.ReasonNotSupported, "the upstream of this model does not count tokens")
}

// textBody returns the body of a text call: the caller's own, in which the members that the gateway
// sets are patched, or the canonical encoding. It returns the request as well; its conversation is
// decoded unless the caller's own body is sent.
func (u *Upstream) textBody(ctx context.Context, asked *deferred.Request, streamed bool) (*genwayv1.GenerateTextRequest, []byte, []*genwayv1.Loss, error) {
	if u.codec == nil {
		return nil, nil, nil, fault.New(fault.InvalidRequest, fault.ReasonUnsupported, "the upstream of this model does not generate text")
	}
	req, own := asked.Head(), u.passes(asked)
	if !own {
		var err error
		if req, err = asked.Whole(); err != nil {
			return nil, nil, nil, err
		}
		own = u.ownBody(req.GetWire(), req.GetMessages())
	}
	var losses codec.Losses
	if own {
		body, err := u.patchModel(req.GetWire().GetJson(), req.GetModel())
		if err == nil && streamed && !u.config.LeaveUsage && u.protocol.Upstream.AsksForUsage {
			body, err = askForUsage(body)
		}
		if err == nil {
			body, err = u.placeable(req.GetWire(), body, &losses)
		}
		if err == nil {
			err = upstream.Lossless(ctx, losses.List())
		}
		return req, body, losses.List(), err
	}
	if !u.speaks(req.GetWire()) {
		if err := codec.CheckRanges(req.GetSampling()); err != nil {
			return nil, nil, nil, err
		}
	}
	fitted := u.encodable(req, u.speaks(req.GetWire()), &losses)
	if !u.speaks(req.GetWire()) {
		err := fit.Media(fitted, u.config.Protocol)
		if err != nil {
			return nil, nil, nil, losses.Fault(err)
		}
		if fitted, err = fit.Stops(fitted, u.protocol.Upstream.Fit, &losses); err != nil {
			return nil, nil, nil, err
		}
		if fitted, err = fit.Distinct(fitted, u.protocol.Upstream.Fit, &losses); err != nil {
			return nil, nil, nil, err
		}
	}
	usage := streamed && (!u.config.LeaveUsage || u.speaks(req.GetWire()) && asksForUsage(req.GetWire().GetJson()))
	asking := &codec.Request{GenerateTextRequest: fitted, Stream: streamed, IncludeUsage: usage}
	if !u.speaks(req.GetWire()) {
		asking.Dialect = u.config.Dialect
	}
	body, err := u.codec.EncodeRequest(asking, &losses)
	if err == nil {
		body, err = u.placeable(req.GetWire(), body, &losses)
	}
	if err = losses.Fault(err); err == nil {
		err = upstream.Lossless(ctx, losses.List())
	}
	return req, body, losses.List(), err
}

// encodable is the request as the upstream's vendor takes it. A request of a caller of the same
// protocol is left for the vendor to judge, but for calls whose signatures the upstream cannot read.
func (u *Upstream) encodable(req *genwayv1.GenerateTextRequest, own bool, losses *codec.Losses) *genwayv1.GenerateTextRequest {
	out, rules := codec.Shared(req), u.protocol.Upstream.Fit
	if !own {
		out = codec.Shared(fit.CallerTools(fit.Updates(out, u.config.Protocol), u.config.Protocol))
	}
	out.Messages = u.ownSeals(gatherResults(out.GetMessages(), losses), losses)
	if own {
		return fit.Signed(out, rules, losses)
	}
	out = fit.Neutral(out, u.config.Protocol)
	return fit.Translated(u.names(out).Request(out), rules, losses)
}

// names maps the names of the tools of a request that is translated.
func (u *Upstream) names(req *genwayv1.GenerateTextRequest) *fit.Names {
	return fit.NewNames(req, u.protocol.Upstream.Fit.Names)
}

// patchModel sets the model, unless the protocol has it in the path.
func (u *Upstream) patchModel(body []byte, model string) ([]byte, error) {
	if u.protocol.NamesModelInPath() {
		return body, nil
	}
	name, err := jsontext.AppendQuote(nil, model)
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "ENCODE", "%s", fault.InternalMessage)
	}
	return member.Patch(body, member.Member{Name: "model", Value: name})
}

// unary makes a call and reads the whole answer. The answer counts as begun once its status is
// known to be 2xx.
func (u *Upstream) unary(ctx context.Context, op protocol.Operation, model string, body []byte, wire *genwayv1.WireMessage) ([]byte, http.Header, error) {
	record := call.Of(ctx)
	record.Calls++
	a, err := u.call(ctx, op, model, body, wire)
	if err != nil {
		return nil, nil, err
	}
	defer a.close()
	record.AnswerBegins()
	raw, err := a.whole(!u.speaks(wire))
	if err != nil {
		return nil, nil, err
	}
	a.keep()
	return raw, a.header, nil
}

// ownBody reports whether the caller's body can be sent to the upstream unchanged. It cannot if
// another upstream has taken part in the conversation: the body then has that upstream's signatures,
// in envelopes with our prefix, or identifiers that the gateway has made. Only the codecs can read
// those, and an upstream that verifies signatures or looks items up would refuse the whole request
// (case R7).
func (u *Upstream) ownBody(wire *genwayv1.WireMessage, messages []*genwayv1.Message) bool {
	if !u.speaks(wire) {
		return false
	}
	cannotBe := u.protocol.Upstream.Foreign
	return !slices.ContainsFunc(messages, func(m *genwayv1.Message) bool {
		return slices.ContainsFunc(m.GetParts(), func(p *genwayv1.Part) bool {
			t := p.GetThinking()
			return u.foreign(p.GetThoughtSignature()) || u.foreign(t.GetSignature()) || u.foreign(t.GetEncryptedContent()) ||
				cannotBe != nil && cannotBe(p)
		})
	})
}

// passes is ownBody for a deferred request. It reports false if the body may have signatures or
// identifiers of another upstream; such a body is decoded.
func (u *Upstream) passes(req *deferred.Request) bool {
	return req.Deferred() && u.speaks(req.Head().GetWire()) && !req.Statistics().GetForeign()
}

func (u *Upstream) foreign(s *genwayv1.Seal) bool {
	return s != nil && s.GetProtocol() != u.config.Protocol
}

// gatherResults returns the messages with all results of one turn's tool calls in the message right
// after it, in the order of the calls, however the caller's protocol distributes them: vendors refuse
// results in separate turns (case T17). The messages of the
// argument are not changed.
func gatherResults(messages []*genwayv1.Message, losses *codec.Losses) []*genwayv1.Message {
	var out []*genwayv1.Message
	var from []codec.Origin
	order, moved := map[string]int{}, false
	for i := 0; i < len(messages); {
		m := messages[i]
		if m.GetRole() == genwayv1.Role_ROLE_ASSISTANT {
			order = callOrder(m)
		}
		end := i + 1
		for gatherable(m) && end < len(messages) && gatherable(messages[end]) {
			end++
		}
		origin := codec.Origin{Message: i}
		if gatherable(m) {
			m, origin.Parts = gathered(messages, i, end, order)
			moved = true
		}
		out, from = append(out, m), append(from, origin)
		i = end
	}
	if moved {
		losses.Moved(from)
	}
	return out
}

// gatherable reports whether a message has tool results and nothing that
// requires a message of its own.
func gatherable(m *genwayv1.Message) bool {
	if m.GetRole() != genwayv1.Role_ROLE_TOOL && m.GetRole() != genwayv1.Role_ROLE_USER || m.GetName() != "" || len(m.GetNativeFields()) > 0 {
		return false
	}
	return slices.ContainsFunc(m.GetParts(), isResult)
}

func isResult(p *genwayv1.Part) bool { return p.GetToolResult() != nil }

func callOrder(m *genwayv1.Message) map[string]int {
	order := map[string]int{}
	for _, p := range m.GetParts() {
		if call := p.GetToolCall(); call != nil {
			order[call.GetId()] = len(order)
		}
	}
	return order
}

// gathered is one message of those from begin to end: results first, then the other parts.
func gathered(messages []*genwayv1.Message, begin, end int, order map[string]int) (*genwayv1.Message, []codec.Position) {
	var from []codec.Position
	for i, m := range messages[begin:end] {
		for j := range m.GetParts() {
			from = append(from, codec.Position{Message: begin + i, Part: j})
		}
	}
	at := func(p codec.Position) *genwayv1.Part { return messages[p.Message].GetParts()[p.Part] }
	place := func(p codec.Position) int {
		if !isResult(at(p)) {
			return len(order) + 1
		}
		if n, ok := order[at(p).GetToolResult().GetToolCallId()]; ok {
			return n
		}
		return len(order)
	}
	slices.SortStableFunc(from, func(a, b codec.Position) int { return place(a) - place(b) })
	parts := make([]*genwayv1.Part, len(from))
	for i, p := range from {
		parts[i] = at(p)
	}
	return &genwayv1.Message{Role: messages[begin].GetRole(), Parts: parts, NativeRole: messages[begin].GetNativeRole()}, from
}

// asksForUsage reports whether the body itself asks for usage.
func asksForUsage(body []byte) bool {
	return string(member.Value(member.Value(body, "stream_options"), "include_usage")) == "true"
}

// askForUsage sets stream_options.include_usage, which metering needs, and keeps
// the other options.
func askForUsage(body []byte) ([]byte, error) {
	options := jsontext.Value(member.Value(body, "stream_options"))
	if len(options) == 0 || options.Kind() != '{' {
		options = jsontext.Value(`{}`)
	}
	options, err := member.Patch(options, member.Member{Name: "include_usage", Value: jsontext.Value("true")})
	if err != nil {
		return nil, err
	}
	return member.Patch(body, member.Member{Name: "stream_options", Value: options})
}

// unreadable reports whether an error comes from a frame that could not be read, and not
// one that the upstream reports.
func unreadable(err error) bool {
	return err != nil && fault.From(err).Reason == fault.ReasonMalformedAnswer
}

// isJSON reports whether a body or a frame is JSON as the most lenient client reads it.
func isJSON(data []byte) bool {
	return jsontext.Value(data).IsValid(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
}

// isObject reports whether a body is a JSON object as the most lenient client reads it.
func isObject(raw []byte) bool { return jsontext.Value(raw).Kind() == '{' && isJSON(raw) }

// partialAnswer returns the parts that can be read of an answer which the codec cannot read as a whole;
// nil for a failure. It is for callers of the upstream's protocol, which get the raw body.
func (u *Upstream) partialAnswer(raw []byte) *genwayv1.GenerateTextResponse {
	watcher, ok := u.codec.(codec.ResponseWatcher)
	if !ok || !isObject(raw) {
		return nil
	}
	resp, ok := watcher.WatchResponse(raw)
	if !ok {
		return nil
	}
	return resp
}

// foldStream reads a stream of events as a unary answer. The answer is canonical for callers of
// the upstream's protocol too, since they did not ask for events.
func (u *Upstream) foldStream(raw []byte) (*genwayv1.GenerateTextResponse, error) {
	decoder, in := codec.JoinHalves(u.codec.NewStreamDecoder()), newEvents(bytes.NewReader(raw), len(raw))
	var accumulator codec.Accumulator
	var usage *genwayv1.Usage
	add := func(events []*genwayv1.StreamGenerateTextResponse, err error) error {
		for _, ev := range events {
			if started := ev.GetStarted(); started != nil {
				usage = started.GetUsage()
			}
			if err := accumulator.Add(ev); err != nil {
				return err
			}
		}
		return err
	}
	err := func() error {
		for ended := false; ; {
			f, _, ok := in.next(ended)
			switch {
			case ok && len(f.Data) > 0:
				if err := add(decoder.Decode(f)); err != nil {
					return err
				}
			case ok:
			case ended:
				return add(decoder.Close())
			default:
				if err := in.fill(); errors.Is(err, io.EOF) {
					ended = true
				} else if err != nil {
					return fault.MalformedAnswer(err)
				}
			}
		}
	}()
	if err == nil && !accumulator.Complete() {
		err = fault.StreamCut()
	}
	if err != nil {
		f := fault.From(u.redactFault(err))
		f.Usage = cmp.Or(f.Usage, u.cost(f), usage)
		return nil, f
	}
	return accumulator.Response(), nil
}
