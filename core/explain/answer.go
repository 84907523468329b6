package explain

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/images"
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

// streams is what streams of texts and streams of images differ in. E is an event of the contract.
type streams[E proto.Message] struct {
	sum     func() sum[E]
	decoder func(of *protocol.Protocol, asked *message) decoder[E]
	// encoder is that for a caller who has sent a request; nil is for all that a stream can have.
	encoder func(of *protocol.Protocol, asked *message, losses *codec.Losses) encoder[E]
	// write writes an answer as one, in a protocol or, without a codec, as the contract's message.
	write func(of *protocol.Protocol, asked *message, answer proto.Message) ([]byte, error)
	// read reads such an answer, and returns the events that amount to it.
	read func(of *protocol.Protocol, answer []byte) ([]E, error)
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

// everything is a request for all that a stream can have.
var everything = &codec.Request{GenerateTextRequest: &genwayv1.GenerateTextRequest{}, Stream: true, IncludeUsage: true}

var textStreams = streams[*genwayv1.StreamGenerateTextResponse]{
	sum: func() sum[*genwayv1.StreamGenerateTextResponse] { return &textSum{open: map[int32]int32{}} },
	decoder: func(of *protocol.Protocol, _ *message) decoder[*genwayv1.StreamGenerateTextResponse] {
		return of.Codec.NewStreamDecoder()
	},
	encoder: func(of *protocol.Protocol, asked *message, losses *codec.Losses) encoder[*genwayv1.StreamGenerateTextResponse] {
		if asked == nil {
			return of.Codec.NewStreamEncoder(codec.Answer{Request: everything})
		}
		return of.Codec.NewStreamEncoder(codec.Answer{Request: asked.text, Losses: losses})
	},
	write: func(of *protocol.Protocol, asked *message, answer proto.Message) ([]byte, error) {
		text, ok := answer.(*genwayv1.GenerateTextResponse)
		switch {
		case of.Codec == nil || !ok:
			return protojson.Marshal(answer)
		case asked == nil:
			return of.Codec.EncodeResponse(text, codec.Answer{})
		}
		return of.Codec.EncodeResponse(text, codec.Answer{Request: asked.text})
	},
	read: func(of *protocol.Protocol, answer []byte) ([]*genwayv1.StreamGenerateTextResponse, error) {
		if of.Codec == nil {
			resp := &genwayv1.GenerateTextResponse{}
			err := unmarshal(answer, resp)
			return codec.Events(resp, nil), err
		}
		resp, err := of.Codec.DecodeResponse(answer)
		if err != nil {
			return nil, err
		}
		return codec.Events(resp, nil), nil
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
	encoder: func(_ *protocol.Protocol, _ *message, losses *codec.Losses) encoder[*genwayv1.StreamGenerateImageResponse] {
		return images.Codec{}.NewStreamEncoder(losses)
	},
	write: func(of *protocol.Protocol, _ *message, answer proto.Message) ([]byte, error) {
		drawn, _ := answer.(*genwayv1.GenerateImageResponse)
		if !of.Images {
			drawn = proto.CloneOf(drawn)
			drawn.Losses = nil // those of the request
			return protojson.Marshal(drawn)
		}
		body, err := images.Codec{}.EncodeResponse(drawn, nil)
		if err != nil {
			return nil, err
		}
		return without(body, func(l leaf) bool { return l.path == "created" && string(l.value) == "0" }), nil // it is unknown
	},
	read: func(of *protocol.Protocol, answer []byte) ([]*genwayv1.StreamGenerateImageResponse, error) {
		if !of.Images {
			resp := &genwayv1.GenerateImageResponse{}
			err := unmarshal(answer, resp)
			return images.Events(resp), err
		}
		resp, err := images.Codec{}.DecodeResponse(answer)
		if err != nil {
			return nil, err
		}
		return images.Events(resp), nil
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

// sendLines sends the events of the contract that a stream has. A stream whose last event does not complete it was
// cut.
func sendLines[E proto.Message](stream []byte, send func(E) error) error {
	events, err := linesOf[E](stream)
	for _, ev := range events {
		if err := send(ev); err != nil {
			return err
		}
	}
	if err == nil && (len(events) == 0 || payload(events[len(events)-1]) != "completed") {
		err = fault.StreamCut()
	}
	return err
}

// explain explains the answer of a stream: the upstream's events and the caller's are each folded to the answer that
// they amount to, and the upstream's members are traced from the one to the other. Of a stream that fails, these are
// the members that came before the failure.
func (s *streams[E]) explain(ctx context.Context, p *passage, body, answer []byte, asked bool) *adminv1.ExplainedAnswer {
	explained := &adminv1.ExplainedAnswer{Stream: true}
	came := s.fold(p, body, answer)
	explained.UpstreamEvents = int32(came.frames)
	back := s.carry(ctx, p, body, answer, asked)
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
	said, ended, err := s.sides(came, answer, func(answer proto.Message) ([]byte, error) { return s.write(p.wire.spec, nil, answer) })
	if err != nil {
		explained.Truncated = true
		return explained
	}
	explained.UpstreamBody = said
	t := tracing{from: ended, losses: back.losses, answer: true, cost: 8}
	t.plain = func(answer []byte) (outcome, bool) {
		events, err := s.expand(p, answer)
		if err != nil {
			return outcome{}, false
		}
		r := s.carry(ctx, p, body, events, asked)
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
	has := valuesOf(said)
	explained.Members = slices.DeleteFunc(explained.Members, func(m *adminv1.ExplainedMember) bool {
		_, there := has[m.GetPath()]
		return m.GetPath() != "" && !there
	})
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

// sides writes an answer that events amount to, without members that only the codec writes: those that it writes of
// any answer, or that say nothing, and whose names occur in no event; and, of an answer that has no end, how it
// ended. The second result has an end in any case.
func (s *streams[E]) sides(f *folder[E], events []byte, write func(proto.Message) ([]byte, error)) (said, ended []byte, err error) {
	body, err := write(f.response())
	whole, ok := f.response().(*genwayv1.GenerateTextResponse)
	if err != nil || !ok {
		return body, body, err
	}
	blank, err := write(&genwayv1.GenerateTextResponse{Usage: &genwayv1.Usage{}, Candidates: []*genwayv1.Candidate{{}}})
	if err != nil {
		return nil, nil, err
	}
	other := body
	if !f.sum.complete() {
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
func (s *streams[E]) expand(p *passage, answer []byte) ([]byte, error) {
	events, err := s.read(p.wire.spec, answer)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if p.canonical() {
		for _, ev := range events {
			line, err := protojson.Marshal(ev)
			if err != nil {
				return nil, err
			}
			if err := json.Compact(&out, line); err != nil {
				return nil, err
			}
			out.WriteByte('\n')
		}
		return out.Bytes(), nil
	}
	encoder := s.encoder(p.wire.spec, nil, nil)
	for _, ev := range events {
		frames, err := encoder.Encode(ev)
		if err != nil {
			return nil, err
		}
		for _, f := range frames {
			if f.Event != "" {
				out.WriteString("event: " + f.Event + "\n")
			}
			out.WriteString("data: " + string(f.Data) + "\n\n")
		}
	}
	return out.Bytes(), nil
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
	r.losses = append(losses.List(), sent.sum.losses()...)
	if received.begun {
		folded, _, err := s.sides(received, events.Bytes(), func(answer proto.Message) ([]byte, error) { return s.write(p.caller, request, answer) })
		if r.body = folded; r.err == nil {
			r.err = err
		}
	}
	return r
}
