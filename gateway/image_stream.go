package gateway

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/images"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// encodeImage returns the bytes of one event of a stream of images. They are valid until the
// next call.
func (s *streamState) encodeImage(event *genwayv1.StreamGenerateImageResponse) ([]byte, error) {
	s.buf.Reset()
	switch p := event.GetPayload().(type) {
	case *genwayv1.StreamGenerateImageResponse_PartialImage:
		p.PartialImage.CreateTime = dated(p.PartialImage.CreateTime)
	case *genwayv1.StreamGenerateImageResponse_Image:
		p.Image.CreateTime, p.Image.Usage = dated(p.Image.CreateTime), codec.ShownUsage(p.Image.Usage)
	}
	if started := event.GetStarted(); started != nil {
		s.x.addLosses(started.GetLosses())
	}
	s.x.addLosses(event.GetCompleted().GetLosses())
	frames, err := s.imageEncoder().Encode(event)
	if err != nil {
		return nil, err
	}
	if event.GetCompleted() != nil {
		s.comment()
	}
	for _, f := range frames {
		s.frame(f)
	}
	if event.GetPing() != nil {
		s.buf.WriteString(s.x.endpoint.protocol.Stream.Heartbeat)
	}
	return s.buf.Bytes(), nil
}

func (s *streamState) imageEncoder() *images.StreamEncoder {
	if s.images == nil {
		s.images = images.Codec{}.NewStreamEncoder(&s.x.losses)
	}
	return s.images
}
