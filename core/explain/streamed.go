package explain

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/call"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// streamed explains the answer of a stream: the upstream's events and the caller's are each folded to
// the answer that they amount to, and the upstream's members are traced from the one to the other. Of a
// stream that fails, these are the members that came ahead of the failure.
func (p *passage) streamed(ctx context.Context, body, answer []byte, asked bool) *adminv1.ExplainedAnswer {
	explained := &adminv1.ExplainedAnswer{Stream: true}
	came := p.came(body, answer)
	explained.UpstreamEvents = int32(came.events)
	back := p.carry(ctx, body, answer, asked)
	explained.CallerEvents, explained.CallerBody = int32(back.events), back.body
	if back.err != nil {
		explained.Refusal = refusal(back.err, nil)
	}
	if !came.begun {
		return explained
	}
	if back.message == nil {
		back.message = came.message
	}
	explained.MessageJson = jsonOf(back.message)
	if came.err != nil {
		explained.Truncated = true
		return explained
	}
	explained.UpstreamBody = came.body
	t := tracing{from: came.ended, losses: back.losses, answer: true, cost: 8}
	t.plain = func(answer []byte) (outcome, bool) {
		events, err := p.expand(answer)
		if err != nil {
			return outcome{}, false
		}
		r := p.carry(ctx, body, events, asked)
		return r.outcome(), r.err == nil
	}
	again, ok := t.plain(t.from)
	if !ok {
		explained.Truncated = true
		return explained
	}
	t.to = again.body
	if len(back.body) > 0 { // a member that the upstream's codec adds to the events that are tried out is none of the caller's
		gets := valuesOf(back.body)
		t.to = without(again.body, func(l leaf) bool { _, there := gets[l.path]; return !there })
	}
	explained.Members, explained.Truncated = t.members(ctx)
	has := valuesOf(came.body)
	explained.Members = slices.DeleteFunc(explained.Members, func(m *adminv1.ExplainedMember) bool {
		_, there := has[m.GetPath()]
		return m.GetPath() != "" && !there
	})
	return explained
}

// arrived is what the upstream's events amount to; err is why it cannot be written. ended is body with an
// end, which answers must have that are tried out.
type arrived struct {
	events  int
	begun   bool
	message proto.Message
	body    []byte
	ended   []byte
	err     error
}

// came adds up the upstream's events, and writes the answer that they amount to.
func (p *passage) came(body, answer []byte) arrived {
	if p.caller.Images {
		f := p.foldImages(body, answer)
		a := arrived{events: f.frames, begun: f.begun, message: f.response()}
		a.body, a.err = p.writeImages(f.response())
		a.ended = a.body
		return a
	}
	f := p.fold(answer)
	a := arrived{events: f.frames, begun: f.begun}
	if f.begun {
		a.message = f.response()
		a.body, a.ended, a.err = sides(f, answer, p.write)
	}
	return a
}

// fold adds up the upstream's events.
func (p *passage) fold(answer []byte) *folder {
	f := &folder{}
	if p.canonical() {
		events, err := eventsOf(answer)
		f.frames = len(events)
		f.add(events, err)
		return f
	}
	f.decoder = p.wire.spec.Codec.NewStreamDecoder()
	for _, frame := range framesOf(answer) {
		f.frame(frame)
	}
	f.close()
	return f
}

// everything is a request for all that a stream can have.
var everything = &codec.Request{GenerateTextRequest: &genwayv1.GenerateTextRequest{}, Stream: true, IncludeUsage: true}

// write writes an answer as the upstream writes it for unary calls.
func (p *passage) write(answer *genwayv1.GenerateTextResponse) ([]byte, error) {
	if p.canonical() {
		return protojson.Marshal(answer)
	}
	return p.wire.spec.Codec.EncodeResponse(answer, codec.Answer{})
}

// sides writes an answer that events amount to, without members that only the codec writes: those that it
// writes of any answer, or that say nothing, and whose names occur in no event; and, of an answer that has no
// end, how it ended. The second result has an end in any case.
func sides(f *folder, events []byte, write func(*genwayv1.GenerateTextResponse) ([]byte, error)) (said, ended []byte, err error) {
	whole := f.response()
	body, err := write(whole)
	if err != nil {
		return nil, nil, err
	}
	blank, err := write(&genwayv1.GenerateTextResponse{Usage: &genwayv1.Usage{}, Candidates: []*genwayv1.Candidate{{}}})
	if err != nil {
		return nil, nil, err
	}
	complete, other := f.answer.Complete(), body
	if !complete {
		ended := proto.CloneOf(whole)
		if len(ended.GetCandidates()) == 0 {
			ended.Candidates = []*genwayv1.Candidate{{}}
		}
		for _, c := range ended.GetCandidates() {
			c.StopReason = genwayv1.StopReason_STOP_REASON_MAX_TOKENS
		}
		if other, err = write(ended); err != nil {
			return nil, nil, err
		}
	}
	always, ends := valuesOf(blank), valuesOf(other)
	needless := func(l leaf) bool {
		name := l.path[strings.LastIndexByte(l.path, '.')+1:]
		return (bytes.Equal(always[l.path], l.value) || slices.Contains(nothing, string(l.value))) && !bytes.Contains(events, []byte(`"`+name+`"`))
	}
	said = without(body, func(l leaf) bool {
		value, there := ends[l.path]
		return !there || !bytes.Equal(value, l.value) || needless(l)
	})
	return said, without(other, needless), nil
}

// nothing are values that say nothing.
var nothing = []string{"null", "0", `""`, "[]", "{}", "false"}

// expand writes the events of a stream that amounts to an answer which write has written.
func (p *passage) expand(answer []byte) ([]byte, error) {
	if p.caller.Images {
		return p.expandImages(answer)
	}
	if p.canonical() {
		resp := &genwayv1.GenerateTextResponse{}
		if err := unmarshal(answer, resp); err != nil {
			return nil, err
		}
		return writeLines(codec.Events(resp, nil))
	}
	resp, err := p.wire.spec.Codec.DecodeResponse(answer)
	if err != nil {
		return nil, err
	}
	return writeFrames(codec.Events(resp, nil), p.wire.spec.Codec.NewStreamEncoder(codec.Answer{Request: everything}).Encode)
}

// carry translates a stream of the upstream for a caller who asked for a stream, or for a unary answer.
func (p *passage) carry(ctx context.Context, body, answer []byte, asked bool) (r returned) {
	if !asked {
		return p.unary(ctx, body, answer)
	}
	if p.caller.Images {
		return p.carryImages(ctx, body, answer)
	}
	decoded, err := p.decode(body)
	if err != nil {
		return returned{err: err}
	}
	p.wire.expectEvents(answer)
	var losses codec.Losses
	encoder := p.caller.Codec.NewStreamEncoder(codec.Answer{Request: decoded.text, Losses: &losses})
	message, received, passed := &folder{}, &folder{decoder: p.caller.Codec.NewStreamDecoder()}, false
	var events bytes.Buffer
	r.err = p.routed.StreamGenerateText(call.With(ctx, &call.Record{}), deferred.New(decoded.text.GenerateTextRequest), func(ev *genwayv1.StreamGenerateTextResponse) error {
		if err := message.event(ev); err != nil {
			return err
		}
		passed = passed || ev.GetWire() != nil
		frames, err := encoder.Encode(ev)
		for _, f := range frames {
			received.frame(f)
			events.Write(f.Data)
		}
		return err
	})
	if r.err != nil && received.frames > 0 {
		for _, f := range encoder.Fail(fault.From(r.err)) {
			received.frame(f)
		}
	}
	received.close()
	r.events = received.frames
	if message.begun && !passed {
		r.message = message.response()
	}
	r.losses = append(losses.List(), message.response().GetLosses()...)
	if received.begun {
		folded, _, err := sides(received, events.Bytes(), func(answer *genwayv1.GenerateTextResponse) ([]byte, error) {
			return p.caller.Codec.EncodeResponse(answer, codec.Answer{Request: decoded.text})
		})
		if r.body = folded; r.err == nil {
			r.err = err
		}
	}
	return r
}
