package gateway

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/images"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/genproto/googleapis/api/httpbody"
)

// streamState frames the events of one stream for its caller: server-sent events,
// or for generateContent without alt=sse one JSON array.
type streamState struct {
	x       *exchange
	encoder codec.StreamEncoder
	images  *images.StreamEncoder // in place of encoder, for a stream of images
	array   bool
	opened  bool
	// passed is the last of an upstream's own frames that held an object.
	passed codec.Frame
	// ready reports whether another event waits already.
	ready func() bool
	// readers are the goroutines that read the core's stream.
	readers sync.WaitGroup
	buf     bytes.Buffer
	// body is the event under way, as the runtime takes bytes.
	body httpbody.HttpBody
}

func newStreamState(x *exchange, r *http.Request) *streamState {
	s := &streamState{
		x:     x,
		array: strings.HasSuffix(r.URL.Path, ":streamGenerateContent") && r.URL.Query().Get("alt") != "sse",
	}
	x.w.hold = func() bool { return s.ready != nil && s.ready() }
	return s
}

func (s *streamState) contentType() string {
	h := s.x.w.Header()
	h[trailerHeader] = lostTrailer
	h.Set("Cache-Control", "no-cache")
	// nginx and its kin buffer answers unless told not to.
	h.Set("X-Accel-Buffering", "no")
	if s.array {
		return "application/json"
	}
	return "text/event-stream; charset=utf-8"
}

// encode gives the bytes of one event. They are valid until the next call.
func (s *streamState) encode(event *genwayv1.StreamGenerateTextResponse) ([]byte, error) {
	s.buf.Reset()
	if started := event.GetStarted(); started != nil {
		started.CreateTime = dated(started.CreateTime)
		s.x.addLosses(started.GetLosses())
	}
	s.x.addLosses(event.GetCompleted().GetLosses())
	if run := event.GetWire().GetRun(); len(run) > 0 {
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
			s.buf.WriteString(s.heartbeat())
		}
	case *genwayv1.StreamGenerateTextResponse_Completed:
		s.close()
	}
	return s.buf.Bytes(), nil
}

// pass gives a run of an upstream's events, which stands as it goes to the caller.
func (s *streamState) pass(f *genwayv1.WireFrame) ([]byte, error) {
	if f.GetProtocol() != s.x.endpoint.protocol || s.array {
		return nil, fmt.Errorf("gateway: a run of %v events that nobody asked for", f.GetProtocol())
	}
	if passer, ok := s.encoder.(codec.RunPasser); ok {
		passer.PassRun(int(f.GetRunEvents()))
	}
	s.passed = codec.Frame{}
	return f.GetRun(), nil
}

// encoderFor gives the stream's encoder, which is made with the first event: an
// upstream's own frames need nothing of the request.
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

// heartbeat is what keeps the connection open where the protocol has no ping of
// its own. The official SDKs of generateContent fail on comments; a bare newline
// passes there, in both of its framings.
func (s *streamState) heartbeat() string {
	if s.x.endpoint.protocol == genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT {
		return "\n"
	}
	return ": ping\n\n"
}

// fail gives the bytes that end the stream with a failure. What the upstream has
// told of it in the caller's protocol is not told again.
func (s *streamState) fail(f *fault.Error) []byte {
	s.buf.Reset()
	s.comment()
	if !s.told(f) {
		for _, frame := range s.failure(f) {
			s.frame(frame)
		}
	}
	s.close()
	return s.buf.Bytes()
}

// failure gives the frames that report f in the caller's protocol.
func (s *streamState) failure(f *fault.Error) []codec.Frame {
	if s.x.endpoint.protocol == genwayv1.Protocol_PROTOCOL_IMAGES {
		return s.imageEncoder().Fail(f)
	}
	return s.encoderFor(nil).Fail(f)
}

// told reports whether the last frame that was passed on is the failure itself. One too
// long to travel with its failure is read again to find that out.
func (s *streamState) told(f *fault.Error) bool {
	if len(s.passed.Data) == 0 {
		return false
	}
	if own := f.Wire.GetJson(); len(own) > 0 {
		return bytes.Equal(s.passed.Data, own)
	}
	_, err := s.x.endpoint.marshaler.text.NewStreamDecoder().Decode(s.passed)
	said := fault.From(err)
	return err != nil && said.Kind == f.Kind && said.Reason != fault.ReasonMalformedAnswer
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
