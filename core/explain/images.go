package explain

import (
	"bytes"
	"cmp"
	"context"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/images"
	"github.com/genway/genway/core/call"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// imageFolder adds up the events of a stream of images to the answer of a unary call that they amount to, as far as they
// came. Previews are no part of it. Its zero value adds up the contract's events; with a decoder it adds up frames.
type imageFolder struct {
	decoder *images.StreamDecoder
	answer  genwayv1.GenerateImageResponse
	// frames is how many there were, begun whether any was of an image.
	frames int
	begun  bool
	err    error
}

// frame adds a frame. Nothing is added behind an error.
func (f *imageFolder) frame(frame codec.Frame) {
	f.frames++
	if f.err == nil {
		f.add(f.decoder.Decode(codec.Frame{Event: frame.Event, Data: bytes.Clone(frame.Data)}))
	}
}

// close ends the frames.
func (f *imageFolder) close() {
	if f.err == nil {
		f.add(f.decoder.Close())
	}
}

func (f *imageFolder) add(events []*genwayv1.StreamGenerateImageResponse, err error) {
	for _, ev := range events {
		f.event(ev)
	}
	f.err = err
}

// event adds an event, which is not changed.
func (f *imageFolder) event(ev *genwayv1.StreamGenerateImageResponse) {
	a := &f.answer
	switch p := proto.CloneOf(ev).GetPayload().(type) {
	case *genwayv1.StreamGenerateImageResponse_Started:
		a.CreateTime, a.Losses = cmp.Or(a.CreateTime, p.Started.GetCreateTime()), append(a.Losses, p.Started.GetLosses()...)
	case *genwayv1.StreamGenerateImageResponse_PartialImage:
		f.begun = true
	case *genwayv1.StreamGenerateImageResponse_Image:
		f.begun = true
		i := p.Image
		a.CreateTime, a.Background, a.OutputFormat, a.Quality = cmp.Or(a.CreateTime, i.GetCreateTime()), i.GetBackground(), i.GetOutputFormat(), i.GetQuality()
		a.Images = append(a.Images, i.GetImage())
	case *genwayv1.StreamGenerateImageResponse_Completed:
		a.Usage, a.Losses = p.Completed.GetUsage(), append(a.Losses, p.Completed.GetLosses()...)
	}
}

// response is the answer; its usage is that of the images which came.
func (f *imageFolder) response() *genwayv1.GenerateImageResponse {
	if f.answer.Usage == nil && f.decoder != nil {
		f.answer.Usage = proto.CloneOf(f.decoder.Usage())
	}
	return &f.answer
}

// imageEventsOf reads the contract's events of images, a line for each; the error is that of the first that is none.
func imageEventsOf(stream []byte) (events []*genwayv1.StreamGenerateImageResponse, err error) {
	err = eachLine(stream, func(line []byte) bool {
		ev := &genwayv1.StreamGenerateImageResponse{}
		if err := protojson.Unmarshal(line, ev); err != nil || ev.GetPayload() == nil {
			return false
		}
		events = append(events, ev)
		return true
	})
	return events, err
}

// foldImages adds up the upstream's events of the answer to a body.
func (p *passage) foldImages(body, answer []byte) *imageFolder {
	f := &imageFolder{}
	if p.canonical() {
		events, err := imageEventsOf(answer)
		f.frames = len(events)
		f.add(events, err)
		return f
	}
	count := int32(0)
	if asked, err := p.decode(body); err == nil {
		count = asked.image.GetCount()
	}
	f.decoder = images.Codec{}.NewStreamDecoder(count)
	for _, frame := range framesOf(answer) {
		f.frame(frame)
	}
	f.close()
	return f
}

// writeImages writes an answer as the upstream writes it for unary calls.
func (p *passage) writeImages(answer *genwayv1.GenerateImageResponse) ([]byte, error) {
	if p.canonical() {
		shown := proto.CloneOf(answer)
		shown.Losses = nil // those of the request
		return protojson.Marshal(shown)
	}
	return encodeImages(answer)
}

// encodeImages encodes an answer in the protocol, without its creation time if that is unknown.
func encodeImages(answer *genwayv1.GenerateImageResponse) ([]byte, error) {
	body, err := images.Codec{}.EncodeResponse(answer, nil)
	if err != nil {
		return nil, err
	}
	return without(body, func(l leaf) bool { return l.path == "created" && string(l.value) == "0" }), nil
}

// expandImages writes the events of a stream of images that amounts to an answer which writeImages has written.
func (p *passage) expandImages(answer []byte) ([]byte, error) {
	if p.canonical() {
		resp := &genwayv1.GenerateImageResponse{}
		if err := unmarshal(answer, resp); err != nil {
			return nil, err
		}
		return writeLines(images.Events(resp))
	}
	resp, err := images.Codec{}.DecodeResponse(answer)
	if err != nil {
		return nil, err
	}
	return writeFrames(images.Events(resp), images.Codec{}.NewStreamEncoder(nil).Encode)
}

// carryImages translates a stream of images for a caller who asked for one.
func (p *passage) carryImages(ctx context.Context, body, answer []byte) (r returned) {
	asked, err := p.decode(body)
	if err != nil {
		return returned{err: err}
	}
	p.wire.expectEvents(answer)
	var losses codec.Losses
	encoder := images.Codec{}.NewStreamEncoder(&losses)
	message, received, passed := &imageFolder{}, &imageFolder{decoder: images.Codec{}.NewStreamDecoder(asked.image.GetCount())}, false
	r.err = p.routed.StreamGenerateImage(call.With(ctx, &call.Record{}), asked.image.GenerateImageRequest, func(ev *genwayv1.StreamGenerateImageResponse) error {
		message.event(ev)
		passed = passed || ev.GetWire() != nil
		frames, err := encoder.Encode(ev)
		for _, f := range frames {
			received.frame(f)
		}
		return err
	})
	if r.err != nil && received.frames > 0 {
		for _, f := range encoder.Fail(fault.From(r.err)) {
			received.frame(f)
		}
	}
	received.close()
	r.events = received.frames
	if message.begun && !passed {
		r.message = message.response()
	}
	r.losses = append(losses.List(), message.response().GetLosses()...)
	if received.begun {
		written, err := encodeImages(received.response())
		if r.body = written; r.err == nil {
			r.err = err
		}
	}
	return r
}
