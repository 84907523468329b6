package gateway

import (
	"context"
	"net/http"
	"slices"
	"strings"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// answerPrefix is that of the metadata with headers of an upstream's answer which are
// the caller's to read.
const answerPrefix = "genway-answer-"

// answerHeaders are those that are passed on; a name that ends in a dash stands for all
// that begin so. The core sends a caller only those of its own protocol.
var answerHeaders = []string{"x-genway-upstream-request-id", "x-ratelimit-", "anthropic-ratelimit-", "openai-processing-ms", "openai-version"}

// listener is the core's client for unary calls, whose answers' headers it tells the
// caller, of failures too.
type listener struct{ genwayv1.GenerationClient }

// GenerateText makes the call and tells.
func (l listener) GenerateText(ctx context.Context, in *genwayv1.GenerateTextRequest, opts ...grpc.CallOption) (*genwayv1.GenerateTextResponse, error) {
	return heard(ctx, in, l.GenerationClient.GenerateText, opts)
}

// GenerateImage makes the call and tells.
func (l listener) GenerateImage(ctx context.Context, in *genwayv1.GenerateImageRequest, opts ...grpc.CallOption) (*genwayv1.GenerateImageResponse, error) {
	return heard(ctx, in, l.GenerationClient.GenerateImage, opts)
}

// CountTokens makes the call and tells.
func (l listener) CountTokens(ctx context.Context, in *genwayv1.CountTokensRequest, opts ...grpc.CallOption) (*genwayv1.CountTokensResponse, error) {
	return heard(ctx, in, l.GenerationClient.CountTokens, opts)
}

// CheckAccess makes the call; what it answers is not the caller's to read.
func (l listener) CheckAccess(ctx context.Context, in *genwayv1.CheckAccessRequest, opts ...grpc.CallOption) (*genwayv1.CheckAccessResponse, error) {
	return l.GenerationClient.CheckAccess(exchangeOf(ctx).outgoing(ctx), in, opts...)
}

// ListModels makes the call and tells.
func (l listener) ListModels(ctx context.Context, in *genwayv1.ListModelsRequest, opts ...grpc.CallOption) (*genwayv1.ListModelsResponse, error) {
	return heard(ctx, in, l.GenerationClient.ListModels, opts)
}

// GetModel makes the call and tells.
func (l listener) GetModel(ctx context.Context, in *genwayv1.GetModelRequest, opts ...grpc.CallOption) (*genwayv1.GetModelResponse, error) {
	return heard(ctx, in, l.GenerationClient.GetModel, opts)
}

func heard[Q, A any](ctx context.Context, in Q, call func(context.Context, Q, ...grpc.CallOption) (A, error), opts []grpc.CallOption) (A, error) {
	x := exchangeOf(ctx)
	header := headerIn(opts)
	if header == nil {
		header = new(metadata.MD)
		opts = append(opts, grpc.Header(header))
	}
	answer, err := call(x.outgoing(ctx), in, opts...)
	x.tellAnswer(*header)
	return answer, err
}

// headerIn gives where the options want the header, as the runtime's do; nil for nowhere.
func headerIn(opts []grpc.CallOption) *metadata.MD {
	for _, o := range opts {
		if h, ok := o.(grpc.HeaderCallOption); ok {
			return h.HeaderAddr
		}
	}
	return nil
}

// ownPrefix is that of what the core says of an answer: who served it, say.
const ownPrefix = "x-genway-"

// tellAnswer says where the caller stands with its limits, and passes on what the core
// says of the answer and what an upstream's headers say, while headers can still be sent.
// The runtime would do so for answers alone, and not for failures.
// What is set already is Genway's own word on the same, and holds.
func (x *exchange) tellAnswer(md metadata.MD) {
	if key := md[keyKey]; len(key) > 0 {
		x.key = key[0]
	}
	if x.w.status != 0 {
		return
	}
	x.tellRates(md)
	h := x.w.Header()
	for key, values := range md {
		name, ok := strings.CutPrefix(key, answerPrefix)
		if !ok {
			name, ok = key, strings.HasPrefix(key, ownPrefix)
		} else {
			ok = isAnswerHeader(name)
		}
		if !ok || len(values) == 0 {
			continue
		}
		if name = headerName(name); len(h[name]) == 0 {
			h[name] = values[:1:1]
		}
	}
}

// headerName gives a name as http.Header has it. To make that of a name in lower case
// costs more than all else that is done with the header.
func headerName(name string) string {
	if known, ok := headerNames[name]; ok {
		return known
	}
	return http.CanonicalHeaderKey(name)
}

// headerNames are those that are usually told.
var headerNames = func() map[string]string {
	names := map[string]string{}
	for _, name := range slices.Concat(
		[]string{"X-Genway-Upstream", "X-Genway-Attempts", "X-Genway-Upstream-Request-Id", "Openai-Processing-Ms", "Openai-Version"},
		openaiRequests[:], openaiTokens[:], anthropicRequests[:], anthropicTokens[:],
	) {
		names[strings.ToLower(name)] = name
	}
	return names
}()

func isAnswerHeader(name string) bool {
	for _, known := range answerHeaders {
		if name == known || strings.HasSuffix(known, "-") && strings.HasPrefix(name, known) {
			return true
		}
	}
	return false
}
