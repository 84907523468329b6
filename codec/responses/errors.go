package responses

import (
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/openai"
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
