// Package chat is the codec of the chat completions protocol: OpenAI's, by the
// types of its Go SDK (openai-go v3, chatcompletion.go), with the members that
// self-hosted engines and aggregators add and clients rely on: reasoning_content,
// reasoning, reasoning_details, images, and Google's extra_content. It also writes
// OpenAI's list of models.
//
// Unary answers, requests and stream deltas share one struct, message: a new
// member is one line there, one where it is read and one where it is written.
//
// It must not import net/http, grpc, or any package of ours but the contract and
// the frame of the codecs.
package chat

import (
	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

const protocol = genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS

// Codec translates chat completions. The zero Codec is ready for use.
type Codec struct{}

var (
	_ codec.Codec       = Codec{}
	_ codec.ModelLister = Codec{}
)

// Protocol is PROTOCOL_CHAT_COMPLETIONS.
func (Codec) Protocol() genwayv1.Protocol { return protocol }
