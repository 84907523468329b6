// Package messages is the codec of the messages protocol (POST /v1/messages and
// /v1/messages/count_tokens): JSON to the canonical messages of genway.v1 and
// back, for requests, answers, streams, errors, token counts and model lists.
// The authority is the vendor's Go SDK (message.go, betamessage.go, shared.go).
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

// DefaultMaxTokens is the max_tokens of a request that comes without a limit from
// a protocol where none is required, since this one requires it (case F17). It is
// what the vendor's own agent sends, and the most that every model the vendor
// still serves takes. A loss max_output_tokens tells the caller of it.
const DefaultMaxTokens = 32000

// Codec is the codec of the messages protocol. The zero Codec is ready for use.
type Codec struct{}

var (
	_ codec.Codec        = Codec{}
	_ codec.TokenCounter = Codec{}
	_ codec.ModelLister  = Codec{}
)

// Protocol is PROTOCOL_MESSAGES.
func (Codec) Protocol() genwayv1.Protocol { return protocol }
