package carried

import (
	"bytes"
	"errors"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/images"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// TestEachFieldOfARequestForImages walks a streamed request: only a stream has previews.
func TestEachFieldOfARequestForImages(t *testing.T) {
	c := images.Codec{}
	made := func() proto.Message { return &genwayv1.GenerateImageRequest{Model: "m", Prompt: "A red square."} }
	carriesEachField(t, made, map[string]string{"wire": "is the body itself", "extra_json": "is merged into the body as it is"},
		func(m proto.Message, losses *codec.Losses) ([]byte, error) {
			return c.EncodeStreamRequest(m.(*genwayv1.GenerateImageRequest), losses)
		},
		func(body []byte) (proto.Message, error) {
			req, err := c.DecodeRequest(body)
			if err != nil {
				return nil, err
			}
			return req.GenerateImageRequest, nil
		})
}

// An event of a stream carries each field of an image, too.
func TestEachFieldOfAStreamedImage(t *testing.T) {
	made := func() proto.Message {
		return &genwayv1.FinishedImage{CreateTime: timestamppb.New(created), Image: &genwayv1.GeneratedImage{Source: &genwayv1.GeneratedImage_Data{Data: []byte("png")}}}
	}
	carriesEachField(t, made, map[string]string{
		"image_index":         "is the place of the image among the events",
		"image.generation_id": "only the upstream that made the image knows its identifier",
		"image.model":         "the caller has named the model",
	},
		func(m proto.Message, losses *codec.Losses) ([]byte, error) {
			frames, err := images.Codec{}.NewStreamEncoder(losses).Encode(images.Event(m))
			if err != nil {
				return nil, err
			}
			return frames[0].Data, nil
		},
		func(body []byte) (proto.Message, error) {
			events, err := images.Codec{}.NewStreamDecoder(1).Decode(codec.Frame{Data: body})
			if err != nil {
				return nil, err
			}
			return events[len(events)-1].GetImage(), nil
		})
}

func TestEachFieldOfAnAnswerWithImages(t *testing.T) {
	c := images.Codec{}
	made := func() proto.Message {
		return &genwayv1.GenerateImageResponse{CreateTime: timestamppb.New(created), Images: []*genwayv1.GeneratedImage{{Source: &genwayv1.GeneratedImage_Data{Data: []byte("png")}}}}
	}
	carriesEachField(t, made, map[string]string{"wire": "is the body itself", "losses": "go into a header"},
		func(m proto.Message, losses *codec.Losses) ([]byte, error) {
			return c.EncodeResponse(m.(*genwayv1.GenerateImageResponse), losses)
		},
		func(body []byte) (proto.Message, error) { return c.DecodeResponse(body) })
}

// carriesEachField sets each field of a message for images alone: it is in the body, and is read from it, or
// it is named as lost, or refused.
func carriesEachField(t *testing.T, made func() proto.Message, but map[string]string, encode func(proto.Message, *codec.Losses) ([]byte, error), decode func([]byte) (proto.Message, error)) {
	t.Helper()
	for _, f := range fieldsOf(made().ProtoReflect().Descriptor(), nil) {
		if but[f.String()] != "" || but[f[0].TextName()] != "" {
			continue
		}
		for i := range values(f.leaf(), genwayv1.Protocol_PROTOCOL_IMAGES) {
			bare, with := made(), made()
			open(bare, f[:len(f)-1])
			set(open(with, f[:len(f)-1]), f.leaf(), i, genwayv1.Protocol_PROTOCOL_IMAGES)
			without, err := encode(bare, nil)
			if refused, ok := errors.AsType[*fault.Error](err); ok && refused.Param == f[0].TextName() {
				continue
			}
			if err != nil {
				t.Fatalf("without %s: %v", f, err)
			}
			var losses codec.Losses
			body, err := encode(with, &losses)
			if err != nil || len(losses.List()) > 0 {
				continue
			}
			if bytes.Equal(body, without) {
				t.Errorf("%s is dropped silently: write it into the body, or name it with losses.Add", f)
				continue
			}
			before, err := decode(without)
			if err != nil {
				t.Fatalf("without %s: %v", f, err)
			}
			if after, err := decode(body); err != nil || proto.Equal(after, before) {
				t.Errorf("%s is in the body, and its decoder drops it silently (%v)", f, err)
			}
		}
	}
}
