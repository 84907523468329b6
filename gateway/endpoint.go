package gateway

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/images"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// endpoint is one protocol at the edge.
type endpoint struct {
	protocol genwayv1.Protocol
	// name is the protocol's name in metadata, logs and metrics.
	name      string
	marshaler *marshaler
	mux       *runtime.ServeMux
	edge      *Edge
}

// newEndpoint builds a protocol's ServeMux: its marshaler, its error handlers,
// and nothing of what the runtime takes from callers by default.
func newEndpoint(edge *Edge, protocol genwayv1.Protocol, name string, text codec.Codec) (*endpoint, error) {
	e := &endpoint{protocol: protocol, name: name, edge: edge, marshaler: &marshaler{text: text, images: images.Codec{}}}
	e.mux = runtime.NewServeMux(
		runtime.WithMarshalerOption(runtime.MIMEWildcard, e.marshaler),
		runtime.WithForwardResponseRewriter(bind),
		runtime.WithErrorHandler(handleError),
		runtime.WithStreamErrorHandler(handleStreamError),
		runtime.WithRoutingErrorHandler(handleRoutingError),
		runtime.WithIncomingHeaderMatcher(noHeader),
		runtime.WithOutgoingHeaderMatcher(noHeader),
		runtime.WithOutgoingTrailerMatcher(noHeader),
		runtime.WithMetadata(annotate),
		runtime.WithDisablePathLengthFallback(),
		runtime.WithDisableHTTPMethodOverride(),
		runtime.WithDisableChunkedEncoding(),
		runtime.WithWriteContentLength(),
	)
	if err := genwayv1.RegisterGenerationHandlerClient(context.Background(), e.mux, edge.client); err != nil {
		return nil, fmt.Errorf("gateway: register %s: %w", name, err)
	}
	return e, nil
}

// noHeader lets no header through: each that is used is named in annotate or
// tellAnswer, every other one costs on the hop and none may be smuggled.
func noHeader(string) (string, bool) { return "", false }

// annotate gives the metadata of a call besides the caller's key, which the
// runtime copies from the Authorization header.
func annotate(ctx context.Context, r *http.Request) metadata.MD {
	x := exchangeOf(ctx)
	return metadata.Pairs("genway-protocol", x.endpoint.name, "x-request-id", x.id, addressKey, x.endpoint.edge.clientAddress(r))
}

// serve runs one request through the endpoint: key, version, body, then the
// runtime.
func (e *endpoint) serve(kind bodyKind, w *answerWriter, r *http.Request) {
	x := exchangeOf(r.Context())
	if err := e.edge.moveKey(e.protocol, r); err != nil {
		x.fail(err)
		return
	}
	if e.protocol == genwayv1.Protocol_PROTOCOL_MESSAGES {
		if err := checkVersion(r.Header, e.edge.config.Headers.Version); err != nil {
			x.fail(err)
			return
		}
	}
	dropControls(r.Header)
	if kind.hasBody() {
		body, err := e.edge.readBody(w, r)
		if err == nil {
			x.message, err = e.decode(x, kind, body, r)
		}
		if err != nil {
			x.fail(e.keyFirst(r, err))
			return
		}
		r.Body = &decodedBody{x.message}
		r.ContentLength = -1
	}
	if kind == listQuery {
		listPage(r)
	}
	if x.request != nil && x.request.Stream {
		r.URL.Path += ":stream"
		r.URL.RawPath = ""
	}
	if strings.HasSuffix(r.URL.Path, ":stream") || strings.HasSuffix(r.URL.Path, ":streamGenerateContent") {
		x.stream = newStreamState(x, r)
	}
	e.mux.ServeHTTP(w, r)
	if x.stream != nil {
		x.stream.readers.Wait()
	}
}

// keyFirst gives what is wrong with the caller's key, if anything is, in place of
// what is wrong with its body: keys are the core's to know, and a body that cannot be
// decoded never gets there. The call it makes is the cheapest that needs a key.
func (e *endpoint) keyFirst(r *http.Request, err error) error {
	ctx, cancel := context.WithTimeout(r.Context(), keyCheckTimeout)
	defer cancel()
	md := metadata.Join(annotate(ctx, r), metadata.Pairs("authorization", r.Header.Get("Authorization")))
	_, refused := e.edge.client.ListModels(metadata.NewOutgoingContext(ctx, md), &genwayv1.ListModelsRequest{PageSize: 1})
	if refused == nil {
		return err
	}
	if kind := faultOf(refused).Kind; kind == fault.Unauthenticated || kind == fault.PermissionDenied {
		return refused
	}
	return err
}

// keyCheckTimeout bounds the question whether a key is good.
const keyCheckTimeout = 5 * time.Second

// bodyKind says what a path takes.
type bodyKind int

const (
	noBody bodyKind = iota
	listQuery
	textBody
	countBody
	imageBody
)

func (k bodyKind) hasBody() bool { return k >= textBody }

// dropControls deletes the headers by which the runtime would let a caller steer
// the call to the core.
func dropControls(h http.Header) {
	for name := range h {
		if strings.HasPrefix(name, "Grpc-") || name == "X-Http-Method-Override" {
			h.Del(name)
		}
	}
}

func (e *endpoint) decode(x *exchange, kind bodyKind, body []byte, r *http.Request) (proto.Message, error) {
	wire := &genwayv1.WireMessage{
		Protocol: e.protocol, Json: body, Headers: e.edge.betaHeaders(r.Header),
		// The array that generateContent streams as by default is of single events.
		TakesRuns: e.protocol != genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT,
	}
	switch kind {
	case textBody:
		req, unread := e.marshaler.head(body)
		if !unread {
			var err error
			if req, err = e.marshaler.text.DecodeRequest(body); err != nil {
				return nil, err
			}
		}
		req.Wire = wire
		x.request, x.unread = req, unread
		return req.GenerateTextRequest, nil
	case countBody:
		counter, ok := e.marshaler.text.(codec.TokenCounter)
		if !ok {
			return nil, fault.New(fault.NotFound, fault.ReasonPathNotFound, "this protocol does not count tokens")
		}
		req, err := counter.DecodeCountRequest(body)
		if err != nil {
			return nil, err
		}
		req.Wire = wire
		return req, nil
	default:
		req, err := e.marshaler.images.DecodeRequest(body)
		if err != nil {
			return nil, err
		}
		if x.streamedImages = req.Stream; !req.Stream {
			// The upstream's own body would ask it for events, which the core's call
			// has no place for.
			req.Wire = wire
		}
		return req.GenerateImageRequest, nil
	}
}
