package explain

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/images"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/core/call"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
	"github.com/genway/genway/protocol/deferred"
	"github.com/tmaxmax/go-sse"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// answer explains how an upstream's answer is translated for the caller. A stream is explained as the
// answer that its events add up to.
func (p *passage) answer(ctx context.Context, body, answer []byte, stream bool) *adminv1.ExplainedAnswer {
	if p.isStream(answer, stream) {
		if p.caller.Images {
			return imageStreams.explain(ctx, p, body, answer, stream)
		}
		return textStreams.explain(ctx, p, body, answer, stream)
	}
	p.stream = false
	explained, r := &adminv1.ExplainedAnswer{}, p.unary(ctx, body, answer)
	p.lost = slices.Concat(r.carried, r.losses)
	if r.err != nil {
		explained.Refusal = refusal(r.err, nil)
		return explained
	}
	explained.CallerBody, explained.MessageJson = r.body, jsonOf(r.message)
	explained.Members, explained.Truncated = p.traced(ctx, body, answer, r)
	return explained
}

// traced says what became of the members of an answer. What a member of a stream becomes is tried out in the unary
// answer that the stream amounts to.
func (p *passage) traced(ctx context.Context, body, answer []byte, back returned) ([]*adminv1.ExplainedMember, bool) {
	t := tracing{from: answer, to: back.body, sender: p.wire.spec, receiver: p.caller, losses: back.losses, names: p.wire.spec.Names(answer, nil), answer: true}
	t.plain = func(answer []byte) ([]byte, bool) { r := p.unary(ctx, body, answer); return r.body, r.err == nil }
	return t.members(ctx)
}

// returned is an upstream's answer as it comes back: the contract's message, and what the caller gets,
// folded where it is a stream.
type returned struct {
	message proto.Message
	body    []byte
	losses  []*genwayv1.Loss
	// carried are those of a unary answer before it is written for the caller, and of its request.
	carried []*genwayv1.Loss
	err     error
	// events is the number of events that the caller gets of a stream.
	events int
}

// unary carries an answer to the caller of a unary call.
func (p *passage) unary(ctx context.Context, body, answer []byte) (r returned) {
	carried := p.run(ctx, body, answer)
	if carried.err != nil {
		return returned{err: carried.err}
	}
	r.message, r.carried = carried.answer, carried.losses
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

// streams is what streams of texts and streams of images differ in. E is an event of the contract.
type streams[E proto.Message] struct {
	sum     func() sum[E]
	decoder func(of *protocol.Protocol, asked *message) decoder[E]
	encoder func(of *protocol.Protocol, asked *message, losses *codec.Losses) encoder[E]
	// write writes an answer as one, in a protocol or, without a codec, as the contract's message.
	write func(of *protocol.Protocol, asked codec.Answer, answer proto.Message) ([]byte, error)
	// call routes a request for a stream.
	call func(ctx context.Context, p *passage, asked *message, send func(E) error) error
}

type decoder[E any] interface {
	Decode(frame codec.Frame) ([]E, error)
	Close() ([]E, error)
}

type encoder[E any] interface {
	Encode(ev E) ([]codec.Frame, error)
	Fail(err *fault.Error) []codec.Frame
}

// sum adds up events to the answer of a unary call that they amount to, as far as they came.
type sum[E any] interface {
	// add adds an event, which is the sum's then.
	add(ev E) error
	// response is the answer. usage is that of the images which a decoder has read.
	response(from decoder[E]) proto.Message
	// complete reports whether the answer has its end.
	complete() bool
	losses() []*genwayv1.Loss
}

// payload is the kind of an event of the contract.
func payload(ev proto.Message) protoreflect.Name {
	m := ev.ProtoReflect()
	if f := m.WhichOneof(m.Descriptor().Oneofs().ByName("payload")); f != nil {
		return f.Name()
	}
	return ""
}

// begins reports whether an event is of the answer.
func begins(ev proto.Message) bool {
	switch payload(ev) {
	case "ping", "wire":
		return false
	case "started", "completed":
		_, image := ev.(*genwayv1.StreamGenerateImageResponse)
		return !image
	}
	return true
}

// textSum is the sum of a stream of text.
type textSum struct {
	answer codec.Accumulator
	// open is the part that is being streamed, by candidate.
	open map[int32]int32
}

func (s *textSum) add(ev *genwayv1.StreamGenerateTextResponse) error {
	if started := ev.GetPartStarted(); started != nil {
		s.open[started.GetCandidate()] = started.GetIndex()
	} else if completed := ev.GetPartCompleted(); completed != nil {
		delete(s.open, completed.GetCandidate())
	}
	return s.answer.Add(ev)
}

// response has parts that have no end as they came so far.
func (s *textSum) response(decoder[*genwayv1.StreamGenerateTextResponse]) proto.Message {
	for candidate, index := range s.open {
		_ = s.answer.Add(codec.Event(&genwayv1.PartCompleted{Candidate: candidate, Index: index})) // it is open
	}
	clear(s.open)
	return s.answer.Response()
}

func (s *textSum) complete() bool           { return s.answer.Complete() }
func (s *textSum) losses() []*genwayv1.Loss { return s.answer.Response().GetLosses() }

var textStreams = streams[*genwayv1.StreamGenerateTextResponse]{
	sum: func() sum[*genwayv1.StreamGenerateTextResponse] { return &textSum{open: map[int32]int32{}} },
	decoder: func(of *protocol.Protocol, _ *message) decoder[*genwayv1.StreamGenerateTextResponse] {
		return of.Codec.NewStreamDecoder()
	},
	encoder: func(of *protocol.Protocol, asked *message, losses *codec.Losses) encoder[*genwayv1.StreamGenerateTextResponse] {
		return of.Codec.NewStreamEncoder(codec.Answer{Request: asked.text, Losses: losses})
	},
	write: func(of *protocol.Protocol, asked codec.Answer, answer proto.Message) ([]byte, error) {
		text, _ := answer.(*genwayv1.GenerateTextResponse)
		if of.Codec == nil {
			return protojson.Marshal(answer)
		}
		return of.Codec.EncodeResponse(text, asked)
	},
	call: func(ctx context.Context, p *passage, asked *message, send func(*genwayv1.StreamGenerateTextResponse) error) error {
		return p.routed.StreamGenerateText(ctx, deferred.New(asked.text.GenerateTextRequest), send)
	},
}

// imageSum is the sum of a stream of images. Previews are no part of it.
type imageSum struct {
	answer genwayv1.GenerateImageResponse
}

func (s *imageSum) add(ev *genwayv1.StreamGenerateImageResponse) error {
	a := &s.answer
	switch p := ev.GetPayload().(type) {
	case *genwayv1.StreamGenerateImageResponse_Started:
		a.CreateTime, a.Losses = cmp.Or(a.CreateTime, p.Started.GetCreateTime()), append(a.Losses, p.Started.GetLosses()...)
	case *genwayv1.StreamGenerateImageResponse_Image:
		i := p.Image
		a.CreateTime, a.Background, a.OutputFormat, a.Quality = cmp.Or(a.CreateTime, i.GetCreateTime()), i.GetBackground(), i.GetOutputFormat(), i.GetQuality()
		a.Images = append(a.Images, i.GetImage())
	case *genwayv1.StreamGenerateImageResponse_Completed:
		a.Usage, a.Losses = p.Completed.GetUsage(), append(a.Losses, p.Completed.GetLosses()...)
	}
	return nil
}

func (s *imageSum) response(from decoder[*genwayv1.StreamGenerateImageResponse]) proto.Message {
	if read, ok := from.(*images.StreamDecoder); ok && s.answer.Usage == nil {
		s.answer.Usage = proto.CloneOf(read.Usage())
	}
	return &s.answer
}

func (s *imageSum) complete() bool           { return true } // it needs none to be written
func (s *imageSum) losses() []*genwayv1.Loss { return s.answer.GetLosses() }

var imageStreams = streams[*genwayv1.StreamGenerateImageResponse]{
	sum: func() sum[*genwayv1.StreamGenerateImageResponse] { return &imageSum{} },
	decoder: func(_ *protocol.Protocol, asked *message) decoder[*genwayv1.StreamGenerateImageResponse] {
		return images.Codec{}.NewStreamDecoder(asked.image.GetCount())
	},
	encoder: func(_ *protocol.Protocol, asked *message, losses *codec.Losses) encoder[*genwayv1.StreamGenerateImageResponse] {
		return images.Codec{}.NewStreamEncoder(asked.image.GenerateImageRequest, losses)
	},
	write: func(of *protocol.Protocol, _ codec.Answer, answer proto.Message) ([]byte, error) {
		drawn, _ := proto.Clone(answer).(*genwayv1.GenerateImageResponse)
		if drawn.Losses = nil; !of.Images { // the losses are those of the request
			return protojson.Marshal(drawn)
		}
		return images.Codec{}.EncodeResponse(drawn, nil)
	},
	call: func(ctx context.Context, p *passage, asked *message, send func(*genwayv1.StreamGenerateImageResponse) error) error {
		return p.routed.StreamGenerateImage(ctx, asked.image.GenerateImageRequest, send)
	},
}

// folder adds up the frames or the events of a stream.
type folder[E proto.Message] struct {
	decoder decoder[E] // nil for the contract's events
	sum     sum[E]
	// frames is how many there were, begun whether any was of the answer.
	frames int
	begun  bool
	err    error
}

// frame adds a frame. Nothing is added after an error.
func (f *folder[E]) frame(frame codec.Frame) {
	f.frames++
	if f.err != nil || len(frame.Data) == 0 {
		return
	}
	f.add(f.decoder.Decode(codec.Frame{Event: frame.Event, Data: bytes.Clone(frame.Data)}))
}

// close ends the frames.
func (f *folder[E]) close() {
	if f.err == nil {
		f.add(f.decoder.Close())
	}
}

func (f *folder[E]) add(events []E, err error) {
	for _, ev := range events {
		if f.err == nil {
			f.err = f.event(ev)
		}
	}
	f.err = cmp.Or(f.err, err)
}

// event adds an event, which is not changed.
func (f *folder[E]) event(ev E) error {
	f.begun = f.begun || begins(ev)
	return f.sum.add(proto.CloneOf(ev))
}

func (f *folder[E]) response() proto.Message { return f.sum.response(f.decoder) }

// isStream reports whether an answer is a stream: server-sent events or, of an upstream that takes the contract's
// messages, a line of ProtoJSON for each event. A blank one is a stream where a stream was asked for.
func (p *passage) isStream(answer []byte, asked bool) bool {
	start := bytes.TrimLeft(bytes.TrimPrefix(answer, []byte("\xef\xbb\xbf")), " \t\r\n")
	if len(start) == 0 {
		return asked
	}
	if p.canonical() {
		if p.caller.Images {
			events, _ := linesOf[*genwayv1.StreamGenerateImageResponse](answer)
			return asked && len(events) > 0
		}
		events, _ := linesOf[*genwayv1.StreamGenerateTextResponse](answer)
		return asked && len(events) > 0
	}
	return slices.ContainsFunc([]string{"data:", "event:", "id:", "retry:", ":"}, func(field string) bool { return bytes.HasPrefix(start, []byte(field)) })
}

// canonical reports whether the upstream takes the contract's messages.
func (p *passage) canonical() bool { return p.wire.spec.Codec == nil && !p.wire.spec.Images }

// linesOf reads the contract's events, a line for each; the error is that of the first that is none.
func linesOf[E proto.Message](stream []byte) (events []E, err error) {
	for line := range bytes.Lines(stream) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var none E
		ev, ok := none.ProtoReflect().New().Interface().(E)
		if err := protojson.Unmarshal(line, ev); err != nil || !ok || payload(ev) == "" {
			return events, fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer, "a line of the answer is no event of the contract")
		}
		events = append(events, ev)
	}
	return events, nil
}

// framesOf reads server-sent events; the last one may lack its end, as the adapter takes it.
func framesOf(stream []byte) (frames []codec.Frame) {
	for ev, err := range sse.Read(bytes.NewReader(append(bytes.Clone(stream), "\n\n"...)), &sse.ReadConfig{MaxEventSize: MaxBody + 16}) {
		if err != nil {
			break // no event is larger than the answer
		}
		frames = append(frames, codec.Frame{Event: ev.Type, Data: []byte(ev.Data)})
	}
	return frames
}

// explain explains the answer of a stream: the upstream's events and the caller's are each folded to the answer that
// they amount to, and the upstream's members are traced from the one to the other. Of a stream that fails, these are
// the members that came before the failure.
func (s *streams[E]) explain(ctx context.Context, p *passage, body, answer []byte, asked bool) *adminv1.ExplainedAnswer {
	explained := &adminv1.ExplainedAnswer{Stream: true}
	came := s.fold(p, body, answer)
	explained.UpstreamEvents = int32(came.frames)
	back := s.carry(ctx, p, body, answer, asked)
	p.lost = slices.Concat(back.carried, back.losses)
	explained.CallerEvents, explained.CallerBody = int32(back.events), back.body
	if back.err != nil {
		explained.Refusal = refusal(back.err, nil)
	}
	if !came.begun {
		return explained
	}
	if back.message == nil {
		back.message = came.response()
	}
	explained.MessageJson = jsonOf(back.message)
	said, err := s.said(came, p.wire.spec, codec.Answer{}, answer)
	if err != nil {
		explained.Truncated = true
		return explained
	}
	explained.UpstreamBody = said
	explained.Members, explained.Truncated = p.traced(ctx, body, said, back)
	return explained
}

// fold adds up the upstream's events of the answer to a body.
func (s *streams[E]) fold(p *passage, body, answer []byte) *folder[E] {
	f := &folder[E]{sum: s.sum()}
	if p.canonical() {
		events, err := linesOf[E](answer)
		f.frames = len(events)
		f.add(events, err)
		return f
	}
	asked, err := p.decode(body)
	if err != nil {
		f.err = err
		return f
	}
	f.decoder = s.decoder(p.wire.spec, asked)
	for _, frame := range framesOf(answer) {
		f.frame(frame)
	}
	f.close()
	return f
}

// said writes the answer that events amount to, as far as the events say it: without the members that only the codec
// writes, whose names no event has, and, of an answer that has no end, without how it ended.
func (s *streams[E]) said(f *folder[E], of *protocol.Protocol, asked codec.Answer, events []byte) ([]byte, error) {
	body, err := s.write(of, asked, f.response())
	return without(body, func(n *node) bool {
		reason := codec.StopReasonOf(member.Raw(n.value).String())
		ends := reason != genwayv1.StopReason_STOP_REASON_UNSPECIFIED && reason != genwayv1.StopReason_STOP_REASON_OTHER
		return ends && !f.sum.complete() || !bytes.Contains(events, []byte(n.name)) || n.name == "created" && string(n.value) == "0"
	}), err
}

// carry translates a stream of the upstream for a caller who asked for a stream, or for a unary answer.
func (s *streams[E]) carry(ctx context.Context, p *passage, body, answer []byte, asked bool) (r returned) {
	if !asked {
		return p.unary(ctx, body, answer)
	}
	request, err := p.decode(body)
	if err != nil {
		return returned{err: err}
	}
	p.wire.expectEvents(answer)
	var losses codec.Losses
	encoder := s.encoder(p.caller, request, &losses)
	var events bytes.Buffer
	sent, received, passed := &folder[E]{sum: s.sum()}, &folder[E]{sum: s.sum(), decoder: s.decoder(p.caller, request)}, false
	r.err = s.call(call.With(ctx, &call.Record{}), p, request, func(ev E) error {
		if err := sent.event(ev); err != nil {
			return err
		}
		passed = passed || payload(ev) == "wire"
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
	if sent.begun && !passed {
		r.message = sent.response()
	}
	r.losses = append(sent.sum.losses(), losses.List()...)
	if received.begun {
		folded, err := s.said(received, p.caller, codec.Answer{Request: request.text}, events.Bytes())
		if r.body = folded; r.err == nil {
			r.err = err
		}
	}
	return r
}
