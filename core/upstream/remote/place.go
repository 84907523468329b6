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
	"net/url"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream/eventstreamapi"
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/core/upstream/provider"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
	"github.com/go-json-experiment/json/jsontext"
)

// placePath returns the path of an operation at the upstream's provider, if it differs from the path of the
// protocol.
func (u *Upstream) placePath(op protocol.Operation, model string) (string, bool) {
	e := u.config.Place
	if e == nil {
		return "", false
	}
	path := map[protocol.Operation]string{protocol.Generate: e.Generate, protocol.Stream: e.Stream, protocol.Count: e.Count}[op]
	if path == "" {
		return "", false
	}
	escaped := url.PathEscape(model)
	if e.EventStream {
		// AWS escapes all but the unreserved characters (RFC 3986, 2.3).
		escaped = strings.ReplaceAll(url.QueryEscape(model), "+", "%20")
	}
	return strings.ReplaceAll(path, "{model}", escaped), true
}

// namesModelInPath reports whether the address depends on the model.
func (u *Upstream) namesModelInPath() bool {
	return u.protocol.NamesModelInPath() || u.config.Place != nil && u.config.Place.Generate != ""
}

// setKey sets the key in the header of the provider, or else of the protocol.
func (c *Config) setKey(h http.Header, p *protocol.Protocol) {
	name := ""
	if own := p.Key.Headers; len(own) > 0 {
		name = own[0]
	}
	if c.Place != nil && c.Place.KeyHeader != "" {
		name = c.Place.KeyHeader
	}
	if name == "" || name == "Authorization" {
		h.Set("Authorization", "Bearer "+c.APIKey)
		return
	}
	h.Set(name, c.APIKey)
}

const betaHeader = "Anthropic-Beta"

// placed returns the body as the provider takes it: with the version, and without the members that
// its path has.
func (u *Upstream) placed(op protocol.Operation, body []byte, wire *genwayv1.WireMessage) ([]byte, error) {
	e := u.config.Place
	if e == nil || e.Version == "" {
		return body, nil
	}
	var change []member.Member
	if op != protocol.Count {
		change = append(change, member.Member{Name: "model"})
	}
	if e.NoStream {
		change = append(change, member.Member{Name: "stream"})
	}
	if len(member.Value(body, "anthropic_version")) == 0 {
		version := e.Version
		if u.config.versionInBody(u.protocol) {
			version = u.config.Version
		}
		change = append(change, member.Member{Name: "anthropic_version", Value: jsontext.Value(`"` + version + `"`)})
	}
	if betas, _ := u.betas(wire, body); e.NoStream && len(betas) > 0 && len(member.Value(body, "anthropic_beta")) == 0 {
		list := []byte{'['}
		for i, name := range betas {
			if i > 0 {
				list = append(list, ',')
			}
			var err error
			if list, err = jsontext.AppendQuote(list, name); err != nil {
				return nil, fault.New(fault.InvalidRequest, fault.ReasonMalformedJSON, "the header anthropic-beta is malformed")
			}
		}
		change = append(change, member.Member{Name: "anthropic_beta", Value: append(list, ']')})
	}
	return member.Patch(body, change...)
}

// betas are the names of betas that a call announces, as the provider has them. own says that they are those
// of the caller's header.
func (u *Upstream) betas(wire *genwayv1.WireMessage, body []byte) (names []string, own bool) {
	own = true
	announce := func(name string) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, value := range u.headers(wire).Values(betaHeader) {
		for name := range strings.SplitSeq(value, ",") {
			name = strings.TrimSpace(name)
			as := name
			if known := slices.IndexFunc(u.config.Place.Betas, func(b provider.Beta) bool { return b.Name == name }); known >= 0 {
				as = u.config.Place.Betas[known].As
			}
			announce(as)
			own = own && as == name
		}
	}
	for _, b := range u.config.Place.Betas {
		if b.As != "" && !slices.Contains(names, b.As) && slices.ContainsFunc(b.Members, func(path string) bool { return hasMember(body, path) }) {
			announce(b.As)
			own = false
		}
	}
	return names, own
}

// hasMember reports whether a body has a member of that path, a name or two joined by a dot.
func hasMember(body []byte, path string) bool {
	outer, inner, nested := strings.Cut(path, ".")
	value := member.Value(body, outer)
	if nested && len(value) > 0 && value[0] == '{' {
		value = member.Value(value, inner)
	} else if nested {
		value = nil
	}
	return len(value) > 0
}

// placeable returns a body as this upstream takes it, whatever made it: see withoutBetas and ownEncrypted.
func (u *Upstream) placeable(wire *genwayv1.WireMessage, body []byte, losses *codec.Losses) ([]byte, error) {
	return u.withoutBetas(wire, u.ownEncrypted(body, losses), losses)
}

// withoutBetas leaves out of a body what belongs to betas that the provider refuses, and names it, with the
// betas of the caller that are not announced.
func (u *Upstream) withoutBetas(wire *genwayv1.WireMessage, body []byte, losses *codec.Losses) ([]byte, error) {
	if u.config.Place == nil || len(u.config.Place.Betas) == 0 {
		return body, nil
	}
	const reason = "the provider of the upstream of this model does not take it"
	announced := strings.Join(u.headers(wire).Values(betaHeader), ",")
	var refused []string
	for _, b := range u.config.Place.Betas {
		if b.As != "" {
			continue
		}
		if strings.Contains(announced, b.Name) {
			refused = append(refused, b.Name)
		}
		for _, path := range b.Members {
			shorter := withoutMember(body, path)
			if len(shorter) == len(body) {
				continue
			}
			if value := member.Value(body, path); b.Type != "" && string(value) != "null" && member.Raw(member.Value(value, "type")).String() != b.Type {
				return nil, fault.Unsupported(path, "%s: %s", path, reason)
			}
			body = shorter
			losses.Add(strings.TrimPrefix(path, "*."), reason)
		}
	}
	if len(refused) > 0 {
		losses.Add("anthropic-beta", strings.Join(refused, ", ")+": "+reason)
	}
	return body, nil
}

// withoutMember leaves out the members of a path (see provider.Beta), and an object of which nothing is left.
func withoutMember(body []byte, path string) []byte {
	rest, anywhere := strings.CutPrefix(path, "*.")
	outer, inner, nested := strings.Cut(rest, ".")
	if !member.Mentions(body, outer) {
		return body
	}
	return member.Edit(body, func(depth int, name, value []byte) member.Change {
		switch {
		case string(name) == "input", string(name) == "input_schema": // the caller's own names
			return member.Change{With: value}
		case string(name) != outer || depth > 1 && !anywhere:
			return member.Change{}
		case !nested:
			return member.Change{Drop: true}
		}
		left := member.Edit(value, func(depth int, name, _ []byte) member.Change {
			return member.Change{Drop: depth == 1 && string(name) == inner}
		})
		return member.Change{With: left, Drop: len(left) < len(value) && len(bytes.TrimSpace(left[1:len(left)-1])) == 0}
	})
}

// versionInBody reports whether the version is sent only in the body: providers have names of their
// own only for the oldest version.
func (c *Config) versionInBody(p *protocol.Protocol) bool {
	return c.Place != nil && c.Place.Version != "" && c.Version > p.Version.Oldest
}

// placeError returns an error of the provider in the shape of the upstream's protocol, so that callers
// get its text. A body that has the protocol's shape is not changed.
func (u *Upstream) placeError(status int, h http.Header, body []byte) []byte {
	if u.config.Place == nil {
		return body
	}
	message := ""
	switch u.config.Place.Errors {
	case "aws":
		message = awsMessage(body)
	case "google":
		message = googleMessage(body)
	}
	if message == "" {
		return body
	}
	if exception, _, _ := strings.Cut(h.Get("X-Amzn-Errortype"), ":"); exception != "" && len(exception) <= 100 {
		message = exception + ": " + message
	}
	f := fault.New(fault.KindOf(status), "PLACE_ERROR", "%s", message)
	f.Status = status
	_, made := u.protocol.ErrorCodec().EncodeError(f)
	return made
}

// awsMessage is the text of an error of AWS: {"message": …}, or {"Message": …}.
func awsMessage(body []byte) string {
	var found struct {
		Message string          `json:"message"` // of either case
		Error   json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &found) != nil || found.Error != nil {
		return ""
	}
	return found.Message
}

// googleMessage is the text of an error of Google's (google.rpc.Status), which may stand in
// an array: {"error": {"code": 429, "message": …, "status": "RESOURCE_EXHAUSTED"}}.
func googleMessage(body []byte) string {
	type googleError struct {
		Error struct{ Message, Status string }
	}
	var one googleError
	if json.Unmarshal(body, &one) != nil {
		var several []googleError
		if json.Unmarshal(body, &several) != nil || len(several) == 0 {
			return ""
		}
		one = several[0]
	}
	if one.Error.Status == "" {
		return ""
	}
	return one.Error.Message
}

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

// Read returns the events. Events before a failure are returned first.
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
