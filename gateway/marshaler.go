package gateway

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/images"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// marshaler translates between one protocol's JSON and the canonical messages,
// as the runtime's only marshaler on the protocol's ServeMux.
type marshaler struct {
	protocol genwayv1.Protocol
	text     codec.Codec // nil for a protocol that has only images
	images   images.Codec
}

var (
	_ runtime.Marshaler = (*marshaler)(nil)
	_ runtime.Delimited = (*marshaler)(nil)
)

// bind is the hook of the runtime that has the context. It binds an answer to its exchange.
func bind(ctx context.Context, message proto.Message) (any, error) {
	return bound{x: exchangeOf(ctx), message: message}, nil
}

func (m *marshaler) ContentType(any) string { return "application/json" }

// Delimiter is empty: frames carry their own.
func (m *marshaler) Delimiter() []byte { return nil }

// Marshal returns the body of an answer.
func (m *marshaler) Marshal(v any) ([]byte, error) {
	switch v := v.(type) {
	case bound:
		return m.encode(v.x, v.message)
	case map[string]proto.Message: // a stream's error: streamFault has written it
		return nil, nil
	}
	return nil, fmt.Errorf("gateway: unexpected answer %T", v)
}

func (m *marshaler) encode(x *exchange, message proto.Message) ([]byte, error) {
	body, err := m.encodeMessage(x, message)
	if err == nil {
		x.writeLosses()
	}
	return body, err
}

func (m *marshaler) encodeMessage(x *exchange, message proto.Message) ([]byte, error) {
	switch message := message.(type) {
	case *genwayv1.GenerateTextResponse:
		x.addLosses(message.GetLosses())
		if wire := message.GetWire(); wire.GetProtocol() == m.protocol {
			if mediaType := wire.GetHeaders()["content-type"]; mediaType != "" {
				x.w.Header().Set("Content-Type", mediaType)
			}
			return wire.GetJson(), nil
		}
		message.Model = x.modelOf(message.Model)
		message.CreateTime, message.Usage = dated(message.CreateTime), codec.ShownUsage(message.Usage)
		return m.text.EncodeResponse(message, codec.Answer{Request: x.whole(), Losses: &x.losses, Now: time.Now})
	case *genwayv1.GenerateImageResponse:
		x.addLosses(message.GetLosses())
		if wire := message.GetWire(); wire.GetProtocol() == m.protocol {
			return wire.GetJson(), nil
		}
		message.CreateTime, message.Usage = dated(message.CreateTime), codec.ShownUsage(message.Usage)
		return m.images.EncodeResponse(message, &x.losses)
	case *genwayv1.CountTokensResponse:
		x.addLosses(message.GetLosses())
		if wire := message.GetWire(); wire.GetProtocol() == m.protocol {
			return wire.GetJson(), nil
		}
		if counter, ok := m.text.(codec.TokenCounter); ok {
			return counter.EncodeCountResponse(message)
		}
	case *genwayv1.ListModelsResponse:
		if lister, ok := m.text.(codec.ModelLister); ok {
			return lister.EncodeModels(message)
		}
	case *genwayv1.GetModelResponse:
		if lister, ok := m.text.(codec.ModelLister); ok {
			return lister.EncodeModel(message.GetModel())
		}
	}
	return nil, fmt.Errorf("gateway: no codec for %T", message)
}

// decode translates the body of a text request into the canonical message. For a core that
// takes deferred bodies it decodes only the head, and returns the statistics of the body; it
// decodes all of a body whose head cannot be found, as that of a malformed one.
func (m *marshaler) decode(body []byte, deferred bool) (*codec.Request, error) {
	if heads, ok := m.text.(codec.HeadDecoder); ok && deferred {
		if head, ok := heads.DecodeRequestHead(body); ok {
			return head, nil
		}
	}
	return m.text.DecodeRequest(body)
}

// dated returns the time of an answer, or the present for one without and for one that no calendar
// has. Cores need not send a time, and protocols require one.
func dated(created *timestamppb.Timestamp) *timestamppb.Timestamp {
	if created.IsValid() {
		return created
	}
	return timestamppb.Now()
}

// NewDecoder hands over the message that the endpoint has decoded. The body says whether the
// caller wants a stream, so the endpoint decodes it before the RPC is chosen.
func (m *marshaler) NewDecoder(r io.Reader) runtime.Decoder {
	return runtime.DecoderFunc(func(v any) error {
		body, ok := r.(*decodedBody)
		if !ok {
			return fmt.Errorf("gateway: body of type %T has not been decoded", r)
		}
		message, ok := v.(proto.Message)
		if !ok || message.ProtoReflect().Descriptor() != body.message.ProtoReflect().Descriptor() {
			return fmt.Errorf("gateway: a %T was decoded where a %T is wanted", body.message, v)
		}
		codec.Share(message, body.message)
		return nil
	})
}

// Unmarshal and NewEncoder complete the interface; the generated code calls
// neither.
func (m *marshaler) Unmarshal([]byte, any) error {
	return fault.New(fault.Internal, "UNMARSHAL", "%s", fault.InternalMessage)
}

func (m *marshaler) NewEncoder(w io.Writer) runtime.Encoder {
	return runtime.EncoderFunc(func(v any) error {
		data, err := m.Marshal(v)
		if err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	})
}

// decodedBody replaces a request body once it is decoded. It reads as empty.
type decodedBody struct{ message proto.Message }

func (*decodedBody) Read([]byte) (int, error) { return 0, io.EOF }
func (*decodedBody) Close() error             { return nil }

// lostHeader is the header that names the members that were lost in translation. Streams
// have it as a trailer as well, for members that are lost after the header is sent.
const lostHeader = "X-Genway-Lost"

// trailerHeader announces trailers. lostTrailer is its value in a stream.
const trailerHeader = "Trailer"

var lostTrailer = []string{lostHeader}

func (x *exchange) addLosses(losses []*genwayv1.Loss) {
	for _, l := range losses {
		x.losses.Add(l.GetMember(), l.GetReason())
	}
}

// lost returns the lost members by the caller's names: each once, and none that the header
// has named.
func (x *exchange) lost() []string {
	var names []string
	for _, l := range x.losses.List() {
		name := x.spells().Member(l.GetMember())
		if !slices.Contains(names, name) && !slices.Contains(x.named, name) {
			names = append(names, name)
		}
	}
	return names
}

// writeLosses names the lost members in the header, while headers can still be sent.
func (x *exchange) writeLosses() {
	if x.w.status != 0 || len(x.losses.List()) == 0 {
		return
	}
	x.named = nil
	x.named = x.lost()
	x.w.Header().Set(lostHeader, lossList(x.named))
}

// writeLateLosses names in the trailer of a stream the members that its header could not
// name.
func (x *exchange) writeLateLosses() {
	h := x.w.Header()
	if x.w.status == 0 || len(h[trailerHeader]) == 0 {
		return
	}
	// The header is sent: net/http sends the values of announced names as the trailer.
	delete(h, lostHeader)
	if late := x.lost(); len(late) > 0 {
		h.Set(lostHeader, lossList(late))
	}
}

// maxLost bounds the list of losses in bytes. Proxies take 4 KiB of headers and some clients
// (Node's fetch) 16 KiB. They drop the whole answer if it has more.
const maxLost = 2 << 10

// lossList returns a list of members for a header. A list that is too long has the first
// members, and the number of the others.
func lossList(members []string) string {
	var list strings.Builder
	for i, member := range members {
		name := headerSafe(member)
		if list.Len()+len(name) > maxLost {
			fmt.Fprintf(&list, ", and %d more", len(members)-i)
			break
		}
		if i > 0 {
			list.WriteString(", ")
		}
		list.WriteString(name)
	}
	return list.String()
}

// headerSafe keeps a member's path on one header line.
func headerSafe(member string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r > 0x7e || r == ',' {
			return '?'
		}
		return r
	}, clip(member, 120))
}

// bindings are the handlers of the generated registration for requests with a body. They are
// looked up at start. The runtime tries one pattern after the other for each request and makes
// an error of each that does not match, which costs a quarter of the edge's allocations
// (docs/decisions/0038). A handler serves every path of its RPC that names a model, or every
// path of its RPC that does not.
type bindings map[bindingKey]binding

// bindingKey is an RPC, by the operation and whether it streams, and the form of the path.
type bindingKey struct {
	operation       protocol.Operation
	streamed, named bool
}

type binding struct {
	handler runtime.HandlerFunc
	model   string // the parameter that takes the path's model; empty for none
}

// bindingsOf looks up the handlers by sending the runtime a request for each path, with the
// model m.
func bindingsOf(mux *runtime.ServeMux) bindings {
	found := bindings{}
	ask := func(key bindingKey, path string) {
		s := &handlerProbe{header: http.Header{}}
		mux.ServeHTTP(s, &http.Request{Method: http.MethodPost, URL: &url.URL{Path: path}})
		if s.found.handler != nil {
			found[key] = s.found
		}
	}
	for _, b := range protocol.Contract() {
		switch {
		case !hasBody(b.Operation):
		case b.Model != "":
			ask(keyOf(b.Operation, false, true), b.Prefix+"m"+b.Suffix)
		default:
			ask(keyOf(b.Operation, false, false), b.Prefix)
			ask(keyOf(b.Operation, true, false), b.Prefix+protocol.StreamSuffix)
		}
	}
	return found
}

// keyOf returns the key of an operation. Conversations are compacted by the RPC that
// generates, and a path that always streams has the RPC of streams that a body asks for.
func keyOf(op protocol.Operation, streamed, named bool) bindingKey {
	switch op { //nolint:exhaustive // all others have an RPC each
	case protocol.Compact:
		op = protocol.Generate
	case protocol.Stream:
		op, streamed = protocol.Generate, true
	}
	return bindingKey{op, streamed, named}
}

// find returns the handler of a request and the parameters of its path. It returns nil if the
// runtime must look the handler up, as for a model with a slash in its name, which the runtime
// unescapes.
func (b bindings) find(p path, streamed bool, r *http.Request) (runtime.HandlerFunc, map[string]string) {
	if !hasBody(p.operation) || p.model != "" && (r.URL.RawPath != "" || strings.Contains(p.model, "/")) {
		return nil, nil
	}
	found := b[keyOf(p.operation, streamed, p.model != "")]
	if found.model == "" {
		return found.handler, nil
	}
	return found.handler, map[string]string{found.model: p.model}
}

// handlerProbe is a ResponseWriter that asks for a path's handler instead of an answer.
type handlerProbe struct {
	header http.Header
	found  binding
}

func (s *handlerProbe) Header() http.Header       { return s.header }
func (*handlerProbe) Write(b []byte) (int, error) { return len(b), nil }
func (*handlerProbe) WriteHeader(int)             {}

// discoverable is a middleware that returns its handler to a handlerProbe, and calls it for all
// other writers.
func discoverable(handler runtime.HandlerFunc) runtime.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request, params map[string]string) {
		s, asked := w.(*handlerProbe)
		if !asked {
			handler(w, r, params)
			return
		}
		s.found.handler = handler
		for name := range params {
			s.found.model = name
		}
	}
}
