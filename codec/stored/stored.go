// Package stored has what protocols whose answers may be stored and fetched later have in common: how a stored answer is
// split, how a conversation is continued, and how far an answer is. What differs between protocols is a Form.
//
// An answer that Genway stores is kept in two parts: its turn, which a conversation is made of, and the rest of its body.
// Continuing a conversation reads turns alone, so that what each body repeats of its request costs nothing.
//
// It must not import a codec.
package stored

import (
	"slices"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// Codec is a codec whose protocol has such answers.
type Codec interface {
	codec.Codec
	codec.Storer
	// Stored returns the form of the protocol's answers.
	Stored() *Form
	// NewRecorder makes a recorder of one stream.
	NewRecorder(to codec.Answer) Recorder
	// Replay returns the events that the body of an answer which has ended adds up to: for one body always the same.
	Replay(body []byte) ([]codec.Frame, error)
	// End returns the event of that number, which ends the stream of an answer with that body. The first event is 0.
	End(body []byte, number int64) (codec.Frame, error)
}

// Recorder makes of a streamed answer the body that its events have of it, as the codec's NewStreamEncoder writes them.
type Recorder interface {
	// Add notes an event, which stays as it is, and returns its frames, which are valid until the next. An answer that has
	// started before its upstream did starts twice.
	Add(ev *genwayv1.StreamGenerateTextResponse) ([]codec.Frame, error)
	// Body returns the body of the answer: after the started event of one in progress, and after the completed event of all
	// of it.
	Body() []byte
}

// Form is how the bodies of a protocol say what is true of stored answers. Bodies are JSON objects.
type Form struct {
	Protocol genwayv1.Protocol
	// Noun is what errors call an answer.
	Noun string
	// Prefix begins the identifier of an answer that Genway stores. 32 hexadecimal digits follow it.
	Prefix string
	// Previous is the member of a request by which it continues an answer, and Output the member of an answer with a list
	// of what was said. The input of a request is its member input.
	Previous, Output string
	// Elements returns the elements of an input, in any of its forms, as a list has them that goes on with a conversation.
	Elements func(input jsontext.Value) []jsontext.Value
	// Queued, InProgress, Failed and Cancelled are words of the member status of an answer.
	Queued, InProgress, Failed, Cancelled string
	// Failure returns the member of an answer that says why it has failed.
	Failure func(err *fault.Error) member.Member
	// PreviousNotFound returns the failure of a request that continues an answer which is not there.
	PreviousNotFound func(id string) error
	// Items returns what of an output later requests may refer to; nil for a protocol without references.
	Items func(output []byte) []Item
}

// Item is one item of an answer's output as its caller gets it.
type Item struct {
	ID string
	// JSON is the whole item.
	JSON []byte
}

// ReasonNotFound is the reason of requests for an answer that is not there.
const ReasonNotFound = "RESPONSE_NOT_FOUND"

// ItemsOf returns what of an output later requests may refer to.
func (f *Form) ItemsOf(output []byte) []Item {
	if f.Items == nil {
		return nil
	}
	return f.Items(output)
}

const memberBackground = "background"

// IsID reports whether an answer with that identifier may be stored by Genway. No upstream has ever seen it.
func (f *Form) IsID(id string) bool {
	digits, ok := strings.CutPrefix(id, f.Prefix)
	return ok && len(digits) == 32 && strings.Trim(digits, "0123456789abcdef") == ""
}

// Background reports whether a request is to be answered in the background.
func (f *Form) Background(req *genwayv1.GenerateTextRequest) bool {
	return member.Native(f.Protocol, req.GetNativeFields(), memberBackground).Kind() == 't'
}

// Foreground returns the body of a request without that; nil for a request that does not ask for it.
func (f *Form) Foreground(request []byte) ([]byte, error) {
	if !InBackground(request) {
		return nil, nil
	}
	return member.Patch(request, member.Member{Name: memberBackground})
}

// InBackground reports whether a request asks for an answer in the background, or an answer was created so.
func InBackground(body []byte) bool {
	return jsontext.Value(member.Value(body, memberBackground)).Kind() == 't'
}

// Status returns how far the answer of a body is.
func (f *Form) Status(body []byte) genwayv1.ResponseStatus {
	switch member.Raw(member.Value(body, "status")).String() {
	case f.Failed:
		return genwayv1.ResponseStatus_RESPONSE_STATUS_FAILED
	case f.Cancelled:
		return genwayv1.ResponseStatus_RESPONSE_STATUS_CANCELLED
	case f.InProgress, f.Queued:
		return genwayv1.ResponseStatus_RESPONSE_STATUS_IN_PROGRESS
	}
	return genwayv1.ResponseStatus_RESPONSE_STATUS_COMPLETED
}

// AsQueued returns the body of an answer in progress as one that has yet to begin.
func (f *Form) AsQueued(body []byte) ([]byte, error) { return withStatus(body, f.Queued) }

// AsCancelled returns the body of an answer in progress as one that was cancelled.
func (f *Form) AsCancelled(body []byte) ([]byte, error) { return withStatus(body, f.Cancelled) }

// As returns the body of an answer with the word for a status; COMPLETED has it as it is.
func (f *Form) As(body []byte, status genwayv1.ResponseStatus) ([]byte, error) {
	switch status { //nolint:exhaustive // the others are the answer's own
	case genwayv1.ResponseStatus_RESPONSE_STATUS_FAILED:
		return withStatus(body, f.Failed)
	case genwayv1.ResponseStatus_RESPONSE_STATUS_CANCELLED:
		return withStatus(body, f.Cancelled)
	case genwayv1.ResponseStatus_RESPONSE_STATUS_IN_PROGRESS:
		return withStatus(body, f.InProgress)
	}
	return body, nil
}

// Encode returns the body of an answer that is stored: its own, or what the codec of the protocol makes of the contract's message,
// of a core that knows the contract alone.
func (f *Form) Encode(resp *genwayv1.GetResponseResponse, c codec.Codec) ([]byte, error) {
	if wire := resp.GetResponse().GetWire(); wire.GetProtocol() == f.Protocol && len(wire.GetJson()) > 0 {
		return wire.GetJson(), nil
	}
	body, err := c.EncodeResponse(resp.GetResponse(), codec.Answer{})
	if err != nil {
		return nil, err
	}
	return f.As(body, resp.GetStatus())
}

// AsFailed marks the body of an answer in progress as failed, with the error.
func (f *Form) AsFailed(body []byte, err *fault.Error) ([]byte, error) {
	return member.Patch(body, statusOf(f.Failed), f.Failure(err))
}

func withStatus(body []byte, word string) ([]byte, error) { return member.Patch(body, statusOf(word)) }

func statusOf(word string) member.Member {
	return member.Member{Name: "status", Value: member.AppendQuote(nil, word)}
}

// PreviousOf returns the identifier of the answer that a request continues; "" for none.
func (f *Form) PreviousOf(req *genwayv1.GenerateTextRequest) string {
	return member.Raw(member.Native(f.Protocol, req.GetNativeFields(), f.Previous)).String()
}

// Turn is a request's own input and what was answered: one link of a conversation.
type Turn struct {
	// Input and Output are lists. Output is nil while the request is not answered, and stays so if it never is.
	Input, Output jsontext.Value
	// Before are the identifiers of the answers that the conversation had before, the latest first: at most MaxBefore,
	// the last of which has those before it.
	Before []string
	// Background says that the answer was made in the background, and may be cancelled.
	Background bool
	// Lost are the members that the answer in the background has lost on its way, by the caller's names.
	Lost []string
}

// MaxBefore bounds Turn.Before: a conversation is read in as many steps as it has turns, divided by MaxBefore, and a turn
// is no larger for being late in one.
const MaxBefore = 64

// After returns what a turn has in Before that continues the answer of that identifier.
func (t *Turn) After(id string) []string {
	return append([]string{id}, t.Before[:min(len(t.Before), MaxBefore-1)]...)
}

// NewTurn returns the turn of a request, of whose input the first elements belong to the conversation before, and the body of
// its answer. The turn has no output while the answer is in progress, and if it failed.
func (f *Form) NewTurn(request []byte, earlier int, answer []byte, before []string) *Turn {
	own := f.Elements(member.Value(request, "input"))
	t := &Turn{Input: appendElements([]byte{'['}, own[min(earlier, len(own)):]), Before: before, Background: InBackground(answer)}
	switch f.Status(answer) { //nolint:exhaustive // all others are answers
	case genwayv1.ResponseStatus_RESPONSE_STATUS_IN_PROGRESS, genwayv1.ResponseStatus_RESPONSE_STATUS_FAILED:
		return t
	}
	if t.Output = member.Value(answer, f.Output); t.Output == nil {
		t.Output = jsontext.Value("[]")
	}
	return t
}

// appendElements appends elements to an open list, which it closes.
func appendElements(list []byte, elements []jsontext.Value) []byte {
	for _, element := range elements {
		if len(list) > 1 {
			list = append(list, ',')
		}
		list = append(list, element...)
	}
	return append(list, ']')
}

// Encode returns the turn as it is stored.
func (t *Turn) Encode() []byte {
	w := member.NewWriter(len(t.Input) + len(t.Output) + 64*len(t.Before) + 64)
	w.Begin()
	w.List("before")
	for _, id := range t.Before {
		w.String(id)
	}
	w.EndList()
	if len(t.Lost) > 0 {
		w.List("lost")
		for _, name := range t.Lost {
			w.String(name)
		}
		w.EndList()
	}
	if t.Background {
		w.Bool(memberBackground, true)
	}
	w.Raw("input", t.Input)
	if t.Output != nil {
		w.Raw("output", t.Output)
	}
	w.End()
	text, _ := w.Finish() // its values are valid JSON
	return text
}

// ParseTurn reads what Encode has written, of which the turn has parts.
func ParseTurn(stored []byte) *Turn {
	t := &Turn{Input: member.Value(stored, "input"), Output: member.Value(stored, "output"), Background: InBackground(stored)}
	for _, id := range member.Elements(member.Value(stored, "before")) {
		t.Before = append(t.Before, member.Raw(id).String())
	}
	for _, name := range member.Elements(member.Value(stored, "lost")) {
		t.Lost = append(t.Lost, member.Raw(name).String())
	}
	return t
}

// Frame returns the body of an answer without its output, which its turn has.
func (f *Form) Frame(answer []byte) ([]byte, error) {
	return member.Patch(answer, member.Member{Name: f.Output, Value: jsontext.Value("[]")})
}

// Body returns the body that a frame and a turn were made of.
func (f *Form) Body(frame []byte, t *Turn) ([]byte, error) {
	if t.Output == nil {
		return frame, nil
	}
	return member.Patch(frame, member.Member{Name: f.Output, Value: t.Output})
}

// Continue returns the body of a request with a conversation, the latest turn first, before its own input, in place of the
// identifier by which it continues it, and the number of the elements that were put before.
func (f *Form) Continue(request []byte, latest []*Turn) (body []byte, earlier int, err error) {
	var all []jsontext.Value
	for _, turn := range slices.Backward(latest) {
		for _, list := range []jsontext.Value{turn.Input, turn.Output} {
			for _, element := range member.Elements(list) {
				all = append(all, element)
			}
		}
	}
	earlier = len(all)
	input := appendElements([]byte{'['}, append(all, f.Elements(member.Value(request, "input"))...))
	body, err = member.Patch(request, member.Member{Name: "input", Value: input}, member.Member{Name: f.Previous})
	return body, earlier, err
}
