// Package upstream declares what the core needs of the server of a request: a
// vendor's service behind an adapter, another Generation server, or the embedded
// sandbox. Adapters live in packages below this one.
//
// It must not import net/http, grpc or any package of ours but the contract, the
// faults, the protocols, and the record of a call.
package upstream

import (
	"context"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/call"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
)

// Upstream answers requests. Its methods are safe for concurrent use and do not
// change or keep the request. Their errors are *fault.Error values, whose Param
// is a path in the canonical message (messages[0].parts[1].image).
//
// When ctx ends, a call ends within 100 ms and returns what Interrupted
// makes of it. An adapter counts each call it makes in the Calls of the call's record (call.Of), and
// calls its AnswerBegins when a unary answer has begun, if it can know.
type Upstream interface {
	// GenerateText returns one complete answer. Id and create_time may be empty; the
	// caller then sets them. The conversation of a request may not be decoded yet: an adapter
	// that cannot pass the caller's own body on decodes it with Whole.
	GenerateText(ctx context.Context, req *deferred.Request) (*genwayv1.GenerateTextResponse, error)
	// StreamGenerateText returns the same answer as events, in the order stream.proto
	// states. It calls send from one goroutine at a time, and from none any more when
	// it has returned. An error of send ends the call and is returned as it is. Returning nil
	// without having sent TextCompleted is a cut stream, and a fault of the upstream.
	StreamGenerateText(ctx context.Context, req *deferred.Request, send Send) error
	// GenerateImage returns all images of the request, each whole.
	GenerateImage(ctx context.Context, req *genwayv1.GenerateImageRequest) (*genwayv1.GenerateImageResponse, error)
	// StreamGenerateImage returns the same images as events, in the order image_stream.proto
	// states, under the rules of StreamGenerateText.
	StreamGenerateImage(ctx context.Context, req *genwayv1.GenerateImageRequest, send SendImage) error
	// CountTokens says what usage.input_tokens of the request would be.
	CountTokens(ctx context.Context, req *genwayv1.CountTokensRequest) (*genwayv1.CountTokensResponse, error)
	// Models lists what requests may name, in any order.
	Models() []*genwayv1.Model
}

// A Candidate is an upstream that a request may go to, and what it would be asked there.
type Candidate struct {
	// Upstream is its name, and Model what the model is called there.
	Upstream, Model string
	// ServiceTier is the tier that a text request asks for; empty for none.
	ServiceTier string
	// Answers is how many answers, or images, the request asks for; below 1 is one.
	Answers int64
	// MaxOutput is how many tokens each answer has at most, in a text request: the maximum that the upstream is told, else
	// what is known of the model. Below 0 is not known.
	MaxOutput int64
	// Cuts is set for a request that sets no maximum, if a lower one can be told to the upstream.
	Cuts bool
}

// Stored is a call about an answer that an upstream stores: the caller's protocol, the HTTP method, the answer's identifier, what follows it in the path (/cancel),
// and the query.
type Stored struct {
	Protocol         genwayv1.Protocol
	Method, ID, Verb string
	Query            map[string]string
}

// Send passes one event to the caller. The event is the receiver's to keep.
type Send = func(*genwayv1.StreamGenerateTextResponse) error

// SendImage does so for a stream of images.
type SendImage = func(*genwayv1.StreamGenerateImageResponse) error

// Lossless refuses a call that would lose something, if it is strict. It is asked
// before the upstream is called wherever the losses are known by then: a refused request
// should cost nothing.
func Lossless(ctx context.Context, losses []*genwayv1.Loss) error {
	if len(losses) == 0 || !call.Of(ctx).Strict {
		return nil
	}
	first := losses[0]
	return fault.Unsupported(first.GetMember(), "%s cannot be carried to the upstream of this model: %s", first.GetMember(), first.GetReason())
}
