package remote

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"mime"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream/eventstreamapi"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	"github.com/go-json-experiment/json/jsontext"
)

// isEventStream reports whether an answer is framed by AWS's event stream
// (docs.aws.amazon.com/AmazonS3/latest/API/RESTSelectObjectAppendix.html has the encoding,
// read 2026-11-22).
func (u *Upstream) isEventStream(h http.Header) bool {
	if u.config.Place == nil || !u.config.Place.EventStream {
		return false
	}
	mediaType, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return mediaType == "application/vnd.amazon.eventstream"
}

// eventStream reads the frames of an answer of InvokeModelWithResponseStream as the
// server-sent events that they hold, which are the vendor's own. An exception in the stream
// becomes the protocol's event of an error; a damaged frame ends the stream.
type eventStream struct {
	answer  *answer
	frames  io.Reader
	decoder *eventstream.Decoder
	payload []byte
	events  []byte // are not read yet
	err     error
}

// preludeBytes is the length of a frame's beginning, which has the frame's length.
const preludeBytes = 12

func newEventStream(a *answer, frames io.Reader) *eventStream {
	return &eventStream{answer: a, frames: frames, decoder: eventstream.NewDecoder()}
}

// Read gives the events. Those ahead of a failure are given first.
func (e *eventStream) Read(p []byte) (int, error) {
	for len(e.events) == 0 {
		if e.err != nil {
			return 0, e.err
		}
		e.err = e.next()
	}
	n := copy(p, e.events)
	e.events = e.events[n:]
	return n, nil
}

// next takes the next frame.
func (e *eventStream) next() error {
	var prelude [preludeBytes]byte
	if _, err := io.ReadFull(e.frames, prelude[:]); err != nil {
		return err // io.EOF only between frames
	}
	// The length is used to reserve memory, so the checksum of the prelude is verified first.
	if crc32.ChecksumIEEE(prelude[:8]) != binary.BigEndian.Uint32(prelude[8:]) {
		return damaged(errors.New("the checksum of a prelude is wrong"))
	}
	length := int64(binary.BigEndian.Uint32(prelude[:]))
	if length > e.answer.upstream.config.MaxAnswerBytes {
		return errEventTooLarge
	}
	if length > uncounted {
		// The frame, its text and its event.
		if err := e.answer.hold(e.answer.buffer + 4*length); err != nil {
			return err
		}
	}
	frame, err := e.decoder.Decode(io.MultiReader(bytes.NewReader(prelude[:]), e.frames), e.payload[:0])
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return io.ErrUnexpectedEOF
	case err != nil && e.answer.ctx.Err() != nil:
		return err
	case err != nil:
		return damaged(err)
	}
	e.payload = frame.Payload
	return e.take(frame)
}

func damaged(err error) error {
	return fault.Wrap(err, fault.BadUpstream, fault.ReasonMalformedAnswer, "a frame of the upstream's event stream could not be read")
}

// take writes the content of a frame as an event.
func (e *eventStream) take(frame eventstream.Message) error {
	header := func(name string) string {
		if v, ok := frame.Headers.Get(name).(eventstream.StringValue); ok {
			return string(v)
		}
		return ""
	}
	switch kind := header(eventstreamapi.MessageTypeHeader); kind {
	case eventstreamapi.EventMessageType:
		if header(eventstreamapi.EventTypeHeader) != "chunk" {
			return nil // no other event has content of the answer
		}
		var chunk struct {
			Bytes []byte `json:"bytes"`
		}
		if err := json.Unmarshal(frame.Payload, &chunk); err != nil {
			return damaged(err)
		}
		e.write(eventName(chunk.Bytes), chunk.Bytes)
		return nil
	case eventstreamapi.ExceptionMessageType:
		var exception struct{ Message string }
		_ = json.Unmarshal(frame.Payload, &exception) // an exception without a text is one
		return e.writeError(header(eventstreamapi.ExceptionTypeHeader), exception.Message)
	case eventstreamapi.ErrorMessageType:
		return e.writeError(header(eventstreamapi.ErrorCodeHeader), header(eventstreamapi.ErrorMessageHeader))
	default:
		return damaged(fmt.Errorf("a frame of type %.40q", kind))
	}
}

// exceptions are the types of errors of the messages protocol for the exceptions of a stream
// (docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ResponseStream.html, read
// 2026-11-22).
var exceptions = map[string]string{
	"throttlingException":         "rate_limit_error",
	"validationException":         "invalid_request_error",
	"modelTimeoutException":       "timeout_error",
	"serviceUnavailableException": "overloaded_error",
}

// writeError writes an exception as the protocol's event of an error.
func (e *eventStream) writeError(exception, message string) error {
	kind, known := exceptions[exception]
	if !known {
		kind = "api_error"
	}
	if message == "" {
		message = "the upstream's stream failed"
	}
	body, err := messagesError(kind, message)
	if err != nil {
		return damaged(err)
	}
	e.write("error", body)
	return nil
}

// messagesError is an error of the messages protocol.
func messagesError(kind, message string) ([]byte, error) {
	text, err := jsontext.AppendQuote(nil, message)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, `{"type":"error","error":{"type":%q,"message":%s}}`, kind, text), nil
}

// eventName is the member type of an event's data; empty without one.
func eventName(data []byte) string {
	name, err := jsontext.AppendUnquote(nil, member.Value(data, "type"))
	if err != nil || bytes.ContainsAny(name, "\r\n") {
		return ""
	}
	return string(name)
}

// write adds an event, whose data may have several lines.
func (e *eventStream) write(name string, data []byte) {
	e.events = e.events[:0]
	if name != "" {
		e.events = append(append(append(e.events, "event: "...), name...), '\n')
	}
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		e.events = append(append(append(e.events, "data: "...), bytes.TrimRight(line, "\r")...), '\n')
	}
	e.events = append(e.events, '\n')
}
