package explain

import (
	"context"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/images"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// answer explains how an upstream's answer is translated for the caller. A stream is explained as the
// answer that its events add up to.
func (p *passage) answer(ctx context.Context, body, answer []byte, stream bool) *adminv1.ExplainedAnswer {
	if p.isStream(answer, stream) {
		return p.streamed(ctx, body, answer, stream)
	}
	p.stream = false
	explained, r := &adminv1.ExplainedAnswer{}, p.unary(ctx, body, answer)
	if r.err != nil {
		explained.Refusal = refusal(r.err, nil)
		return explained
	}
	explained.CallerBody, explained.MessageJson = r.body, jsonOf(r.message)
	t := tracing{from: answer, to: r.body, losses: r.losses, answer: true}
	t.plain = func(answer []byte) (outcome, bool) { r := p.unary(ctx, body, answer); return r.outcome(), r.err == nil }
	explained.Members, explained.Truncated = t.members(ctx)
	return explained
}

// returned is an upstream's answer as it comes back: the contract's message, and what the caller gets,
// folded where it is a stream.
type returned struct {
	message proto.Message
	body    []byte
	losses  []*genwayv1.Loss
	err     error
	// events is the number of events that the caller gets of a stream.
	events int
}

func (r returned) outcome() outcome {
	o := outcome{body: r.body}
	if r.message != nil {
		o.message, _ = protojson.MarshalOptions{UseProtoNames: true}.Marshal(bare(r.message)) // it was decoded from valid texts
	}
	return o
}

// unary carries an answer to the caller of a unary call.
func (p *passage) unary(ctx context.Context, body, answer []byte) (r returned) {
	carried := p.run(ctx, body, answer)
	if carried.err != nil {
		return returned{err: carried.err}
	}
	r.message = carried.answer
	r.body, r.losses, r.err = p.encode(carried)
	return r
}

// bare is an answer without the upstream's own body.
func bare(answer proto.Message) proto.Message {
	shown := proto.Clone(answer)
	switch s := shown.(type) {
	case *genwayv1.GenerateTextResponse:
		s.Wire = nil
	case *genwayv1.GenerateImageResponse:
		s.Wire = nil
	}
	return shown
}

// jsonOf is an answer as ProtoJSON.
func jsonOf(answer proto.Message) string {
	text, _ := protojson.Marshal(bare(answer)) // it was decoded from valid texts
	return string(text)
}

// encode writes an answer for the caller, as the edge does.
func (p *passage) encode(r result) ([]byte, []*genwayv1.Loss, error) {
	var losses codec.Losses
	switch resp := r.answer.(type) {
	case *genwayv1.GenerateTextResponse:
		if own := resp.GetWire(); own.GetProtocol() == p.caller.ID {
			return own.GetJson(), nil, nil
		}
		body, err := p.caller.Codec.EncodeResponse(resp, codec.Answer{Request: r.asked.text, Losses: &losses})
		return body, losses.List(), err
	case *genwayv1.GenerateImageResponse:
		if own := resp.GetWire(); own.GetProtocol() == p.caller.ID {
			return own.GetJson(), nil, nil
		}
		body, err := images.Codec{}.EncodeResponse(resp, &losses)
		return body, losses.List(), err
	}
	return nil, nil, fault.New(fault.Internal, fault.ReasonPanic, "%s", fault.InternalMessage)
}
