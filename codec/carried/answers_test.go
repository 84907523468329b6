package carried

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/images"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// answer has what every answer has.
func answer() *genwayv1.GenerateTextResponse {
	return &genwayv1.GenerateTextResponse{
		Id: "answer_1", Model: "m", CreateTime: timestamppb.New(created),
		Candidates: []*genwayv1.Candidate{{
			Parts:      []*genwayv1.Part{text("It rains.")},
			StopReason: genwayv1.StopReason_STOP_REASON_END_TURN,
		}},
		Usage: &genwayv1.Usage{InputTokens: 100, OutputTokens: 50, TotalTokens: 150},
	}
}

func answerSubjects() []subject {
	var all []subject
	add := func(title, path string, put func(*genwayv1.GenerateTextResponse) proto.Message) {
		all = append(all, subject{title, path, func() (whole, target proto.Message) {
			r := answer()
			return r, put(r)
		}})
	}
	add("The answer", "", func(r *genwayv1.GenerateTextResponse) proto.Message { return r })
	add("Candidate", "candidates[0]", func(r *genwayv1.GenerateTextResponse) proto.Message { return r.Candidates[0] })
	add("Usage", "usage", func(r *genwayv1.GenerateTextResponse) proto.Message { return r.Usage })
	add("Prompt feedback", "prompt_feedback", func(r *genwayv1.GenerateTextResponse) proto.Message {
		r.Candidates = nil
		r.PromptFeedback = &genwayv1.PromptFeedback{}
		return r.PromptFeedback
	})
	for _, p := range []*genwayv1.Part{
		text("Rain."),
		{Kind: &genwayv1.Part_Thinking{Thinking: &genwayv1.Thinking{Text: "Hm."}}},
		{Kind: &genwayv1.Part_Refusal{Refusal: &genwayv1.Refusal{Text: "No."}}},
		{Kind: &genwayv1.Part_Image{Image: &genwayv1.Media{MimeType: "image/png", Source: &genwayv1.Media_Data{Data: []byte("png")}}}},
		{Kind: &genwayv1.Part_Audio{Audio: &genwayv1.Media{MimeType: "audio/wav", Source: &genwayv1.Media_Data{Data: []byte("wav")}}}},
		{Kind: &genwayv1.Part_File{File: &genwayv1.Media{MimeType: "application/pdf", Source: &genwayv1.Media_Data{Data: []byte("pdf")}}}},
		{Kind: &genwayv1.Part_Video{Video: &genwayv1.Media{MimeType: "video/mp4", Source: &genwayv1.Media_Data{Data: []byte("mp4")}}}},
		toolCall(),
	} {
		add("Part: "+oneofName(p), "candidates[0].parts[1]", func(r *genwayv1.GenerateTextResponse) proto.Message {
			own := proto.CloneOf(p)
			r.Candidates[0].Parts = append(r.Candidates[0].Parts, own)
			return own
		})
	}
	return all
}

// eachField calls check with an answer for each field of the contract that is set alone. Native
// fields belong to another protocol than to.
func eachField(t *testing.T, to genwayv1.Protocol, check func(name string, resp *genwayv1.GenerateTextResponse)) {
	t.Helper()
	var table document
	for _, s := range answerSubjects() {
		table.section(s.title)
		_, target := s.make()
		for _, f := range fieldsOf(target.ProtoReflect().Descriptor(), target) {
			for i := range values(f.leaf(), genwayv1.Protocol_PROTOCOL_IMAGES) {
				whole, target := s.make()
				set(open(target, f[:len(f)-1]), f.leaf(), i, to)
				resp := whole.(*genwayv1.GenerateTextResponse)
				for _, c := range resp.GetCandidates() {
					c.Parts = c.Parts[len(c.Parts)-1:] // streams of some protocols join parts
				}
				if call := resp.GetCandidates(); len(call) > 0 && call[0].Parts[0].GetToolCall().GetInput() != "" {
					call[0].Parts[0].GetToolCall().Arguments = nil // a call has the one or the other
				}
				check(s.title+": "+table.row(f, i).name, resp)
			}
		}
	}
}

// The events of an answer add up to the answer, with each of its fields.
func TestEventsKeepEachField(t *testing.T) {
	eachField(t, genwayv1.Protocol_PROTOCOL_IMAGES, func(name string, want *genwayv1.GenerateTextResponse) {
		var sum codec.Accumulator
		for _, event := range codec.Events(proto.CloneOf(want), nil) {
			if err := sum.Add(event); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if diff := cmp.Diff(want, sum.Response(), protocmp.Transform()); diff != "" {
			t.Errorf("%s does not survive codec.Events and codec.Accumulator: give it a field in the events of a stream, and copy it in both:\n%s", name, diff)
		}
	})
}

// A codec reads from a stream what it reads from the unary answer that says the same.
func TestStreamsDecodeAsAnswers(t *testing.T) {
	for _, c := range codecs {
		eachField(t, c.Protocol(), func(name string, resp *genwayv1.GenerateTextResponse) {
			body, err := encodeAnswer(c, proto.CloneOf(resp), nil)
			if err != nil {
				return // refused, as docs/reference/carried.md says
			}
			unary, err := c.DecodeResponse(body)
			if err != nil {
				t.Fatalf("%s, %v: %v", name, c.Protocol(), err)
			}
			streamed, err := decodeStream(c, resp)
			if err != nil {
				t.Fatalf("%s, %v, in a stream: %v", name, c.Protocol(), err)
			}
			if diff := cmp.Diff(onlySaid(unary), onlySaid(streamed), protocmp.Transform()); diff != "" {
				t.Errorf("%s, %v: the decoder of answers (-) and that of streams (+) differ; a member that one reads, the other must read too:\n%s", name, c.Protocol(), diff)
			}
		})
	}
}

// onlySaid leaves out what encoders make up: the time at which audio ends, which unary answers
// must have, and identifiers of thoughts, which are derived from what is known when they begin.
func onlySaid(resp *genwayv1.GenerateTextResponse) *genwayv1.GenerateTextResponse {
	for _, c := range resp.GetCandidates() {
		for _, p := range c.GetParts() {
			p.NativeFields = slices.DeleteFunc(p.NativeFields, func(f *genwayv1.NativeField) bool {
				return f.GetName() == "expires_at" && string(f.GetJson()) == "0"
			})
			if strings.HasPrefix(p.GetId(), "rs_gw") {
				p.Id = ""
			}
		}
	}
	return resp
}

// decodeStream encodes an answer as a stream of the protocol, and decodes that.
func decodeStream(c codec.Codec, resp *genwayv1.GenerateTextResponse) (*genwayv1.GenerateTextResponse, error) {
	encoder, decoder := c.NewStreamEncoder(codec.Answer{Request: asked()}), c.NewStreamDecoder()
	var sum codec.Accumulator
	add := func(events []*genwayv1.StreamGenerateTextResponse, err error) error {
		for _, event := range events {
			if err == nil {
				err = sum.Add(event)
			}
		}
		return err
	}
	for _, event := range codec.Events(proto.CloneOf(resp), nil) {
		frames, err := encoder.Encode(event)
		if err != nil {
			return nil, err
		}
		for _, f := range frames {
			f.Data = append([]byte(nil), f.Data...)
			if err := add(decoder.Decode(f)); err != nil {
				return nil, err
			}
		}
	}
	if err := add(decoder.Close()); err != nil {
		return nil, err
	}
	return sum.Response(), nil
}

// TestEachFieldOfARequestForImages walks a streamed request: only a stream has previews.
func TestEachFieldOfARequestForImages(t *testing.T) {
	c := images.Codec{}
	made := func() proto.Message { return &genwayv1.GenerateImageRequest{Model: "m", Prompt: "A red square."} }
	carriesEachField(t, made, map[string]string{
		"wire": "is the body itself", "extra_json": "is merged into the body as it is",
		"images": "are files, whose bytes must be of an image: TestDecodeEditForm", "mask": "is one, too",
	},
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
			frames, err := images.Codec{}.NewStreamEncoder(nil, losses).Encode(images.Event(m))
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
	carriesEachField(t, made, map[string]string{"wire": "is the body itself", "losses": "go into a header", "cost.nano_dollars": "goes into a header", "cost.estimated": "goes into a header"},
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
