// Package responses is the codec of the responses protocol: POST /v1/responses,
// its server-sent events, POST /v1/responses/input_tokens and POST /v1/responses/compact, and what is
// done with responses that are stored. Its authority is
// the responses package of the vendor's Go SDK (openai-go v3).
//
// A conversation is a list of items here: messages, reasoning, tool calls and
// their outputs are items of their own, and neighbouring items of the assistant make
// one canonical message whose parts keep the items' ids. Items only the vendor
// can act on are opaque parts.
//
// It must not import net/http, grpc, an SDK or any package of ours but the
// contract and the packages of codec.
package responses

import (
	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Codec translates the responses protocol. The zero Codec is ready for use.
type Codec struct{}

var (
	_ codec.Codec        = Codec{}
	_ codec.TokenCounter = Codec{}
	_ codec.ModelLister  = Codec{}
	_ codec.Compacter    = Codec{}
	_ codec.Storer       = Codec{}
)

const protocol = genwayv1.Protocol_PROTOCOL_RESPONSES

// Protocol is PROTOCOL_RESPONSES.
func (Codec) Protocol() genwayv1.Protocol { return protocol }
