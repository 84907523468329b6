package responses

import (
	"bytes"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/codec/stored"
	"github.com/go-json-experiment/json/jsontext"
)

// The messages of a WebSocket (the vendor's guide "WebSocket mode"; SDK openai 7.59.0: ResponsesClientEvent,
// ResponsesServerEvent).
const (
	messageCreate = "response.create"
	messageSteer  = "response.steer"
)

const (
	// maxRemembered is how many responses a session remembers. The vendor remembers the last one.
	maxRemembered = 8
	// maxStreamID bounds stream_id, which each event repeats, in bytes.
	maxStreamID = 256
)

// streamID reports whether a stream may have that name (openai-go/v3 3.99.0: ResponseConnection.Lane).
func streamID(name string) bool {
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
	return name != "" && len(name) <= maxStreamID && strings.Trim(name, allowed) == ""
}

// NewSession implements codec.Sessioned.
func (Codec) NewSession() codec.Session { return &session{} }

// session remembers the conversations of the last responses, which share their turns, the latest response last.
type session struct{ remembered []conversation }

// conversation is a response and the turns that it ends, the latest first. They go on after a response that is stored elsewhere, if
// base names one: the response itself, if it has no turns.
type conversation struct {
	id, base string
	turns    []*stored.Turn
}

// Size implements codec.Session.
func (s *session) Size() int {
	size, counted := 0, map[*stored.Turn]bool{}
	for _, c := range s.remembered {
		for _, turn := range c.turns {
			if !counted[turn] {
				counted[turn] = true
				size += len(turn.Input) + len(turn.Output)
			}
		}
	}
	return size
}

// Forget implements codec.Session.
func (s *session) Forget() { s.remembered = nil }

// forget drops a response.
func (s *session) forget(id string) {
	s.remembered = slices.DeleteFunc(s.remembered, func(c conversation) bool { return c.id == id })
}

// Read implements codec.Session.
func (s *session) Read(message []byte) (codec.SessionRequest, error) {
	r := &sessionRequest{session: s}
	var w struct {
		Type       string         `json:"type"`
		StreamID   *string        `json:"stream_id"`
		Generate   *bool          `json:"generate"`
		Stream     *bool          `json:"stream"`
		Background *bool          `json:"background"`
		Store      *bool          `json:"store"`
		Previous   jsontext.Value `json:"previous_response_id"`
		Input      jsontext.Value `json:"input"`
	}
	if err := member.Decode(message, &w); err != nil {
		return r, err
	}
	if w.StreamID != nil {
		if !streamID(*w.StreamID) {
			return r, fault.Invalid("stream_id", "stream_id: expected 1 to %d ASCII letters, digits, underscores, hyphens and periods, got %.60q", maxStreamID, *w.StreamID)
		}
		r.streamID = member.AppendQuote(nil, *w.StreamID)
	}
	switch w.Type {
	case messageCreate:
	case messageSteer:
		r.steered = &steering{input: w.Input, previous: w.Previous}
		f := fault.Invalid("type", "response.steer is not supported: no upstream takes input while it answers; send it in the next response.create")
		f.NativeCode = "steering_not_supported"
		return r, f
	case "":
		return r, fault.Missing("type")
	default:
		return r, fault.Invalid("type", "type: expected %s, got %.60q", messageCreate, w.Type)
	}
	switch {
	case w.Stream != nil && !*w.Stream:
		return r, fault.Invalid("stream", "stream: must be left out of response.create: the answer to a message is always its events")
	case w.Background != nil && *w.Background:
		return r, fault.Invalid(memberBackground, "background: must be false over a WebSocket; send POST /v1/responses")
	}
	r.unstored = w.Store != nil && !*w.Store
	r.prepares = w.Generate != nil && !*w.Generate
	r.previous = unquote(w.Previous)
	var err error
	r.own, err = member.Patch(message, member.Member{Name: "type"}, member.Member{Name: "stream_id"}, member.Member{Name: "generate"},
		member.Member{Name: "stream", Value: jsontext.Value("true")})
	return r, err
}

// sessionRequest is a request of a session.
type sessionRequest struct {
	session *session
	// streamID is the caller's name of the stream as JSON; nil for none.
	streamID           []byte
	prepares, unstored bool
	// previous is the identifier of the response that the request continues, and before its conversation; nil if the session
	// does not remember it.
	previous string
	before   *conversation
	own      []byte
	// steered is what the caller has sent in place of a request.
	steered *steering
	// answered is the response that completes the answer; nil before.
	answered []byte
	ended    atomic.Bool
}

type steering struct{ input, previous jsontext.Value }

// Prepares implements codec.SessionRequest.
func (r *sessionRequest) Prepares() bool { return r.prepares }

// Own implements codec.SessionRequest.
func (r *sessionRequest) Own() []byte { return r.own }

// Body implements codec.SessionRequest. A request that is not to be stored goes on only after a response that the session knows (the
// vendor: "With store=false, there is no persisted fallback").
func (r *sessionRequest) Body() (body []byte, continued bool, err error) {
	if r.previous == "" {
		return r.own, false, nil
	}
	at := slices.IndexFunc(r.session.remembered, func(c conversation) bool { return c.id == r.previous })
	if at < 0 {
		if r.unstored {
			return nil, false, previousNotFound(r.previous)
		}
		return r.own, false, nil
	}
	before := r.session.remembered[at]
	if len(before.turns) == 0 {
		return r.own, false, nil
	}
	r.before = &before
	if body, _, err = form.Continue(r.own, before.turns); err != nil {
		return nil, true, err
	}
	if before.base != "" {
		return set(body, memberPrevious, member.AppendQuote(nil, before.base)), true, nil
	}
	return body, true, uncalled(r.own, body)
}

// uncalled refuses a result in the input of a request, of a call that the whole conversation does not have, in the vendor's words.
// A reference may be to a call.
func uncalled(own, whole []byte) error {
	calls := map[string]bool{}
	for _, item := range member.Elements(member.Value(whole, "input")) {
		kind := unquote(member.Value(item, "type"))
		if kind == typeReference || kind == "" && referenced(item) != "" {
			return nil
		}
		if id := unquote(member.Value(item, "call_id")); id != "" && !strings.HasSuffix(kind, resultSuffix) {
			calls[id] = true
		}
	}
	for _, item := range member.Elements(member.Value(own, "input")) {
		id := unquote(member.Value(item, "call_id"))
		if id != "" && !calls[id] && strings.HasSuffix(unquote(member.Value(item, "type")), resultSuffix) {
			return fault.Invalid("input", "No tool call found for function call output with call_id %.100s.", id)
		}
	}
	return nil
}

// resultSuffix ends the types of items that are results of calls.
const resultSuffix = "_output"

// previousNotFound is the vendor's refusal of a request that continues a response that is not there.
func previousNotFound(id string) error {
	f := fault.New(fault.InvalidRequest, stored.ReasonNotFound, "Previous response with id '%.100s' not found.", id)
	f.Param, f.NativeCode = memberPrevious, "previous_response_not_found"
	return f
}

// Event implements codec.SessionRequest. A response that continues one of the session says so, although the upstream was not
// told.
func (r *sessionRequest) Event(f codec.Frame) []byte {
	data, kind := f.Data, f.Event
	if kind == "" {
		kind = unquote(member.Value(data, "type"))
	}
	switch kind {
	case eventCompleted, eventIncomplete, eventFailed, eventError:
		r.ended.Store(true)
	}
	switch kind {
	case eventCreated, eventQueued, eventInProgress, eventCompleted, eventIncomplete, eventFailed:
		response := member.Value(data, "response")
		if kind == eventCompleted || kind == eventIncomplete {
			r.answered = bytes.Clone(response)
		}
		if r.before != nil {
			patched, err := member.Patch(response, member.Member{Name: memberPrevious, Value: member.AppendQuote(nil, r.previous)})
			if err == nil {
				data = set(data, "response", patched)
			}
		}
	}
	if r.streamID != nil {
		data = set(data, "stream_id", r.streamID)
	}
	return data
}

// set returns an object with a member; an object that cannot be read as it is.
func set(object []byte, name string, value []byte) []byte {
	patched, err := member.Patch(object, member.Member{Name: name, Value: value})
	if err != nil {
		return object
	}
	return patched
}

// Fail implements codec.SessionRequest (SDK: ResponsesServerEvent.ResponseWsError, ResponseSteerFailedEvent).
func (r *sessionRequest) Fail(err *fault.Error, headers map[string]string) []byte {
	r.ended.Store(true)
	status, failure := errorObject(err)
	if code := jsontext.Value(member.Value(failure, "code")); code.Kind() != '"' { // Open Responses demands one
		failure = set(failure, "code", member.Value(failure, "type"))
	}
	w := member.NewWriter(len(failure) + 256)
	w.Begin()
	if r.steered != nil {
		w.Str("type", "response.steer.failed")
		w.Int("sequence_number", 0)
		w.Raw("error", failure)
		w.Object("steer")
		w.RawOpt("input", r.steered.input)
		w.RawOpt(memberPrevious, r.steered.previous)
		w.End()
		w.End()
		return text(w)
	}
	w.Str("type", eventError)
	w.Int("status", int64(status))
	of := member.NewWriter(256)
	of.Begin()
	of.StringMapOpt("headers", headers)
	of.End()
	if own := member.Value(text(of), "headers"); own != nil {
		failure = set(failure, "headers", own)
	}
	w.Raw("error", failure)
	w.RawOpt("stream_id", r.streamID)
	w.End()
	return text(w)
}

// Ended implements codec.SessionRequest.
func (r *sessionRequest) Ended() bool { return r.ended.Load() }

// End implements codec.SessionRequest.
func (r *sessionRequest) End() {
	s := r.session
	defer func() { r.own, r.answered, r.before = nil, nil, nil }() // the socket may be idle for an hour
	if r.answered == nil {
		s.forget(r.previous)
		return
	}
	id := unquote(member.Value(r.answered, "id"))
	if id == "" {
		return
	}
	c := conversation{id: id, base: id}
	if string(member.Value(r.answered, "store")) != "true" {
		turn := form.NewTurn(r.own, 0, r.answered, nil)
		turn.Output = bytes.Clone(turn.Output)
		c.base, c.turns = r.previous, []*stored.Turn{turn}
		if r.before != nil {
			c.base, c.turns = r.before.base, append(c.turns, r.before.turns...)
		}
	}
	s.forget(id)
	s.remembered = append(s.remembered, c)
	if len(s.remembered) > maxRemembered {
		s.remembered = slices.Delete(s.remembered, 0, 1)
	}
}
