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

// StreamGenerateImage makes one streamed call. As with text, nothing is sent until there
// is a preview or an image, or Config.Hold is over. An upstream that answers with all
// images at once is taken at its word.
func (u *Upstream) StreamGenerateImage(ctx context.Context, req *genwayv1.GenerateImageRequest, send upstream.SendImage) error {
	body, losses, err := u.imageBody(ctx, req, images.Codec{}.EncodeStreamRequest)
	if err != nil {
		return err
	}
	record := call.Of(ctx)
	record.Calls++
	o := newOpening(send, imagePing, u.config.Hold, record)
	defer o.close()
	a, err := u.call(ctx, draw, req.GetModel(), body, req.GetWire())
	if err != nil {
		return err
	}
	defer a.close()
	s := &imageRelay{upstream: u, decoder: images.Codec{}.NewStreamDecoder(req.GetCount()), opening: o, losses: losses}
	s.decoder.Watch = u.speaks(req.GetWire())
	if mediaType, _, _ := mime.ParseMediaType(a.header.Get("Content-Type")); mediaType == "application/json" {
		return s.whole(a)
	}
	lingers := time.AfterFunc(u.config.Grace, func() { a.end(errLingers) })
	lingers.Stop()
	defer lingers.Stop()
	var eventless patience
	eventless.begin(u.config.FirstByte, func() { a.end(errIdle) })
	defer eventless.end()
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
				err = s.frame(f)
			}
			if s.decoder.Given() > given {
				in.idle = 0
				eventless.hear()
			}
			record.RawUsage = s.decoder.Usage()
			if err != nil {
				return err
			}
			if !before && s.decoder.Finished() {
				lingers.Reset(u.config.Grace)
			}
			continue
		}
		switch err := a.fill(in); {
		case errors.Is(err, io.EOF):
			ended = true
		case err != nil && s.decoder.Finished() && ctx.Err() == nil:
			return s.end() // what broke off after the last image is no part of the answer
		case err != nil:
			broken := fault.From(a.broken(err))
			broken.Usage = s.decoder.Usage()
			return broken
		}
	}
}

func imagePing() *genwayv1.StreamGenerateImageResponse { return images.Event(&genwayv1.Ping{}) }

// imageRelay passes an upstream's stream of images on: as canonical events, or to a caller
// of the protocol as the frames themselves.
type imageRelay struct {
	upstream *Upstream
	decoder  *images.StreamDecoder
	opening  *opening[genwayv1.StreamGenerateImageResponse]
	losses   []*genwayv1.Loss
}

// frame passes one event on.
func (s *imageRelay) frame(f codec.Frame) error {
	if len(f.Data) == 0 {
		return nil
	}
	events, err := s.decoder.Decode(f)
	if err != nil {
		return s.own(err)
	}
	if s.decoder.Watch {
		frame := &genwayv1.WireFrame{Protocol: s.upstream.config.Protocol, Event: f.Event, Data: f.Data}
		return s.opening.pass(images.Event(frame), true)
	}
	return s.pass(events)
}

// own keeps an upstream's error body for callers of its protocol alone.
func (s *imageRelay) own(err error) error {
	f := fault.From(s.upstream.redactFault(err))
	if !s.decoder.Watch {
		f.Wire = nil
	}
	return f
}

func (s *imageRelay) pass(events []*genwayv1.StreamGenerateImageResponse) error {
	for _, ev := range events {
		if started := ev.GetStarted(); started != nil {
			started.Losses = append(s.losses, started.Losses...)
		}
		if err := s.opening.pass(ev, ev.GetStarted() == nil); err != nil {
			return err
		}
	}
	return nil
}

// end passes the end of the answer on.
func (s *imageRelay) end() error {
	events, err := s.decoder.Close()
	if err != nil {
		return err
	}
	return s.pass(events)
}

// whole passes on an answer that came in one piece.
func (s *imageRelay) whole(a *answer) error {
	raw, err := a.whole(true)
	if err != nil {
		return err
	}
	resp, err := images.Codec{}.DecodeResponse(raw)
	if err != nil {
		return err
	}
	return s.pass(images.Events(resp))
}
