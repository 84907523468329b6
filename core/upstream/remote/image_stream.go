package remote

import (
	"context"
	"errors"
	"io"
	"mime"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/images"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// StreamGenerateImage makes one streamed call. As with text, it sends nothing before there is a
// preview or an image, or Config.Hold is over. A unary answer with all images is sent as events. An upstream that draws in
// answers of text is called once for each image.
func (u *Upstream) StreamGenerateImage(ctx context.Context, req *genwayv1.GenerateImageRequest, send upstream.SendImage) error {
	if drawer, ok := u.codec.(codec.Drawer); ok {
		return u.streamDrawings(ctx, drawer, req, send)
	}
	body, losses, err := u.imageBody(ctx, req, images.Codec{}.EncodeStreamRequest)
	if err != nil {
		return err
	}
	record := call.Of(ctx)
	record.Calls++
	out := newHoldBack(send, imagePing, u.config.Hold, record)
	defer out.close()
	a, err := u.call(ctx, imageOperation(req), req.GetModel(), body, req.GetWire())
	if err != nil {
		return err
	}
	defer a.close()
	s := &imageStream{upstream: u, record: record, decoder: images.Codec{}.NewStreamDecoder(req.GetCount()), out: out, losses: losses}
	s.decoder.Watch = u.speaks(req.GetWire())
	if mediaType, _, _ := mime.ParseMediaType(a.header.Get("Content-Type")); mediaType == "application/json" {
		return s.unary(a)
	}
	grace := time.AfterFunc(u.config.Grace, func() { a.end(errKeptOpen) })
	grace.Stop()
	defer grace.Stop()
	var idle idleTimer
	idle.start(u.config.FirstByte, func() { a.end(errIdle) })
	defer idle.stop()
	in := a.events()
	for ended := false; ; {
		f, _, ok := in.next(ended)
		if !ok && ended {
			return s.end()
		}
		if ok {
			before, given := s.decoder.Finished(), s.decoder.Given()
			err := a.weigh(f.Data)
			if err == nil {
				err = s.forward(f)
			}
			if s.decoder.Given() > given {
				in.withoutContent = 0
				idle.reset()
			}
			record.RawUsage = s.decoder.Usage()
			if err != nil {
				return err
			}
			if !before && s.decoder.Finished() {
				grace.Reset(u.config.Grace)
			}
			continue
		}
		switch err := a.fill(in); {
		case errors.Is(err, io.EOF):
			ended = true
		case err != nil && s.decoder.Finished() && ctx.Err() == nil:
			return s.end() // the connection broke after the last image
		case err != nil:
			return a.broken(err)
		}
	}
}

func imagePing() *genwayv1.StreamGenerateImageResponse { return images.Event(&genwayv1.Ping{}) }

// imageStream sends an upstream's stream of images to the caller: as canonical events, or to a
// caller of the protocol as the upstream's own frames.
type imageStream struct {
	upstream *Upstream
	record   *call.Record
	decoder  *images.StreamDecoder
	out      *holdBack[genwayv1.StreamGenerateImageResponse]
	losses   []*genwayv1.Loss
}

// forward sends one event.
func (s *imageStream) forward(f codec.Frame) error {
	if len(f.Data) == 0 {
		return nil
	}
	events, err := s.decoder.Decode(f)
	if err != nil {
		s.record.Accepted = false
		return s.failure(err)
	}
	if s.decoder.Watch {
		frame := &genwayv1.WireFrame{Protocol: s.upstream.config.Protocol, Event: f.Event, Data: f.Data}
		return s.out.add(images.Event(frame), true, s.decoder.Finished())
	}
	return s.send(events)
}

// failure returns an error as the caller gets it. The upstream's own error body is kept only for
// callers of its protocol.
func (s *imageStream) failure(err error) error {
	f := fault.From(s.upstream.redactFault(err))
	if !s.decoder.Watch {
		f.Wire = nil
	}
	return f
}

func (s *imageStream) send(events []*genwayv1.StreamGenerateImageResponse) error {
	for _, ev := range events {
		if started := ev.GetStarted(); started != nil {
			started.Losses = append(s.losses, started.Losses...)
		}
		if err := s.out.add(ev, ev.GetStarted() == nil, s.decoder.Finished()); err != nil {
			return err
		}
	}
	return nil
}

// end sends the end of the answer.
func (s *imageStream) end() error {
	events, err := s.decoder.Close()
	if err != nil {
		return err
	}
	return s.send(events)
}

// unary sends a unary answer as the events of a stream.
func (s *imageStream) unary(a *answer) error {
	raw, err := a.whole(true)
	if err != nil {
		return err
	}
	resp, err := images.Codec{}.DecodeResponse(raw)
	if err != nil {
		declined(s.record, raw, err)
		return err
	}
	return s.send(images.Events(resp))
}
