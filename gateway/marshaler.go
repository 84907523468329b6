package gateway

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/images"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
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
	images   images.Codec
}

var (
	_ runtime.Marshaler         = (*marshaler)(nil)
	_ runtime.Delimited         = (*marshaler)(nil)
	_ runtime.StreamContentType = (*marshaler)(nil)
)

// bind is the hook of the runtime that has the context. It binds an answer to its exchange. It
// encodes an event of a stream at once, as an HttpBody: the runtime writes that as it is, and
// puts any other message into a map first.
func bind(ctx context.Context, message proto.Message) (any, error) {
	x := exchangeOf(ctx)
	var data []byte
	var err error
	switch event := message.(type) {
	case *genwayv1.StreamGenerateTextResponse:
		data, err = x.stream.encode(event)
	case *genwayv1.StreamGenerateImageResponse:
		data, err = x.stream.encodeImage(event)
	default:
		return bound{x: x, message: message}, nil
	}
	if err != nil {
		return nil, err
	}
	if x.w.status == 0 {
		x.writeLosses()
		x.stream.body.ContentType = x.stream.contentType()
	}
	x.stream.body.Data = data
	return &x.stream.body, nil
}

func (m *marshaler) ContentType(any) string { return "application/json" }

// StreamContentType is that of the exchange's framing.
func (m *marshaler) StreamContentType(v any) string {
	if body, ok := v.(*httpbody.HttpBody); ok {
		return body.GetContentType()
	}
	return "text/event-stream"
}

// Delimiter is empty: frames carry their own.
func (m *marshaler) Delimiter() []byte { return nil }

// Marshal gives the body of an answer.
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
// takes deferred bodies it decodes only the head, and gives the statistics of the body; it
// decodes all of a body whose head cannot be found, as that of a malformed one.
func (m *marshaler) decode(body []byte, deferred bool) (*codec.Request, error) {
	if heads, ok := m.text.(codec.HeadDecoder); ok && deferred {
		if head, ok := heads.DecodeRequestHead(body); ok {
			return head, nil
		}
	}
	return m.text.DecodeRequest(body)
}

// dated gives the time of an answer, or the present for one without and for one that no calendar
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
