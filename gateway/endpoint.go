package gateway

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/images"
	handlers "github.com/genway/genway/gen/gateway/genway/v1"
	transportv1 "github.com/genway/genway/gen/genway/transport/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/protobuf/proto"
)

// endpoint is one protocol at the edge.
type endpoint struct {
	protocol *protocol.Protocol
	// keys and versions are the headers that have them.
	keys, versions names
	// passed are the headers that pass with bodies, as protocol.NamesHeader takes them.
	passed    []string
	marshaler *marshaler
	mux       *runtime.ServeMux
	bindings  bindings
	edge      *Edge
}

// newEndpoint builds a protocol's ServeMux with its marshaler and its error handlers. It turns
// off what the runtime takes from callers by default.
func newEndpoint(edge *Edge, p *protocol.Protocol) (*endpoint, error) {
	headers := edge.config.Headers
	e := &endpoint{
		protocol: p, edge: edge, marshaler: &marshaler{protocol: p.ID, text: p.Codec, images: images.Codec{}},
		keys: namesOf(headers.Keys[p.Kind], p.Key.Headers), versions: namesOf(headers.Versions[p.Kind], p.Version.Headers),
	}
	for _, name := range headers.passedWith(p) {
		e.passed = append(e.passed, http.CanonicalHeaderKey(name))
	}
	e.mux = runtime.NewServeMux(
		runtime.WithMarshalerOption(runtime.MIMEWildcard, e.marshaler),
		runtime.WithForwardResponseRewriter(bind),
		runtime.WithErrorHandler(handleError),
		runtime.WithStreamErrorHandler(handleStreamError),
		runtime.WithRoutingErrorHandler(handleRoutingError),
		runtime.WithIncomingHeaderMatcher(noHeader),
		runtime.WithOutgoingHeaderMatcher(noHeader),
		runtime.WithOutgoingTrailerMatcher(noHeader),
		runtime.WithMiddlewares(discoverable),
		runtime.WithDisablePathLengthFallback(),
		runtime.WithDisableHTTPMethodOverride(),
		runtime.WithDisableChunkedEncoding(),
		runtime.WithWriteContentLength(),
	)
	if err := handlers.RegisterGenerationHandlerClient(context.Background(), e.mux, edge.client); err != nil {
		return nil, fmt.Errorf("gateway: register %s: %w", p.Name, err)
	}
	e.bindings = bindingsOf(e.mux)
	return e, nil
}

// noHeader lets no header through. outgoing and writeAnswerHeaders name each header that is
// used. Any other would cost on the connection to the core, and could be smuggled.
func noHeader(string) (string, bool) { return "", false }

// serve runs one request through the endpoint: key, version, body, then the
// runtime.
func (e *endpoint) serve(p path, x *exchange, r *http.Request) {
	defer x.memory.Drop()
	x.model = p.model
	if err := e.edge.takeKey(x, r); err != nil {
		x.fail(err)
		return
	}
	if err := e.edge.admit(r.Context(), x); err != nil {
		x.shed(r, e.edge.config.Gate, err)
		return
	}
	if err := e.checkVersion(r.Header); err != nil {
		x.fail(err)
		return
	}
	if hasBody(p.operation) {
		x.claim = claim{bodies: e.edge.bodies, key: "key " + x.authorization, address: "address " + hostOf(x.client)}
		defer x.claim.end()
		since := time.Now()
		body, err := e.edge.readBody(x, r) //nolint:contextcheck // the request has it
		x.record.awaited(since)
		if err == nil {
			x.message, err = e.decode(x, p.operation, body, r)
		}
		if err != nil {
			x.fail(e.keyFirst(x, r, err))
			return
		}
		r.Body = &decodedBody{x.message}
		r.ContentLength = -1
	} else {
		// The runtime would read all of it, ahead of the core's word on the key and for as long as
		// the caller likes.
		r.Body = http.NoBody
	}
	// The runtime would make metadata of these. A caller must not influence the call to the
	// core by them.
	r.Header, r.Host, r.RemoteAddr = nil, "", ""
	if _, lists := e.protocol.Codec.(codec.ModelLister); !lists && (p.operation == protocol.ListModels || p.operation == protocol.GetModel) {
		x.fail(fault.New(fault.NotFound, fault.ReasonPathNotFound, "this protocol does not list models"))
		return
	}
	if p.operation == protocol.ListModels {
		if err := listPage(r, e.protocol.PagedModels); err != nil {
			x.fail(e.keyFirst(x, r, err))
			return
		}
	}
	if x.streamed || p.operation == protocol.Stream {
		events, err := e.protocol.Stream.Events(r.URL.RawQuery)
		if err != nil {
			x.fail(e.keyFirst(x, r, err))
			return
		}
		x.stream = newStreamState(x, !events)
	}
	if handler, params := e.bindings.find(p, x.streamed, r); handler != nil {
		handler(&x.w, r, params)
	} else {
		e.mux.ServeHTTP(&x.w, r)
	}
	// HTTP/2 may still be sending the answer, and a failure may repeat parts of it.
	reuse := x.fault == nil && r.ProtoMajor == 1
	if reuse {
		x.memory.Free()
	}
	if x.stream != nil {
		x.writeLateLosses()
		_ = x.w.flushGathered() // the server notices a broken connection
		x.stream.beats.end()
		x.stream.readers.Wait()
	}
	if reuse && x.lent != nil {
		x.lent.Release() // nothing of this request looks at its body from here on
	}
}

// keyFirst gives the failure of the caller's key, if it has one, in place of the failure of its
// body. Only the core knows keys, and a body that cannot be decoded never reaches it.
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

// keyCheckTimeout bounds the check of a key.
const keyCheckTimeout = 5 * time.Second

func (e *endpoint) decode(x *exchange, op protocol.Operation, body []byte, r *http.Request) (proto.Message, error) {
	x.body = body
	wire := &genwayv1.WireMessage{Protocol: e.protocol.ID, Json: body, Headers: e.passedHeaders(r.Header)}
	switch op {
	case protocol.Generate, protocol.Stream:
		req, err := e.marshaler.decode(body, e.edge.defers())
		if err != nil {
			return nil, err
		}
		if req.Statistics == nil { // it is decoded whole
			if err := e.checkContents(x, req.GenerateTextRequest, req.GenerateTextRequest, wire); err != nil {
				return nil, err
			}
		}
		wire.Extension = &transportv1.RequestExtension{
			Deferred: req.Statistics != nil, Statistics: req.Statistics,
			AcceptsBatches: e.protocol.Stream.Batches, AcceptsTranslatedBatches: e.edge.remote,
		}
		req.Wire = wire
		x.request, x.streamed = req, req.Stream
		return req.GenerateTextRequest, nil
	case protocol.Compact:
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
	case protocol.Count:
		counter, ok := e.marshaler.text.(codec.TokenCounter)
		if !ok {
			return nil, fault.New(fault.NotFound, fault.ReasonPathNotFound, "this protocol does not count tokens")
		}
		req, err := counter.DecodeCountRequest(body)
		if err == nil {
			err = e.checkContents(x, req, req.GetRequest(), wire)
		}
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
