package responses

import (
	"slices"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// A response that Genway stores is kept in two parts: its turn, which a conversation is made of, and the rest of its body.
// Continuing a conversation reads turns alone, so that what each body repeats of its request costs nothing.

// PrefixStored begins the identifier of a response that Genway stores. 32 hexadecimal digits follow it.
const PrefixStored = prefixResponse + syntheticMark

// IsStoredID reports whether a response with that identifier may be stored by Genway. No upstream has ever seen it.
func IsStoredID(id string) bool {
	digits, ok := strings.CutPrefix(id, PrefixStored)
	return ok && len(digits) == 32 && strings.Trim(digits, "0123456789abcdef") == ""
}

// Background reports whether a request is to be answered in the background.
func Background(req *genwayv1.GenerateTextRequest) bool {
	return member.Native(protocol, req.GetNativeFields(), memberBackground).Kind() == 't'
}

// Foreground returns the body of a request without that; nil for a request that does not ask for it.
func (Codec) Foreground(request []byte) ([]byte, error) {
	if !InBackground(request) {
		return nil, nil
	}
	return member.Patch(request, member.Member{Name: memberBackground})
}

// InBackground reports whether a request asks for a response in the background, or a response was created so.
func InBackground(body []byte) bool {
	return jsontext.Value(member.Value(body, memberBackground)).Kind() == 't'
}

// Status returns how far the response of a body is.
func Status(body []byte) genwayv1.ResponseStatus {
	switch unquote(member.Value(body, "status")) {
	case statusFailed:
		return genwayv1.ResponseStatus_RESPONSE_STATUS_FAILED
	case statusCancelled:
		return genwayv1.ResponseStatus_RESPONSE_STATUS_CANCELLED
	case statusInProgress, statusQueued:
		return genwayv1.ResponseStatus_RESPONSE_STATUS_IN_PROGRESS
	}
	return genwayv1.ResponseStatus_RESPONSE_STATUS_COMPLETED
}

// Queued returns the body of a response in progress as one that has yet to begin.
func Queued(body []byte) ([]byte, error) { return withStatus(body, statusQueued) }

// Cancelled returns the body of a response in progress as one that was cancelled.
func Cancelled(body []byte) ([]byte, error) { return withStatus(body, statusCancelled) }

func withStatus(body []byte, status string) ([]byte, error) {
	return member.Patch(body, member.Member{Name: "status", Value: member.AppendQuote(nil, status)})
}

// Failed returns the body of a response in progress as that of one that has failed.
func Failed(body []byte, err *fault.Error) ([]byte, error) {
	return member.Patch(body, member.Member{Name: "status", Value: member.AppendQuote(nil, statusFailed)}, member.Member{Name: "error", Value: failedError(err)})
}

const memberPrevious = "previous_response_id"

// Previous returns the identifier of the response that a request continues; "" for none.
func Previous(req *genwayv1.GenerateTextRequest) string {
	return unquote(member.Native(protocol, req.GetNativeFields(), memberPrevious))
}

// Turn is a request's own input and what was answered: one link of a conversation.
type Turn struct {
	// Input and Output are lists of items. Output is nil while the request is not answered, and stays so if it never is.
	Input, Output jsontext.Value
	// Before are the identifiers of the responses that the conversation had before, the latest first: at most MaxBefore,
	// the last of which has those before it.
	Before []string
	// Background says that the response was made in the background, and may be cancelled.
	Background bool
	// Lost are the members that the response in the background has lost on its way, by the caller's names.
	Lost []string
}

// MaxBefore bounds Turn.Before: a conversation is read in as many steps as it has turns, divided by MaxBefore, and a turn
// is no larger for being late in one.
const MaxBefore = 64

// After returns what a turn has in Before that continues the response of that identifier.
func (t *Turn) After(id string) []string {
	return append([]string{id}, t.Before[:min(len(t.Before), MaxBefore-1)]...)
}

// NewTurn returns the turn of a request, of whose input the first items belong to the conversation before, and the body of
// its response. That of a response which has not ended, or has failed, is not answered.
func NewTurn(request []byte, earlier int, response []byte, before []string) *Turn {
	t := &Turn{Input: ownInput(request, earlier), Before: before, Background: InBackground(response)}
	switch Status(response) { //nolint:exhaustive // all others are answers
	case genwayv1.ResponseStatus_RESPONSE_STATUS_IN_PROGRESS, genwayv1.ResponseStatus_RESPONSE_STATUS_FAILED:
		return t
	}
	if t.Output = member.Value(response, "output"); t.Output == nil {
		t.Output = jsontext.Value("[]")
	}
	return t
}

// ownInput is the input of a request as a list, without its first items.
func ownInput(request []byte, earlier int) []byte {
	return appendItems([]byte{'['}, member.Value(request, "input"), earlier)
}

// appendItems appends an input to an open list, which it closes. A text is a message of the user.
func appendItems(list []byte, input jsontext.Value, skip int) []byte {
	add := func(item []byte) {
		if len(list) > 1 {
			list = append(list, ',')
		}
		list = append(list, item...)
	}
	switch input.Kind() {
	case '"':
		add(append(append([]byte(`{"type":"message","role":"user","content":`), input...), '}'))
	case '[':
		for i, item := range member.Elements(input) {
			if i >= skip {
				add(item)
			}
		}
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
	return text(w)
}

// ParseTurn reads what Encode has written, of which the turn has parts.
func ParseTurn(stored []byte) *Turn {
	t := &Turn{Input: member.Value(stored, "input"), Output: member.Value(stored, "output"), Background: InBackground(stored)}
	for _, id := range member.Elements(member.Value(stored, "before")) {
		t.Before = append(t.Before, unquote(id))
	}
	for _, name := range member.Elements(member.Value(stored, "lost")) {
		t.Lost = append(t.Lost, unquote(name))
	}
	return t
}

// Frame returns the body of a response without its output, which its turn has.
func Frame(response []byte) ([]byte, error) {
	return member.Patch(response, member.Member{Name: "output", Value: jsontext.Value("[]")})
}

// Body returns the body that a frame and a turn were made of.
func Body(frame []byte, t *Turn) ([]byte, error) {
	if t.Output == nil {
		return frame, nil
	}
	return member.Patch(frame, member.Member{Name: "output", Value: t.Output})
}

// Continue returns the body of a request with a conversation, the latest turn first, before its own input, in place of the
// identifier by which it continues it, and the number of the items that were put before.
func Continue(request []byte, latest []*Turn) (body []byte, earlier int, err error) {
	input := []byte{'['}
	for _, turn := range slices.Backward(latest) {
		for _, list := range []jsontext.Value{turn.Input, turn.Output} {
			for range member.Elements(list) {
				earlier++
			}
			input = appendItems(input, list, 0)
			input = input[:len(input)-1]
		}
	}
	input = appendItems(input, member.Value(request, "input"), 0)
	body, err = member.Patch(request, member.Member{Name: "input", Value: input}, member.Member{Name: memberPrevious})
	return body, earlier, err
}

// InputItems returns the items of a turn's input as the vendor lists them (SDK: ResponseItem): each has a type and an
// identifier, and the content of a message is a list.
func (t *Turn) InputItems(response string) []*genwayv1.OpaquePart {
	var listed []*genwayv1.OpaquePart
	for i, raw := range member.Elements(t.Input) {
		kind := unquote(member.Value(raw, "type"))
		var set []member.Member
		if kind == "" && referenced(raw) != "" {
			kind = typeReference
		}
		if kind == "" {
			kind = typeMessage
		}
		if unquote(member.Value(raw, "type")) == "" {
			set = append(set, member.Member{Name: "type", Value: member.AppendQuote(nil, kind)})
		}
		if unquote(member.Value(raw, "id")) == "" {
			set = append(set, member.Member{Name: "id", Value: member.AppendQuote(nil, inputID(kind, response, i))})
		}
		if content := jsontext.Value(member.Value(raw, "content")); kind == typeMessage && content.Kind() == '"' {
			part, extra := typeInputText, ""
			if unquote(member.Value(raw, "role")) == "assistant" {
				part, extra = typeOutputText, `,"annotations":[]`
			}
			list := append(append([]byte(`[{"type":"`+part+`","text":`), content...), extra...)
			set = append(set, member.Member{Name: "content", Value: append(list, "}]"...)})
		}
		if kind == typeMessage && member.Value(raw, "status") == nil {
			set = append(set, member.Member{Name: "status", Value: jsontext.Value(`"completed"`)})
		}
		item := []byte(raw)
		if patched, err := member.Patch(raw, set...); err == nil {
			item = patched
		}
		listed = append(listed, &genwayv1.OpaquePart{Protocol: protocol, Type: kind, Json: item})
	}
	return listed
}

// inputID names an item of an input that has no identifier: always the same for the same place.
func inputID(kind, response string, index int) string {
	prefix := "item_"
	switch kind {
	case typeMessage:
		prefix = prefixMessage
	case typeReasoning:
		prefix = prefixReasoning
	case typeFunctionCall:
		prefix = prefixFunction
	case typeCustomCall:
		prefix = prefixCustom
	case typeFunctionOutput, typeCustomOutput:
		prefix = prefixOutput
	}
	return syntheticID(prefix, response+"/input", 0, index)
}

// ItemID returns the identifier of an item that InputItems has returned.
func ItemID(item *genwayv1.OpaquePart) string { return unquote(member.Value(item.GetJson(), "id")) }

// EncodeStored implements codec.Storer. A core that knows the contract alone sends no body.
func (c Codec) EncodeStored(resp *genwayv1.GetResponseResponse) ([]byte, error) {
	if wire := resp.GetResponse().GetWire(); wire.GetProtocol() == protocol && len(wire.GetJson()) > 0 {
		return wire.GetJson(), nil
	}
	body, err := c.EncodeResponse(resp.GetResponse(), codec.Answer{})
	if err != nil {
		return nil, err
	}
	switch resp.GetStatus() { //nolint:exhaustive // the others are the answer's own
	case genwayv1.ResponseStatus_RESPONSE_STATUS_FAILED:
		return withStatus(body, statusFailed)
	case genwayv1.ResponseStatus_RESPONSE_STATUS_CANCELLED:
		return withStatus(body, statusCancelled)
	case genwayv1.ResponseStatus_RESPONSE_STATUS_IN_PROGRESS:
		return withStatus(body, statusInProgress)
	}
	return body, nil
}

// EncodeDeleted implements codec.Storer.
func (Codec) EncodeDeleted(resp *genwayv1.DeleteResponseResponse) ([]byte, error) {
	w := member.NewWriter(128)
	w.Begin()
	w.Str("id", resp.GetId())
	w.Str("object", "response")
	w.Bool("deleted", true)
	w.End()
	return w.Finish()
}

// EncodeInputItems implements codec.Storer (SDK: ResponseItemList).
func (Codec) EncodeInputItems(resp *genwayv1.ListInputItemsResponse) ([]byte, error) {
	items := resp.GetItems()
	w := member.NewWriter(512)
	w.Begin()
	w.Str("object", "list")
	w.List("data")
	for _, item := range items {
		w.Value(item.GetJson())
	}
	w.EndList()
	if len(items) == 0 {
		w.Null("first_id")
		w.Null("last_id")
	} else {
		w.Str("first_id", ItemID(items[0]))
		w.Str("last_id", ItemID(items[len(items)-1]))
	}
	w.Bool("has_more", resp.GetNextPageToken() != "")
	w.End()
	return w.Finish()
}
