package gateway

import (
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
	edgev1 "github.com/genway/genway/gen/genway/edge/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/genproto/googleapis/api/httpbody"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// marshaler translates between one protocol's JSON and the canonical messages,
// as the runtime's only marshaler on the protocol's ServeMux.
type marshaler struct {
	protocol genwayv1.Protocol
	text     codec.Codec // nil for a protocol that has only images
}

var (
	_ runtime.Marshaler         = (*marshaler)(nil)
	_ runtime.Delimited         = (*marshaler)(nil)
	_ runtime.StreamContentType = (*marshaler)(nil)
)

func (m *marshaler) ContentType(any) string { return "application/json" }

// StreamContentType is the content type of the exchange's framing.
func (m *marshaler) StreamContentType(v any) string {
	if body, ok := v.(*httpbody.HttpBody); ok {
		return body.GetContentType()
	}
	return "text/event-stream"
}

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

// encode writes the body of an answer, or returns the body of an upstream that speaks the caller's protocol.
func (m *marshaler) encode(x *exchange, message proto.Message) (body []byte, err error) {
	answer, ok := message.(interface {
		GetLosses() []*genwayv1.Loss
		GetWire() *genwayv1.WireMessage
	})
	if ok {
		x.addLosses(answer.GetLosses())
	}
	if priced, ok := message.(interface{ GetCost() *genwayv1.Cost }); ok && priced.GetCost() != nil {
		x.w.Header().Set(costHeader, costOf(priced.GetCost()))
	}
	if ok && answer.GetWire().GetProtocol() == m.protocol {
		body = answer.GetWire().GetJson()
		if mediaType := answer.GetWire().GetHeaders()["content-type"]; mediaType != "" {
			x.w.Header().Set("Content-Type", mediaType)
		}
	} else if body, err = x.operation.encode(x, m.text, message); err != nil {
		return nil, err
	}
	x.writeLosses()
	return body, nil
}

// operation is an operation of the contract as the edge serves it.
type operation struct {
	// decode reads the body of a request, which wire has, into its message, which takes wire; nil for a request without
	// a body.
	decode func(x *exchange, c codec.Codec, wire *genwayv1.WireMessage) (proto.Message, error)
	// encode writes the body of an answer; nil for an operation that streams.
	encode func(x *exchange, c codec.Codec, answer proto.Message) ([]byte, error)
	// has reports whether a protocol has the operation, which what describes; nil is always.
	has  func(codec.Codec) bool
	what string
	// query rewrites the query of a request to fields of its message; nil leaves it as it is.
	query func(x *exchange, r *http.Request) error
}

const storing = "fetch answers"

var operations = [...]operation{
	protocol.Generate:   {decode: decodeText, encode: encoder(encodeText)},
	protocol.Stream:     {decode: decodeText},
	protocol.Compact:    {decode: decodeCompact, encode: encoder(encodeText), has: is[codec.Compacter], what: "compact conversations"},
	protocol.Count:      {decode: decodeCount, encode: encoder(encodeCount), has: is[codec.TokenCounter], what: "count tokens"},
	protocol.Draw:       {decode: decodeDrawing, encode: encoder(encodeDrawing)},
	protocol.Edit:       {decode: decodeEdit, encode: encoder(encodeDrawing)},
	protocol.ListModels: {encode: encoder(encodeModels), has: is[codec.ModelLister], what: "list models", query: listPage},
	protocol.GetModel:   {encode: encoder(encodeModel), has: is[codec.ModelLister], what: "list models"},

	protocol.GetStored:    {encode: encoder(encodeStored), has: is[codec.Storer], what: storing, query: storedQuery},
	protocol.DeleteStored: {encode: encoder(encodeDeleted), has: is[codec.Storer], what: storing, query: noQuery},
	protocol.CancelStored: {encode: encoder(encodeCancelled), has: is[codec.Storer], what: storing, query: noQuery},
	protocol.ListInput:    {encode: encoder(encodeInput), has: is[codec.InputLister], what: storing, query: inputPage},
}

func is[C any](c codec.Codec) bool {
	_, ok := c.(C)
	return ok
}

// encoder makes an operation's encode of a function for one type of answers.
func encoder[A proto.Message](encode func(*exchange, codec.Codec, A) ([]byte, error)) func(*exchange, codec.Codec, proto.Message) ([]byte, error) {
	return func(x *exchange, c codec.Codec, answer proto.Message) ([]byte, error) {
		own, ok := answer.(A)
		if !ok {
			return nil, fmt.Errorf("gateway: unexpected answer %T", answer)
		}
		return encode(x, c, own)
	}
}

// decodeText reads the body of a text request. For a core that takes deferred bodies it reads only the head, and the
// statistics of the body. It reads all of a body whose head cannot be found, as of a malformed one.
func decodeText(x *exchange, c codec.Codec, wire *genwayv1.WireMessage) (proto.Message, error) {
	var req *codec.Request
	headed := false
	if heads, ok := c.(codec.HeadDecoder); ok && x.endpoint.edge.defers() {
		req, headed = heads.DecodeRequestHead(wire.GetJson())
	}
	if !headed {
		var err error
		if req, err = c.DecodeRequest(wire.GetJson()); err == nil {
			err = x.checkContents(req.GenerateTextRequest, req.GenerateTextRequest, wire)
		}
		if err != nil {
			return nil, err
		}
	}
	wire.Extension = &edgev1.RequestExtension{
		Deferred: req.Statistics != nil, Statistics: req.Statistics,
		AcceptsBatches: x.endpoint.protocol.Stream.Batches && x.asked == nil, AcceptsTranslatedBatches: x.endpoint.edge.remote,
	}
	req.Wire = wire
	x.request, x.streamed = req, req.Stream
	return req.GenerateTextRequest, nil
}

func encodeText(x *exchange, c codec.Codec, resp *genwayv1.GenerateTextResponse) ([]byte, error) {
	resp.Model = x.modelOf(resp.Model)
	resp.CreateTime, resp.Usage = dated(resp.CreateTime), codec.ShownUsage(resp.Usage)
	return c.EncodeResponse(resp, codec.Answer{Request: x.whole(), Losses: &x.losses, Now: time.Now})
}

func decodeCompact(x *exchange, c codec.Codec, wire *genwayv1.WireMessage) (proto.Message, error) {
	compacter, _ := c.(codec.Compacter)
	req, err := compacter.DecodeCompactRequest(wire.GetJson())
	if err != nil {
		return nil, err
	}
	req.Wire, x.request = wire, req
	return req.GenerateTextRequest, nil
}

func decodeCount(x *exchange, c codec.Codec, wire *genwayv1.WireMessage) (proto.Message, error) {
	counter, _ := c.(codec.TokenCounter)
	req, err := counter.DecodeCountRequest(wire.GetJson())
	if err == nil {
		err = x.checkContents(req, req.GetRequest(), wire)
	}
	if err != nil {
		return nil, err
	}
	req.Wire = wire
	return req, nil
}

func encodeCount(_ *exchange, c codec.Codec, resp *genwayv1.CountTokensResponse) ([]byte, error) {
	counter, _ := c.(codec.TokenCounter)
	return counter.EncodeCountResponse(resp)
}

func decodeDrawing(x *exchange, _ codec.Codec, wire *genwayv1.WireMessage) (proto.Message, error) {
	req, err := images.Codec{}.DecodeRequest(wire.GetJson())
	if err != nil {
		return nil, err
	}
	req.Wire, x.streamed = wire, req.Stream
	return req.GenerateImageRequest, nil
}

// decodeEdit reads the body of a request to edit images. The images stay in it.
func decodeEdit(x *exchange, _ codec.Codec, wire *genwayv1.WireMessage) (proto.Message, error) {
	req, err := images.Codec{}.DecodeEdit(wire.GetJson(), x.contentType)
	if err != nil {
		return nil, err
	}
	req.Wire, x.streamed, x.fields = wire, req.Stream, req.Fields
	return images.Bare(req.GenerateImageRequest), nil
}

func encodeDrawing(x *exchange, _ codec.Codec, resp *genwayv1.GenerateImageResponse) ([]byte, error) {
	resp.CreateTime, resp.Usage = dated(resp.CreateTime), codec.ShownUsage(resp.Usage)
	return images.Codec{}.EncodeResponse(resp, &x.losses)
}

func encodeModels(_ *exchange, c codec.Codec, resp *genwayv1.ListModelsResponse) ([]byte, error) {
	lister, _ := c.(codec.ModelLister)
	return lister.EncodeModels(resp)
}

func encodeModel(_ *exchange, c codec.Codec, resp *genwayv1.GetModelResponse) ([]byte, error) {
	lister, _ := c.(codec.ModelLister)
	return lister.EncodeModel(resp.GetModel())
}

func encodeStored(x *exchange, c codec.Codec, resp *genwayv1.GetResponseResponse) ([]byte, error) {
	x.addLosses(resp.GetResponse().GetLosses())
	storer, _ := c.(codec.Storer)
	return storer.EncodeStored(resp)
}

func encodeCancelled(_ *exchange, c codec.Codec, resp *genwayv1.CancelResponseResponse) ([]byte, error) {
	storer, _ := c.(codec.Storer)
	return storer.EncodeStored(&genwayv1.GetResponseResponse{Response: resp.GetResponse(), Status: resp.GetStatus()})
}

func encodeDeleted(_ *exchange, c codec.Codec, resp *genwayv1.DeleteResponseResponse) ([]byte, error) {
	storer, _ := c.(codec.Storer)
	return storer.EncodeDeleted(resp)
}

func encodeInput(_ *exchange, c codec.Codec, resp *genwayv1.ListInputItemsResponse) ([]byte, error) {
	lister, _ := c.(codec.InputLister)
	return lister.EncodeInputItems(resp)
}

// checkContents refuses what the version of a request does not take, by the caller's name of
// it. message is what was decoded, and req the conversation in it.
func (x *exchange) checkContents(message proto.Message, req *genwayv1.GenerateTextRequest, wire *genwayv1.WireMessage) error {
	err := x.endpoint.protocol.CheckVersion(req, wire.GetHeaders())
	if err == nil {
		return nil
	}
	x.message = message
	f := *fault.From(err)
	x.spells().Fault(&f)
	return &f
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

// costHeader is the header with the cost of an answer, in dollars. Streams have it as a trailer, which is not announced: the
// cost is known at their end, and only where the core reports costs.
const costHeader = "X-Genway-Cost"

// costOf returns the value of costHeader: 0.0125, or 0.0125; estimated.
func costOf(c *genwayv1.Cost) string {
	const dollar = 1_000_000_000
	text := fmt.Sprintf("%d.%09d", c.GetNanoDollars()/dollar, c.GetNanoDollars()%dollar)
	text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	if c.GetEstimated() {
		text += "; estimated"
	}
	return text
}

// trailCost sets the trailer of a stream whose last event says what it costs.
func (x *exchange) trailCost(c *genwayv1.Cost) {
	if c != nil {
		x.w.Header().Set(http.TrailerPrefix+costHeader, costOf(c))
	}
}

func (x *exchange) addLosses(losses []*genwayv1.Loss) {
	for _, l := range losses {
		x.losses.Add(l.GetMember(), l.GetReason())
	}
}

// lost returns the lost members by the caller's names: each once, and none that the header
// has named.
func (x *exchange) lost() []string {
	return slices.DeleteFunc(x.spells().Lost(x.losses.List()), func(name string) bool { return slices.Contains(x.named, name) })
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
// generates, and images are edited by the one that draws. A path that always streams has the RPC of
// streams that a body asks for.
func keyOf(op protocol.Operation, streamed, named bool) bindingKey {
	switch op { //nolint:exhaustive // all others have an RPC each
	case protocol.Compact:
		op = protocol.Generate
	case protocol.Edit:
		op = protocol.Draw
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
