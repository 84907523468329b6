// Package images is the codec of the image generation operation, both directions.
//
// The authority on it is the vendor's own SDK: ImageGenerateParams and
// ImagesResponse of openai-go v3. generation_id, model and size of each image are
// members of the interface this gateway was built to that the SDK leaves to its
// extra fields.
//
// Like every codec it is pure: no net/http, no grpc, no state.
package images

import (
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/openai"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

const protocol = genwayv1.Protocol_PROTOCOL_IMAGES

// Codec translates image generation. Its methods are safe for concurrent use.
type Codec struct{}

// EncodeError renders err as the protocol's error body, the same as that of the
// vendor's other operations.
func (Codec) EncodeError(err *fault.Error) (status int, body []byte) {
	if err.Wire.GetProtocol() == protocol {
		return err.HTTPStatus(), err.Wire.GetJson()
	}
	return err.HTTPStatus(), openai.Encode(err)
}

// DecodeError reads the body of an answer that is not 2xx.
func (Codec) DecodeError(status int, body []byte) *fault.Error {
	return openai.Decode(status, body, protocol)
}
