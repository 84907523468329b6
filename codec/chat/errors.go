package chat

import (
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/openai"
)

// EncodeError implements codec.Codec.
func (Codec) EncodeError(err *fault.Error) (int, []byte) {
	return err.HTTPStatus(), encodeError(err)
}

func encodeError(err *fault.Error) []byte {
	if err.Wire.GetProtocol() == protocol && len(err.Wire.GetJson()) > 0 {
		return err.Wire.Json
	}
	return openai.Encode(err)
}

// DecodeError implements codec.Codec. What is not JSON keeps only its status.
func (Codec) DecodeError(status int, body []byte) *fault.Error { return decodeError(status, body) }

// decodeError reads an error; a status of 0 is that of one within an answer or a
// stream.
func decodeError(status int, body []byte) *fault.Error {
	return openai.Decode(status, body, protocol)
}
