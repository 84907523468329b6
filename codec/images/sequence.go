package images

import (
	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Sequence checks that the events of a stream of images come in the order of the contract
// (genway/v1/image_stream.proto): started (partial_image* image)* completed. Behind an event that
// passes through (wire), which stands for the others, only completed and more of them may follow.
// Pings are allowed anywhere. The zero value is ready for use.
type Sequence struct {
	started, passesThrough, completed, hasImage bool
}

// Check checks the next event. An event out of order is an error of kind BadUpstream.
func (s *Sequence) Check(ev *genwayv1.StreamGenerateImageResponse) error {
	switch p := ev.GetPayload().(type) {
	case nil, *genwayv1.StreamGenerateImageResponse_Ping:
		return nil
	case *genwayv1.StreamGenerateImageResponse_Wire:
		if p.Wire.GetProtocol() != protocol {
			return disorder("an event of another protocol passes through")
		}
		s.passesThrough = true
		return nil // an upstream's own events may follow its end
	case *genwayv1.StreamGenerateImageResponse_Started:
		if s.started || s.passesThrough {
			return disorder("it starts twice")
		}
		s.started = true
		return nil
	case *genwayv1.StreamGenerateImageResponse_Completed:
		if s.completed {
			return disorder("it ends twice")
		}
		s.completed = true
		if !s.hasImage && !s.passesThrough {
			return malformed(noImages)
		}
		return nil
	case *genwayv1.StreamGenerateImageResponse_Image:
		if p.Image.GetImage().GetSource() == nil {
			return malformed(emptyImage)
		}
		s.hasImage = true
	}
	if !s.started || s.passesThrough || s.completed {
		return disorder("an image is ahead of the start, behind the end, or among events that pass through")
	}
	return nil
}

// CheckAnswer checks that a unary answer has images and each of them its bytes or its address, as
// the contract promises. An upstream's own body (wire) is not looked at.
func CheckAnswer(resp *genwayv1.GenerateImageResponse) error {
	if resp.GetWire().GetProtocol() == protocol {
		return nil
	}
	if len(resp.GetImages()) == 0 {
		return malformed(noImages)
	}
	for _, image := range resp.GetImages() {
		if image.GetSource() == nil {
			return malformed(emptyImage)
		}
	}
	return nil
}

const (
	noImages   = "the upstream's answer has no images"
	emptyImage = "the upstream's answer has an image without bytes or address"
)

func malformed(text string) error {
	return fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer, "%s", text)
}

func disorder(what string) error { return malformed("the upstream's stream is out of order: " + what) }
