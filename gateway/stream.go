package gateway

import (
	"bytes"
	"fmt"
	"sync"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/images"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/genproto/googleapis/api/httpbody"
)

// streamState frames the events of one stream for its caller: as server-sent events, or as
// one JSON array if the protocol streams arrays and the caller does not ask for events.
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
	if started := event.GetStarted(); started != nil {
		started.Model = s.x.modelOf(started.Model)
		started.CreateTime, started.Usage = dated(started.CreateTime), codec.ShownUsage(started.Usage)
		s.x.addLosses(started.GetLosses())
	}
	if completed := event.GetCompleted(); completed != nil {
		completed.Usage = codec.ShownUsage(completed.Usage)
		s.x.addLosses(completed.GetLosses())
	}
	if event.GetWire().GetBatch() != nil {
		return s.pass(event.GetWire())
	}
	frames, err := s.encoderFor(event).Encode(event)
	if err != nil {
		return nil, err
	}
	if event.GetCompleted() != nil {
		s.comment()
	}
	for _, f := range frames {
		s.frame(f)
	}
	if data := bytes.TrimSpace(event.GetWire().GetData()); len(data) > 0 && data[0] == '{' {
		s.passed = codec.Frame{Event: event.GetWire().GetEvent(), Data: data}
	}
	switch event.GetPayload().(type) {
	case *genwayv1.StreamGenerateTextResponse_Ping:
		if len(frames) == 0 {
			s.buf.WriteString(s.x.endpoint.protocol.Stream.Heartbeat)
		}
	case *genwayv1.StreamGenerateTextResponse_Completed:
		s.close()
	}
	return s.buf.Bytes(), nil
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

// encoderFor returns the stream's encoder. It is made for the first event, since frames that
// pass through do not need the conversation of the request.
func (s *streamState) encoderFor(event *genwayv1.StreamGenerateTextResponse) codec.StreamEncoder {
	if s.encoder == nil {
		answer := codec.Answer{Request: s.x.request, Losses: &s.x.losses, Now: time.Now}
		if event.GetWire() == nil {
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
	return s.encoderFor(nil).Fail(f)
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
