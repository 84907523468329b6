package bare

import (
	"context"
	"errors"
	"fmt"
	"io"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/genproto/googleapis/api/httpbody"
	"google.golang.org/protobuf/proto"
)

// marshaler puts bodies into messages and takes them out again.
type marshaler struct{}

var _ runtime.Delimited = marshaler{}

// bind makes the bytes of a stream an HttpBody, which the runtime writes as it is.
func bind(_ context.Context, message proto.Message) (any, error) {
	if event, ok := message.(*genwayv1.StreamGenerateTextResponse); ok {
		return &httpbody.HttpBody{ContentType: "text/event-stream", Data: event.GetWire().GetData()}, nil
	}
	return message, nil
}

func (marshaler) ContentType(any) string { return "application/json" }

// StreamContentType is that of an HttpBody.
func (marshaler) StreamContentType(v any) string {
	if body, ok := v.(*httpbody.HttpBody); ok {
		return body.GetContentType()
	}
	return "text/event-stream"
}

// Delimiter is empty: frames carry their own.
func (marshaler) Delimiter() []byte { return nil }

func (marshaler) Marshal(v any) ([]byte, error) {
	if answer, ok := v.(interface{ GetWire() *genwayv1.WireMessage }); ok {
		return answer.GetWire().GetJson(), nil
	}
	return fmt.Appendf(nil, "%v", v), nil // a failure
}

func (marshaler) NewDecoder(r io.Reader) runtime.Decoder {
	return runtime.DecoderFunc(func(v any) error {
		body, ok := r.(*read)
		if !ok {
			return fmt.Errorf("bare: body of type %T", r)
		}
		switch message := v.(type) {
		case *genwayv1.GenerateTextRequest:
			message.Wire = body.wire
		case *genwayv1.GenerateImageRequest:
			message.Wire = body.wire
		default:
			return fmt.Errorf("bare: no body for a %T", v)
		}
		return nil
	})
}

// Unmarshal and NewEncoder complete the interface; the generated code calls neither.
func (marshaler) Unmarshal([]byte, any) error { return errors.New("bare: bodies are not unmarshalled") }

func (m marshaler) NewEncoder(w io.Writer) runtime.Encoder {
	return runtime.EncoderFunc(func(v any) error {
		data, err := m.Marshal(v)
		if err == nil {
			_, err = w.Write(data)
		}
		return err
	})
}
