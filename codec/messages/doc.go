// Package messages is the codec of the messages protocol (POST /v1/messages and
// /v1/messages/count_tokens): JSON to the canonical messages of genway.v1 and
// back, for requests, answers, streams, errors, token counts and model lists.
// The authority is the vendor's npm package, @anthropic-ai/sdk (resources/messages, resources/beta/messages,
// resources/shared): its Go SDK follows weeks later.
//
// Decoding reads wire structs; encoding appends JSON text, so that schemas,
// arguments and members without a field keep every byte. The package must not
// import net/http, grpc, another codec or anything of ours but the contract, codec
// and the packages below codec that know no protocol.
package messages

import (
	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

const protocol = genwayv1.Protocol_PROTOCOL_MESSAGES

// Codec is the codec of the messages protocol. The zero Codec is ready for use.
type Codec struct{}

var (
	_ codec.Codec        = Codec{}
	_ codec.TokenCounter = Codec{}
	_ codec.ModelLister  = Codec{}
)

// Protocol is PROTOCOL_MESSAGES.
func (Codec) Protocol() genwayv1.Protocol { return protocol }
