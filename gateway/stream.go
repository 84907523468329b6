package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/images"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/transport"
	"google.golang.org/genproto/googleapis/api/httpbody"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// bind is the hook of the runtime that has the context. It binds an answer to its exchange. It
// encodes an event of a stream at once, as an HttpBody: the runtime writes that as it is, and
// puts any other message into a map first.
func bind(ctx context.Context, message proto.Message) (any, error) {
	x := exchangeOf(ctx)
	var data []byte
	var err error
	switch event := message.(type) {
	case *genwayv1.StreamGenerateTextResponse:
		data, err = x.stream.encode(event)
	case *genwayv1.StreamGenerateImageResponse:
		data, err = x.stream.encodeImage(event)
	default:
		return bound{x: x, message: message}, nil
	}
	if err != nil {
		return nil, err
	}
	if x.w.status == 0 {
		x.writeLosses()
		x.stream.body.ContentType = x.stream.contentType()
	}
	x.stream.body.Data = data
	return &x.stream.body, nil
}

// streamState frames the events of one stream for its caller: as server-sent events, as
// one JSON array if the protocol streams arrays and the caller does not ask for events, or as the messages of a WebSocket, a
// line each.
type streamState struct {
	x       *exchange
	encoder codec.StreamEncoder
	images  *images.StreamEncoder // replaces encoder in a stream of images
	array   bool
	opened  bool
	// passed is the last frame of the upstream that passed through and held an object.
	passed codec.Frame
	// ready reports whether another event can be read without waiting.
	ready func() bool
	// beats times heartbeats; nil before the first event.
	beats *heartbeatTimer
	// readers are the goroutines that read the core's stream.
	readers sync.WaitGroup
	buf     bytes.Buffer
	// body has the bytes of the event under way, in the message that the runtime writes as
	// it is.
	body httpbody.HttpBody
}

func newStreamState(x *exchange, array bool) *streamState {
	s := &streamState{x: x, array: array}
	x.w.hold = func() bool { return s.ready != nil && s.ready() }
	return s
}

func (s *streamState) contentType() string {
	h := s.x.w.Header()
	h[trailerHeader] = lostTrailer
	h.Set("Cache-Control", "no-cache")
	// nginx buffers answers unless this header turns it off.
	h.Set("X-Accel-Buffering", "no")
	if s.array {
		return "application/json"
	}
	return "text/event-stream; charset=utf-8"
}

// encode returns the bytes of one event. They are valid until the next call.
func (s *streamState) encode(event *genwayv1.StreamGenerateTextResponse) ([]byte, error) {
	s.buf.Reset()
	passes, pings, ends := false, false, false
	switch p := event.GetPayload().(type) {
	case *genwayv1.StreamGenerateTextResponse_Started:
		started := p.Started
		started.Model = s.x.modelOf(started.Model)
		started.CreateTime, started.Usage = dated(started.CreateTime), codec.ShownUsage(started.Usage)
		s.x.addLosses(started.GetLosses())
		pings = s.x.resumed // it has no frame, and the caller learns that the stream is there
	case *genwayv1.StreamGenerateTextResponse_Wire:
		if p.Wire.GetBatch() != nil {
			return s.pass(p.Wire)
		}
		passes = true
		if data := bytes.TrimSpace(p.Wire.GetData()); len(data) > 0 && data[0] == '{' {
			s.passed = codec.Frame{Event: p.Wire.GetEvent(), Data: data}
		}
	case *genwayv1.StreamGenerateTextResponse_Ping:
		pings = true
	case *genwayv1.StreamGenerateTextResponse_Completed:
		ends = true
		p.Completed.Usage = codec.ShownUsage(p.Completed.Usage)
		s.x.addLosses(p.Completed.GetLosses())
		s.x.trailCost(p.Completed.GetCost())
	}
	frames, err := s.encoderFor(passes).Encode(event)
	if err != nil {
		return nil, err
	}
	if ends {
		s.comment()
	}
	for _, f := range frames {
		s.frame(f)
	}
	switch {
	case pings && len(frames) == 0 && s.x.asked == nil:
		s.buf.WriteString(s.x.endpoint.protocol.Stream.Heartbeat)
	case ends:
		s.close()
	}
	return s.buf.Bytes(), nil
}

// encodeImage returns the bytes of one event of a stream of images. They are valid until the
// next call.
func (s *streamState) encodeImage(event *genwayv1.StreamGenerateImageResponse) ([]byte, error) {
	s.buf.Reset()
	pings, ends := false, false
	switch p := event.GetPayload().(type) {
	case *genwayv1.StreamGenerateImageResponse_Started:
		s.x.addLosses(p.Started.GetLosses())
	case *genwayv1.StreamGenerateImageResponse_PartialImage:
		p.PartialImage.CreateTime = dated(p.PartialImage.CreateTime)
	case *genwayv1.StreamGenerateImageResponse_Image:
		p.Image.CreateTime, p.Image.Usage = dated(p.Image.CreateTime), codec.ShownUsage(p.Image.Usage)
	case *genwayv1.StreamGenerateImageResponse_Ping:
		pings = true
	case *genwayv1.StreamGenerateImageResponse_Completed:
		ends = true
		s.x.addLosses(p.Completed.GetLosses())
		s.x.trailCost(p.Completed.GetCost())
	}
	frames, err := s.imageEncoder().Encode(event)
	if err != nil {
		return nil, err
	}
	if ends {
		s.comment()
	}
	for _, f := range frames {
		s.frame(f)
	}
	if pings {
		s.buf.WriteString(s.x.endpoint.protocol.Stream.Heartbeat)
	}
	return s.buf.Bytes(), nil
}

func (s *streamState) imageEncoder() *images.StreamEncoder {
	if s.images == nil {
		asked, _ := s.x.message.(*genwayv1.GenerateImageRequest)
		s.images = images.Codec{}.NewStreamEncoder(asked, &s.x.losses)
	}
	return s.images
}

// pass returns the bytes of a batch of the upstream's events, which pass through unchanged.
func (s *streamState) pass(f *genwayv1.WireFrame) ([]byte, error) {
	if f.GetProtocol() != s.x.endpoint.protocol.ID || s.array {
		return nil, fmt.Errorf("gateway: a batch of %v events for a caller that does not take them", f.GetProtocol())
	}
	if counter, ok := s.encoder.(codec.BatchCounter); ok {
		counter.CountBatch(int(f.GetBatch().GetCount()))
	}
	s.passed = codec.Frame{}
	return f.GetBatch().GetEvents(), nil
}

// encoderFor returns the stream's encoder. It is made for the first event: frames that pass through do not
// need the conversation of the request.
func (s *streamState) encoderFor(passes bool) codec.StreamEncoder {
	if s.encoder == nil {
		answer := codec.Answer{Request: s.x.request, Losses: &s.x.losses, Now: time.Now, Resumed: s.x.resumed}
		if !passes {
			answer.Request = s.x.whole()
		}
		s.encoder = s.x.endpoint.marshaler.text.NewStreamEncoder(answer)
	}
	return s.encoder
}

// fail returns the bytes that end the stream with a failure. A failure that the upstream has
// reported itself, in a frame that passed through, is not reported twice.
func (s *streamState) fail(f *fault.Error) []byte {
	s.buf.Reset()
	s.comment()
	if !s.reported(f) {
		for _, frame := range s.failure(f) {
			s.frame(frame)
		}
	}
	s.close()
	return s.buf.Bytes()
}

// failure returns the frames that report f in the caller's protocol.
func (s *streamState) failure(f *fault.Error) []codec.Frame {
	if s.x.endpoint.protocol.Images {
		return s.imageEncoder().Fail(f)
	}
	return s.encoderFor(false).Fail(f)
}

// reported reports whether the last frame that passed through is the failure itself. The
// frame is decoded if the failure does not carry it, because it was too long.
func (s *streamState) reported(f *fault.Error) bool {
	if len(s.passed.Data) == 0 {
		return false
	}
	if own := f.Wire.GetJson(); len(own) > 0 {
		return bytes.Equal(s.passed.Data, own)
	}
	_, err := s.x.endpoint.marshaler.text.NewStreamDecoder().Decode(s.passed)
	last := fault.From(err)
	return err != nil && last.Kind == f.Kind && last.Reason != fault.ReasonMalformedAnswer
}

// comment names late losses as writeLateLosses does, for callers who read comments of server-sent events.
func (s *streamState) comment() {
	if !s.x.endpoint.protocol.Stream.Comments || s.x.asked != nil || s.x.w.status == 0 || len(s.x.losses.List()) == 0 {
		return
	}
	if late := s.x.lost(); len(late) > 0 {
		s.buf.WriteString(": x-genway-lost " + lossList(late) + "\n\n")
	}
}

// close ends the framing.
func (s *streamState) close() {
	if !s.array {
		return
	}
	if !s.opened {
		s.buf.WriteString("[")
	}
	s.buf.WriteString("]\n")
}

func (s *streamState) frame(f codec.Frame) {
	if s.x.asked != nil {
		s.buf.Write(lineOf(s.x.asked.Event(f)))
		s.buf.WriteByte('\n')
		return
	}
	if s.array {
		if s.opened {
			s.buf.WriteString(",\n")
		} else {
			s.buf.WriteString("[")
			s.opened = true
		}
		s.buf.Write(f.Data)
		return
	}
	if f.Event != "" {
		s.buf.WriteString("event: ")
		s.buf.WriteString(f.Event)
		s.buf.WriteByte('\n')
	}
	rest := f.Data
	for {
		line, more, found := bytes.Cut(rest, []byte("\n"))
		s.buf.WriteString("data: ")
		s.buf.Write(line)
		s.buf.WriteByte('\n')
		if !found {
			break
		}
		rest = more
	}
	s.buf.WriteByte('\n')
}

// StreamGenerateText waits for the first message or the failure in its place, and writes
// the headers that came with it.
func (c *client) StreamGenerateText(ctx context.Context, in *genwayv1.GenerateTextRequest, opts ...grpc.CallOption) (grpc.ServerStreamingClient[genwayv1.StreamGenerateTextResponse], error) {
	return openStream(ctx, c, in, c.GenerationClient.StreamGenerateText, opts, kindOfText(ctx, genwayv1.Generation_StreamGenerateText_FullMethodName))
}

func kindOfText(ctx context.Context, method string) kindOf[genwayv1.StreamGenerateTextResponse] {
	x := exchangeOf(ctx)
	return kindOf[genwayv1.StreamGenerateTextResponse]{
		method: method,
		ping:   func() *genwayv1.StreamGenerateTextResponse { return codec.Event(&genwayv1.Ping{}) },
		look:   lookText,
		check:  (&codec.Sequence{Protocol: x.endpoint.protocol.ID, Resumed: x.resumed}).Check,
	}
}

// StreamResponse does the same for an answer that is stored.
func (c *client) StreamResponse(ctx context.Context, in *genwayv1.StreamResponseRequest, opts ...grpc.CallOption) (grpc.ServerStreamingClient[genwayv1.StreamGenerateTextResponse], error) {
	return openStream(ctx, c, in, c.GenerationClient.StreamResponse, opts, kindOfText(ctx, genwayv1.Generation_StreamResponse_FullMethodName))
}

// StreamGenerateImage does the same for images.
func (c *client) StreamGenerateImage(ctx context.Context, in *genwayv1.GenerateImageRequest, opts ...grpc.CallOption) (grpc.ServerStreamingClient[genwayv1.StreamGenerateImageResponse], error) {
	return openStream(ctx, c, in, c.GenerationClient.StreamGenerateImage, opts, kindOf[genwayv1.StreamGenerateImageResponse]{
		method: genwayv1.Generation_StreamGenerateImage_FullMethodName,
		ping:   func() *genwayv1.StreamGenerateImageResponse { return images.Event(&genwayv1.Ping{}) },
		look: func(ev *genwayv1.StreamGenerateImageResponse) seen {
			return seen{events: 1, completed: ev.GetCompleted() != nil}
		},
		check: new(images.Sequence).Check,
	})
}

// kindOf is what the edge knows of the events of a stream: the method that returns them, and how to
// make a ping. look returns what an event is. check returns an error for one that
// breaks the contract's order.
type kindOf[E any] struct {
	method string
	ping   func() *E
	look   func(*E) seen
	check  func(*E) error
}

// seen is what an event is for the edge's own part: how many of the upstream's events it has,
// whether it completes the stream, and the translated events that a message has in its place.
type seen struct {
	events     int64
	completed  bool
	translated []byte
}

func lookText(ev *genwayv1.StreamGenerateTextResponse) seen {
	switch p := ev.GetPayload().(type) {
	case *genwayv1.StreamGenerateTextResponse_Wire:
		batch := p.Wire.GetBatch()
		return seen{events: max(int64(batch.GetCount()), 1), translated: batch.GetTranslated()}
	case *genwayv1.StreamGenerateTextResponse_Completed:
		return seen{events: 1, completed: true}
	}
	return seen{events: 1}
}

func openStream[Q, E any](ctx context.Context, c *client, in *Q, call func(context.Context, *Q, ...grpc.CallOption) (grpc.ServerStreamingClient[E], error),
	opts []grpc.CallOption, kind kindOf[E],
) (grpc.ServerStreamingClient[E], error) {
	x := exchangeOf(ctx)
	x.record.call(kind.method[1:])
	s := &eventStream[Q, E]{record: &x.record, kind: kind, done: ctx.Done(), beats: newHeartbeatTimer(c.heartbeat)}
	if caller, ok := ctx.Value(callerKey{}).(*callerConn); ok {
		s.prompt = caller.prompted()
	}
	first, err := deliver(x.outgoing(ctx), c.remote, in, func(outgoing context.Context, in *Q) (first *E, err error) {
		if s.ServerStreamingClient, err = call(outgoing, in, opts...); err != nil {
			return nil, err
		}
		return s.begin(ctx)
	})
	if s.ServerStreamingClient == nil {
		x.record.answered(err)
		return nil, err
	}
	x.record.awaited(x.record.begun)
	x.record.answered(err)
	header, unknown := s.ServerStreamingClient.Header()
	if unknown == nil {
		x.writeAnswerHeaders(transport.FieldsOf(header))
	}
	switch {
	case err != nil:
		return nil, cutIfEOF(err)
	case unknown != nil:
		return nil, unknown
	}
	s.header, s.ahead, s.isAhead = header, received[E]{event: first}, true
	x.stream.ready, x.stream.beats = s.ready, s.beats
	if s.source == nil {
		s.source = readAhead(ctx, x, s.ServerStreamingClient)
	}
	return s, nil
}

// received is a step of a stream: an event, or the reason why no more events follow.
type received[E any] struct {
	event *E
	seen  seen
	err   error
}

// eventStream is a stream of the core as the runtime forwards it. All of it is used by one
// goroutine.
type eventStream[Q, E any] struct {
	grpc.ServerStreamingClient[E]
	kind      kindOf[E]
	header    metadata.MD
	source    source
	ahead     received[E] // taken from the source ahead of Recv, if isAhead
	isAhead   bool
	rest      []byte          // of a batch, the events that are not taken yet
	done      <-chan struct{} // the request is over
	beats     *heartbeatTimer
	prompt    <-chan struct{} // of callerConn; nil for none
	completed bool
	record    *requestRecord
}

// begin returns the first event.
func (s *eventStream[Q, E]) begin(ctx context.Context) (*E, error) {
	within, ok := withinProcess[Q](s.ServerStreamingClient)
	if !ok {
		message, err := s.ServerStreamingClient.Recv()
		if err != nil {
			return nil, err
		}
		r := s.step(message, true)
		return r.event, r.err
	}
	s.source = within
	select {
	case message, more := <-within.Messages():
		r := s.step(message, more)
		return r.event, r.err
	case <-s.done:
		return nil, status.FromContextError(ctx.Err()).Err()
	}
}

// Header returns the header that came with the first message.
func (s *eventStream[Q, E]) Header() (metadata.MD, error) { return s.header, nil }

// Recv returns the next event, or a ping after a silence.
func (s *eventStream[Q, E]) Recv() (*E, error) {
	r, ok := s.next()
	if !ok {
		s.record.heartbeats++
		return s.kind.ping(), nil
	}
	if r.err == nil {
		r.err = s.kind.check(r.event)
	}
	if r.err != nil {
		s.record.answered(ended(r.err))
		if s.completed { // the caller has the end already; nothing may follow it
			return nil, io.EOF
		}
		return nil, cutIfEOF(r.err)
	}
	s.record.events += r.seen.events
	if r.seen.completed {
		s.completed, s.record.completed = true, true
	}
	return r.event, nil
}

// ready reports whether the next step is there already.
func (s *eventStream[Q, E]) ready() bool {
	if s.isAhead {
		return true
	}
	if len(s.rest) > 0 {
		s.ahead, s.isAhead = s.unpack(), true
		return true
	}
	select {
	case message, more := <-s.source.Messages():
		s.ahead, s.isAhead = s.step(message, more), true
	default:
	}
	return s.isAhead
}

func (s *eventStream[Q, E]) next() (received[E], bool) {
	if s.ready() {
		s.isAhead = false
		return s.ahead, true
	}
	since := time.Now()
	defer s.record.awaited(since)
	var silent <-chan struct{}
	if !s.completed {
		silent = s.beats.watch()
	}
	for {
		select {
		case message, more := <-s.source.Messages():
			return s.step(message, more), true
		case <-s.done:
			return received[E]{err: status.FromContextError(context.Canceled).Err()}, true
		case <-silent:
			if s.beats.over(since) {
				return received[E]{}, false
			}
		case <-s.prompt:
			if s.prompt = nil; s.beats.most <= 0 { // nothing can be sent: the caller counts as gone
				return received[E]{err: status.FromContextError(context.Canceled).Err()}, true
			}
			return received[E]{}, false
		}
	}
}

// step converts a message of the source, or its end, to a step.
func (s *eventStream[Q, E]) step(message any, more bool) received[E] {
	if !more {
		return received[E]{err: s.source.End()}
	}
	event, ok := message.(*E)
	if !ok {
		return received[E]{err: status.Errorf(codes.Internal, "gateway: a %T in a stream", message)}
	}
	seen := s.kind.look(event)
	if s.rest = seen.translated; len(s.rest) > 0 {
		return s.unpack()
	}
	return received[E]{event: event, seen: seen}
}

// unpack takes the next event of a batch.
func (s *eventStream[Q, E]) unpack() received[E] {
	event := new(E)
	rest, err := transport.NextEvent(s.rest, any(event).(proto.Message)) //nolint:forcetypeassert // *E is a message of the contract
	if s.rest = rest; err != nil {
		return received[E]{err: status.Errorf(codes.Internal, "gateway: %v", err)}
	}
	return received[E]{event: event, seen: s.kind.look(event)}
}

// cutIfEOF makes an error of the end of a stream that has no completed event (case S5).
func cutIfEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return fault.Wrap(io.ErrUnexpectedEOF, fault.BadUpstream, fault.ReasonStreamCut, "the answer was cut off before its end")
	}
	return err
}

// ended returns the error of a stream that is over. A regular end is no error.
func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// source is where a stream's events come from, so that they can be waited for together
// with other things.
type source interface {
	// Messages are closed at the end of the stream.
	Messages() <-chan any
	// End says why it ended: io.EOF or an error.
	End() error
}

// withinProcess returns the source that a stream within the process is itself: its messages
// need no goroutine that waits for them, and no copy.
func withinProcess[Q, E any](stream grpc.ServerStreamingClient[E]) (source, bool) {
	generic, ok := stream.(*grpc.GenericClientStream[Q, E])
	if !ok {
		return nil, false
	}
	within, ok := generic.ClientStream.(source)
	return within, ok
}

// maxAhead is how many events may wait for a slow caller before the core's sending is
// held up.
const maxAhead = 64

// reader is the source that a stream over a connection is made into.
type reader struct {
	messages chan any
	err      error // set before messages is closed
}

// readAhead moves events from the core to the source until the stream or the request
// ends, which the endpoint waits for.
func readAhead[E any](ctx context.Context, x *exchange, stream grpc.ServerStreamingClient[E]) *reader {
	r := &reader{messages: make(chan any, maxAhead)}
	x.stream.readers.Go(func() {
		defer close(r.messages)
		for {
			event, err := stream.Recv()
			if err != nil {
				r.err = err
				return
			}
			select { // most find room, and to wait for two things costs more
			case r.messages <- event:
				continue
			default:
			}
			select {
			case r.messages <- event:
			case <-ctx.Done():
				r.err = ctx.Err()
				return
			}
		}
	})
	return r
}

func (r *reader) Messages() <-chan any { return r.messages }
func (r *reader) End() error           { return r.err }

// heartbeatTimer finds out that a stream has sent nothing for a while. Its timer runs on from event
// to event, and the stream looks how long the silence is when the timer has run down: it need not
// be moved for each event.
type heartbeatTimer struct {
	most  time.Duration
	timer *time.Timer
	// down has a token once the timer has run down. Until over takes it the timer does not run.
	down chan struct{}
}

// newHeartbeatTimer times a heartbeat after each such silence; 0 is never.
func newHeartbeatTimer(most time.Duration) *heartbeatTimer { return &heartbeatTimer{most: most} }

// watch returns the channel on which to wait, after which over says whether the silence is long enough.
func (t *heartbeatTimer) watch() <-chan struct{} {
	if t.timer == nil && t.most > 0 {
		down := make(chan struct{}, 1)
		t.down, t.timer = down, time.AfterFunc(t.most, func() { down <- struct{}{} })
	}
	return t.down
}

// over reports whether a silence that began at since is over its length, and lets the timer run
// again.
func (t *heartbeatTimer) over(since time.Time) bool {
	if left := t.most - time.Since(since); left > 0 {
		t.timer.Reset(left)
		return false
	}
	t.timer.Reset(t.most)
	return true
}

// end stops the timer, which must not be watched any more.
func (t *heartbeatTimer) end() {
	if t != nil && t.timer != nil {
		t.timer.Stop()
	}
}
