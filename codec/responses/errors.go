package responses

import (
	"bytes"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/codec/openai"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// overloaded is the code that this protocol's clients know an overload by, where the
// vendor's other operations have another.
const overloaded = "server_is_overloaded"

func wordsOf(err *fault.Error) (kind, code string) {
	kind, code = openai.Words(err)
	if code == "server_overloaded" {
		code = overloaded
	}
	return kind, code
}

// DecodeError reads the body of an answer that is no success.
func (Codec) DecodeError(status int, body []byte) *fault.Error {
	return openai.Decode(status, body, protocol)
}

// EncodeError renders err as the vendor does. What came in the event of a stream
// becomes a body in the event's own words.
func (Codec) EncodeError(err *fault.Error) (int, []byte) {
	kind, code := wordsOf(err)
	if err.Wire.GetProtocol() == protocol && len(err.Wire.GetJson()) > 0 {
		if _, event := failedIn(err.Wire.Json); !event {
			return err.HTTPStatus(), err.Wire.Json
		}
		if own := err.NativeType; own != "" && own != eventError {
			kind = own
		}
		code = err.NativeCode
	}
	return err.HTTPStatus(), openai.Body(err.Message, kind, err.Param, code)
}

// failure is the fault of a response that failed or of an error event; body is
// kept whole.
func failure(raw jsontext.Value, body []byte) *fault.Error {
	err := fault.New(fault.BadUpstream, "UPSTREAM_ERROR", "the upstream failed to generate an answer")
	err.Wire = &genwayv1.WireMessage{Protocol: protocol, Json: bytes.Clone(body)}
	openai.Fill(err, raw)
	return err
}

// failedIn finds the error in the body of a failed response or in a stream's
// event; ok is false when the body is neither.
func failedIn(body []byte) (raw jsontext.Value, ok bool) {
	var w struct {
		Object   string         `json:"object"`
		Type     string         `json:"type"`
		Error    jsontext.Value `json:"error"`
		Response struct {
			Error jsontext.Value `json:"error"`
		} `json:"response"`
	}
	if json.Unmarshal(body, &w, member.Options()) != nil {
		return nil, false
	}
	switch {
	case w.Type == eventFailed:
		return w.Response.Error, true
	case w.Type == eventError && w.Error.Kind() != '{':
		return body, true
	case w.Type == eventError, w.Object == "response":
		return w.Error, true
	}
	return nil, false
}

// failingEvent names the event of a stream that an error came in.
func failingEvent(body []byte) (string, bool) {
	var w struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(body, &w, member.Options()) != nil {
		return "", false
	}
	return w.Type, w.Type == eventFailed || w.Type == eventError
}

// errorObject is the member error of an error's body, and the status.
func errorObject(err *fault.Error) (int, jsontext.Value) {
	status, body := Codec{}.EncodeError(err)
	object := jsontext.Value(member.Value(body, "error"))
	if object.Kind() != '{' { // an upstream's own, of another form
		kind, code := wordsOf(err)
		object = member.Value(openai.Body(err.Message, kind, err.Param, code), "error")
	}
	return status, object
}

// streamCodes are the vendor's codes of a response that failed (SDK:
// ResponseErrorCode), where they differ from the codes of an error body.
var streamCodes = map[fault.Kind]string{
	fault.InvalidRequest: "invalid_prompt",
	fault.Unprocessable:  "invalid_prompt",
	fault.BadUpstream:    "server_error",
	fault.Internal:       "server_error",
	fault.Timeout:        "server_error",
	fault.Unavailable:    "server_error",
}

// failedError is the error member of a response that failed.
func failedError(err *fault.Error) []byte {
	code, ok := streamCodes[err.Kind]
	if !ok {
		_, code = wordsOf(err)
	}
	if code == "" {
		code = "server_error"
	}
	w := member.NewWriter(64 + len(err.Message))
	w.Begin()
	w.Str("code", code)
	w.Str("message", err.Message)
	w.End()
	return text(w)
}

// ErrorUsage returns the usage that a response reported although it failed (case
// U7), nil when the error has none.
func (Codec) ErrorUsage(err *fault.Error) *genwayv1.Usage {
	if err == nil || err.Wire.GetProtocol() != protocol {
		return nil
	}
	body := err.Wire.GetJson()
	if response := member.Value(body, "response"); response != nil {
		body = response
	}
	var w struct {
		Usage       *wireUsage `json:"usage"`
		ServiceTier string     `json:"service_tier"`
	}
	if json.Unmarshal(body, &w, member.Options()) != nil {
		return nil
	}
	return withTools(w.Usage.canonical(w.ServiceTier), body)
}

const memberBackground = "background"

// refuseBackground refuses a request whose response would run in the background at the upstream. Such a
// response is queued when its call is answered, and only a later answer has its usage, so the ledger could not charge
// it. What callers ask to run in the background, Genway runs: see Background.
func refuseBackground(natives []*genwayv1.NativeField) error {
	return backgroundFault(member.Native(protocol, natives, memberBackground))
}

// refuseExtraBackground does so for a body with the members that a direct caller adds.
func refuseExtraBackground(body []byte) error {
	return backgroundFault(member.Value(body, memberBackground))
}

// backgroundFault takes false and null, which are the vendor's default.
func backgroundFault(value jsontext.Value) error {
	value = bytes.TrimSpace(value)
	if len(value) == 0 || value.Kind() == 'n' || value.Kind() == 'f' {
		return nil
	}
	return fault.Invalid(memberBackground, "background: must be false here; a response in the background is created by POST /v1/responses")
}

// checkBackground holds the member to its type. A request in the background is refused wherever it would be sent as one.
func checkBackground(natives []*genwayv1.NativeField) error {
	for _, f := range natives {
		if f.Name != memberBackground {
			continue
		}
		switch jsontext.Value(f.Json).Kind() {
		case 'n', 'f':
		case 't':
			f.Binding = true
		default:
			return fault.Invalid(memberBackground, "background: expected true or false")
		}
	}
	return nil
}
