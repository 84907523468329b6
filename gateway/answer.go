package gateway

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/images"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// answerPrefix begins the names of metadata with headers of an upstream's answer that the
// caller may read.
const answerPrefix = "genway-answer-"

// answerHeaders are the headers of answers that pass through. The core sends each caller
// only those of its own protocol.
type answerHeaders struct {
	// passed has their names in lower case, as protocol.NamesHeader takes them.
	passed []string
	// canonical maps the usual names in lower case to their form in http.Header. Converting
	// one costs more than everything else that is done with a header.
	canonical map[string]string
}

// upstreamIDHeader has the upstream's name of the call.
const upstreamIDHeader = "X-Genway-Upstream-Request-Id"

func newAnswerHeaders() answerHeaders {
	a := answerHeaders{passed: []string{strings.ToLower(upstreamIDHeader)}, canonical: map[string]string{}}
	for _, p := range protocol.All() {
		for _, name := range p.AnswerHeaders {
			a.passed = append(a.passed, strings.ToLower(name))
		}
	}
	slices.Sort(a.passed)
	a.passed = slices.Compact(a.passed)
	for _, name := range append([]string{"X-Genway-Upstream", "X-Genway-Attempts", upstreamIDHeader}, protocolHeaders()...) {
		a.canonical[strings.ToLower(name)] = name
	}
	return a
}

// protocolHeaders are the headers of answers that have a name in some protocol.
func protocolHeaders() []string {
	var names []string
	add := func(name string) {
		if !strings.HasSuffix(name, "-") && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, p := range protocol.All() {
		for _, name := range p.AnswerHeaders {
			add(name)
		}
		if p.Rates != nil {
			for _, name := range slices.Concat(p.Rates.Requests[:], p.Rates.Tokens[:]) {
				add(name)
			}
		}
	}
	return names
}

// name gives a name in lower case in the form of http.Header.
func (a *answerHeaders) name(lower string) string {
	if known, ok := a.canonical[lower]; ok {
		return known
	}
	return http.CanonicalHeaderKey(lower)
}

// unaryClient makes unary calls of the core. It writes the headers of answers and of failures
// to the caller.
type unaryClient struct {
	genwayv1.GenerationClient

	remote bool // the core is reached over a connection of Dial
}

// GenerateText makes the call and writes the headers of the answer.
func (c unaryClient) GenerateText(ctx context.Context, in *genwayv1.GenerateTextRequest, opts ...grpc.CallOption) (*genwayv1.GenerateTextResponse, error) {
	return unary(ctx, c.remote, genwayv1.Generation_GenerateText_FullMethodName, in, c.GenerationClient.GenerateText, opts, codec.CheckAnswer)
}

// GenerateImage makes the call and writes the headers of the answer.
func (c unaryClient) GenerateImage(ctx context.Context, in *genwayv1.GenerateImageRequest, opts ...grpc.CallOption) (*genwayv1.GenerateImageResponse, error) {
	return unary(ctx, c.remote, genwayv1.Generation_GenerateImage_FullMethodName, in, c.GenerationClient.GenerateImage, opts,
		func(resp *genwayv1.GenerateImageResponse, _ genwayv1.Protocol) error { return images.CheckAnswer(resp) })
}

// CountTokens makes the call and writes the headers of the answer.
func (c unaryClient) CountTokens(ctx context.Context, in *genwayv1.CountTokensRequest, opts ...grpc.CallOption) (*genwayv1.CountTokensResponse, error) {
	return unary(ctx, c.remote, genwayv1.Generation_CountTokens_FullMethodName, in, c.GenerationClient.CountTokens, opts, nil)
}

// CheckAccess makes the call. The edge asks for itself: nothing is written to the caller.
func (c unaryClient) CheckAccess(ctx context.Context, in *genwayv1.CheckAccessRequest, opts ...grpc.CallOption) (*genwayv1.CheckAccessResponse, error) {
	return c.GenerationClient.CheckAccess(exchangeOf(ctx).outgoing(ctx), in, opts...)
}

// ListModels makes the call and writes the headers of the answer.
func (c unaryClient) ListModels(ctx context.Context, in *genwayv1.ListModelsRequest, opts ...grpc.CallOption) (*genwayv1.ListModelsResponse, error) {
	return unary(ctx, c.remote, genwayv1.Generation_ListModels_FullMethodName, in, c.GenerationClient.ListModels, opts, nil)
}

// GetModel makes the call and writes the headers of the answer.
func (c unaryClient) GetModel(ctx context.Context, in *genwayv1.GetModelRequest, opts ...grpc.CallOption) (*genwayv1.GetModelResponse, error) {
	return unary(ctx, c.remote, genwayv1.Generation_GetModel_FullMethodName, in, c.GenerationClient.GetModel, opts, nil)
}

// unary makes a call, whichever it is. check, unless nil, gives an error for an answer to a caller of the
// protocol that breaks the contract.
func unary[Q, A any](ctx context.Context, remote bool, method string, in *Q, call func(context.Context, *Q, ...grpc.CallOption) (A, error), opts []grpc.CallOption, check func(A, genwayv1.Protocol) error,
) (A, error) {
	x := exchangeOf(ctx)
	header := headerIn(opts)
	if header == nil {
		header = new(metadata.MD)
		opts = append(opts, grpc.Header(header))
	}
	x.record.call(method[1:])
	answer, err := deliver(x.outgoing(ctx), remote, in, func(ctx context.Context, in *Q) (A, error) { return call(ctx, in, opts...) })
	x.record.awaited(x.record.begun)
	x.record.answered(err)
	x.writeAnswerHeaders(*header)
	if err == nil && check != nil {
		err = check(answer, x.endpoint.protocol.ID)
	}
	return answer, err
}

// headerIn gives the destination of the header in the options, as the runtime's have one;
// nil for none.
func headerIn(opts []grpc.CallOption) *metadata.MD {
	for _, o := range opts {
		if h, ok := o.(grpc.HeaderCallOption); ok {
			return h.HeaderAddr
		}
	}
	return nil
}

// ownPrefix begins the names of metadata in which the core describes an answer, such as the
// upstream that served it.
const ownPrefix = "x-genway-"

// writeAnswerHeaders writes the state of the caller's limits, the core's metadata about the
// answer and the upstream's headers, while headers can still be sent. The runtime does so for
// answers and not for failures. Headers that are set already are Genway's own and stay.
func (x *exchange) writeAnswerHeaders(md metadata.MD) {
	x.endpoint.edge.batch.learn(x, md)
	if key := md[keyKey]; len(key) > 0 {
		x.key = key[0]
	}
	if x.w.status != 0 {
		return
	}
	x.writeRates(md)
	h, names := x.w.Header(), &x.endpoint.edge.answers
	for key, values := range md {
		name, ok := strings.CutPrefix(key, answerPrefix)
		if !ok {
			name, ok = key, strings.HasPrefix(key, ownPrefix)
		} else {
			ok = protocol.NamesHeader(names.passed, name)
		}
		if !ok || len(values) == 0 {
			continue
		}
		if name = names.name(name); len(h[name]) == 0 {
			h[name] = values[:1:1]
		}
	}
}
