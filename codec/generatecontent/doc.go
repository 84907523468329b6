// Package generatecontent is the codec of the generateContent protocol: contents
// in, candidates out, the model in the URL path. The authority for its members is
// the vendor's Go SDK (google.golang.org/genai, types.go); the API reads
// protobuf's JSON mapping, so that requests may also spell members in snake_case
// and give one object where a list is declared.
//
// Natives are nested by name: a native field of a request called
// generationConfig.imageConfig is the member imageConfig of generationConfig.
// Likewise toolConfig.*, toolConfig.functionCallingConfig.*, functionCall.*,
// functionResponse.*, inlineData.* and fileData.* of a part, content.* and
// logprobsResult.* of a candidate.
//
// Like every codec it must not import net/http, grpc or any package of ours but
// the contract, codec and the packages below codec that know no protocol.
package generatecontent

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/google"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// Codec is the codec; its zero value is ready for use.
type Codec struct{}

var (
	_ codec.Codec        = Codec{}
	_ codec.TokenCounter = Codec{}
	_ codec.ModelLister  = Codec{}
)

const protocol = genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT

// EncodeError renders err in Google's format.
func (Codec) EncodeError(err *fault.Error) (int, []byte) { return google.Encode(err, protocol) }

// DecodeError reads the body of a failed call.
func (Codec) DecodeError(status int, body []byte) *fault.Error {
	return google.Decode(status, body, protocol)
}

// Protocol names the protocol.
func (Codec) Protocol() genwayv1.Protocol { return protocol }

// writable is what a body is made of.
type writable interface{ write(to *member.Writer) }

// marshal writes a body of about that size. What can go wrong is JSON text inside the
// canonical message, which its sender vouched for.
func marshal(v writable, size int, kind fault.Kind) ([]byte, error) {
	to := member.NewWriter(size)
	v.write(to)
	out, err := to.Finish()
	if err == nil {
		return out, nil
	}
	if kind == fault.InvalidRequest {
		return nil, fault.Wrap(err, kind, fault.ReasonInvalidMember, "the request has JSON text that cannot be written into a body")
	}
	return nil, unwritable(err)
}

// unwritable is an answer with JSON in it that is none.
func unwritable(err error) error {
	return fault.Wrap(err, fault.Internal, "ENCODE", "%s", fault.InternalMessage)
}

// spelled returns a value that stands within another.
func spelled(v writable) (jsontext.Value, error) {
	to := member.NewWriter(256)
	v.write(to)
	return to.Finish()
}
