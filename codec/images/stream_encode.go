package images

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/codec/openai"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// StreamEncoder writes the events of one stream to a caller. Not for concurrent use.
type StreamEncoder struct {
	operation string // of the events' types
	losses    *codec.Losses
	failed    bool
}

// NewStreamEncoder makes an encoder of the answer to a request, which adds to losses what the protocol cannot carry.
func (Codec) NewStreamEncoder(asked *genwayv1.GenerateImageRequest, losses *codec.Losses) *StreamEncoder {
	if len(asked.GetImages()) > 0 {
		return &StreamEncoder{operation: editing, losses: losses}
	}
	return &StreamEncoder{operation: drawing, losses: losses}
}

// Encode returns the frames of one event; none for the beginning, the end and a ping, which
// the protocol has no events for.
func (s *StreamEncoder) Encode(ev *genwayv1.StreamGenerateImageResponse) ([]codec.Frame, error) {
	switch p := ev.GetPayload().(type) {
	case *genwayv1.StreamGenerateImageResponse_PartialImage:
		return s.partial(p.PartialImage)
	case *genwayv1.StreamGenerateImageResponse_Image:
		return s.image(p.Image)
	case *genwayv1.StreamGenerateImageResponse_Wire:
		return []codec.Frame{{Event: p.Wire.GetEvent(), Data: p.Wire.GetData()}}, nil
	}
	return nil, nil
}

func (s *StreamEncoder) partial(p *genwayv1.PartialImage) ([]codec.Frame, error) {
	others, err := extra(p.GetNativeFields(), "", s.losses)
	if err != nil {
		return nil, err
	}
	return frame(&wireEvent{
		Type: s.operation + partialImage, B64JSON: p.GetData(), PartialImageIndex: &p.PartialIndex, CreatedAt: p.GetCreateTime().GetSeconds(),
		Background: p.GetBackground(), OutputFormat: p.GetOutputFormat(), Quality: p.GetQuality(), Size: p.GetSize(), Extra: others,
	})
}

func (s *StreamEncoder) image(f *genwayv1.FinishedImage) ([]codec.Frame, error) {
	image := f.GetImage()
	if image.GetUrl() != "" {
		return nil, fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer, "the upstream gave the address of an image, where events have images alone")
	}
	if image.GetRevisedPrompt() != "" {
		s.losses.Add(member.Index("images", int(f.GetImageIndex()))+".revised_prompt", "the protocol's events have no place for it")
	}
	others, err := extra(image.GetNativeFields(), "", s.losses)
	if err != nil {
		return nil, err
	}
	usage, err := encodeUsage(f.GetUsage(), s.losses)
	if err != nil {
		return nil, err
	}
	if usage == nil { // the SDK requires one
		usage = &wireUsage{InputTokensDetails: &wireDetails{ImageTokens: new(int64), TextTokens: new(int64)}}
	}
	return frame(&wireEvent{
		Type: s.operation + imageFinished, B64JSON: image.GetData(), CreatedAt: f.GetCreateTime().GetSeconds(), Usage: usage,
		Background: f.GetBackground(), OutputFormat: f.GetOutputFormat(), Quality: f.GetQuality(), Size: image.GetSize(), Extra: others,
	})
}

func frame(e *wireEvent) ([]codec.Frame, error) {
	w := member.NewWriter(512 + len(e.B64JSON)/3*4)
	e.write(w)
	data, err := finish(w)
	if err != nil {
		return nil, err
	}
	return []codec.Frame{{Event: e.Type, Data: data}}, nil
}

// Fail returns the frame that reports err in band. Nothing follows it.
func (s *StreamEncoder) Fail(err *fault.Error) []codec.Frame {
	if s.failed {
		return nil
	}
	s.failed = true
	if err.Wire.GetProtocol() == protocol {
		return []codec.Frame{{Event: "error", Data: err.Wire.GetJson()}}
	}
	return []codec.Frame{{Event: "error", Data: openai.Encode(err)}}
}

// Events returns a whole answer as the events of a stream, for an upstream that has none.
// The usage stands with the last image.
func Events(resp *genwayv1.GenerateImageResponse) []*genwayv1.StreamGenerateImageResponse {
	events := []*genwayv1.StreamGenerateImageResponse{Event(&genwayv1.ImageStarted{CreateTime: resp.GetCreateTime(), Losses: resp.GetLosses()})}
	end := &genwayv1.ImageCompleted{Count: int32(len(resp.GetImages())), Size: resp.GetSize(), Quality: resp.GetQuality(), Usage: resp.GetUsage()}
	for i, image := range resp.GetImages() {
		if image.GetSize() == "" {
			image.Size = resp.GetSize()
		}
		f := &genwayv1.FinishedImage{
			ImageIndex: int32(i), Image: image, CreateTime: resp.GetCreateTime(),
			Background: resp.GetBackground(), OutputFormat: resp.GetOutputFormat(), Quality: resp.GetQuality(),
		}
		if i == len(resp.GetImages())-1 {
			f.Usage, end.Size = resp.GetUsage(), image.GetSize()
		}
		events = append(events, Event(f))
	}
	return append(events, Event(end))
}

// SendAll sends a whole answer as the events of a stream.
func SendAll(resp *genwayv1.GenerateImageResponse, send func(*genwayv1.StreamGenerateImageResponse) error) error {
	for _, ev := range Events(resp) {
		if err := send(ev); err != nil {
			return err
		}
	}
	return nil
}
