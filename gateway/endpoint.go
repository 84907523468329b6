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
	"google.golang.org/protobuf/proto"
)

// endpoint is one protocol at the edge.
type endpoint struct {
	protocol genwayv1.Protocol
	// name is the protocol's name in metadata, logs and metrics.
	name      string
	marshaler *marshaler
	mux       *runtime.ServeMux
	bindings  bindings
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
		runtime.WithMiddlewares(revealed),
		runtime.WithDisablePathLengthFallback(),
		runtime.WithDisableHTTPMethodOverride(),
		runtime.WithDisableChunkedEncoding(),
		runtime.WithWriteContentLength(),
	)
	if err := genwayv1.RegisterGenerationHandlerClient(context.Background(), e.mux, edge.client); err != nil {
		return nil, fmt.Errorf("gateway: register %s: %w", name, err)
	}
	e.bindings = bindingsOf(e.mux)
	return e, nil
}

// noHeader lets no header through: each that is used is named in outgoing or
// tellAnswer, every other one costs on the hop and none may be smuggled.
func noHeader(string) (string, bool) { return "", false }

// serve runs one request through the endpoint: key, version, body, then the
// runtime.
func (e *endpoint) serve(p path, x *exchange, r *http.Request) {
	if err := e.edge.takeKey(x, r); err != nil {
		x.fail(err)
		return
	}
	if e.protocol == genwayv1.Protocol_PROTOCOL_MESSAGES {
		if err := e.edge.checkVersion(r.Header); err != nil {
			x.fail(err)
			return
		}
	}
	if p.kind.hasBody() {
		x.claim = claim{bodies: e.edge.bodies, key: "key " + x.authorization, address: "address " + hostOf(x.client)}
		defer x.claim.end()
		body, err := e.edge.readBody(x, r)
		if err == nil {
			x.message, err = e.decode(x, p.kind, body, r)
		}
		if err != nil {
			x.fail(e.keyFirst(x, r, err))
			return
		}
		r.Body = &decodedBody{x.message}
		r.ContentLength = -1
	}
	// The runtime needs none of what it would make metadata of, nor what a caller
	// could steer the call to the core by.
	r.Header, r.Host, r.RemoteAddr = nil, "", ""
	if p.kind == listQuery {
		listPage(r, e.protocol)
	}
	if x.streamed {
		r.URL.Path += streamVerb
		r.URL.RawPath = ""
	}
	if strings.HasSuffix(r.URL.Path, streamVerb) || strings.HasSuffix(r.URL.Path, ":streamGenerateContent") {
		x.stream = newStreamState(x, r)
	}
	if handler, params := e.bindings.find(p, r); handler != nil {
		handler(&x.w, r, params)
	} else {
		e.mux.ServeHTTP(&x.w, r)
	}
	// What HTTP/2 has taken may still be on its way, and a failure repeat parts of an answer.
	if x.fault == nil && r.ProtoMajor == 1 {
		x.memory.Free()
	}
	if x.stream != nil {
		x.tellLateLosses()
		_ = x.w.spill() // whether it arrives is the server's to find out
		x.stream.readers.Wait()
	}
}

// keyFirst gives what is wrong with the caller's key, if anything is, in place of
// what is wrong with its body: keys are the core's to know, and a body that cannot be
// decoded never gets there.
func (e *endpoint) keyFirst(x *exchange, r *http.Request, err error) error {
	switch faultOf(err).Kind {
	case fault.InvalidRequest, fault.TooLarge, fault.UnsupportedMediaType, fault.Timeout:
	default:
		return err
	}
	refused := e.edge.access(r.Context(), x)
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
	compactBody
	countBody
	imageBody
)

func (k bodyKind) hasBody() bool { return k >= textBody }

func (e *endpoint) decode(x *exchange, kind bodyKind, body []byte, r *http.Request) (proto.Message, error) {
	x.body = body
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
		wire.Survey = req.Survey
		req.Wire = wire
		x.request, x.unread, x.streamed = req, unread, req.Stream
		return req.GenerateTextRequest, nil
	case compactBody:
		compacter, ok := e.marshaler.text.(codec.Compacter)
		if !ok {
			return nil, fault.New(fault.NotFound, fault.ReasonPathNotFound, "this protocol does not compact conversations")
		}
		req, err := compacter.DecodeCompactRequest(body)
		if err != nil {
			return nil, err
		}
		req.Wire = wire
		x.request = req
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
		req.Wire = wire
		x.streamed = req.Stream
		return req.GenerateImageRequest, nil
	}
}
