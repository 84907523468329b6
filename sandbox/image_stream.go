package sandbox

import (
	"context"
	"image"

	"github.com/genway/genway/codec/images"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/sandbox/drawing"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// StreamGenerateImage returns the images of GenerateImage as events, each as soon as it is
// drawn, with as many previews ahead of it as partial_images asks for: the image itself in
// a mosaic that becomes finer. Previews cost nothing.
func (s *Sandbox) StreamGenerateImage(ctx context.Context, req *genwayv1.GenerateImageRequest, send upstream.SendImage) error {
	call.Of(ctx).Calls++
	m, err := s.find(req.GetModel(), true)
	if err != nil {
		return err
	}
	if err := m.before(ctx); err != nil {
		return err
	}
	c, err := accept(req)
	if err != nil {
		return err
	}
	d := &imageStream{sandbox: s, req: req, commission: c, model: m, send: send, created: timestamppb.New(s.config.Clock())}
	if err := d.event(ctx, images.Event(&genwayv1.ImageStarted{CreateTime: d.created, Losses: imageLosses(req, true)})); err != nil {
		return err
	}
	for i := range c.count {
		if err := wait(ctx, 0); err != nil {
			return err
		}
		if err := d.image(ctx, i, c.draw(i)); err != nil {
			return err
		}
	}
	return d.event(ctx, images.Event(&genwayv1.ImageCompleted{Count: int32(c.count), Size: c.size(), Quality: c.spec.Quality, Usage: c.usage(0, c.count)}))
}

// imageStream is one streamed answer.
type imageStream struct {
	*commission
	sandbox *Sandbox
	req     *genwayv1.GenerateImageRequest
	model   model
	send    upstream.SendImage
	created *timestamppb.Timestamp
	sent    int // events
}

// image sends the previews of an image and then the image.
func (d *imageStream) image(ctx context.Context, i int, img *image.NRGBA) error {
	index := int32(i)
	for p := range d.partials {
		data, err := d.encode(ctx, drawing.Mosaic(img, 8<<p))
		if err != nil {
			return err
		}
		err = d.event(ctx, images.Event(&genwayv1.PartialImage{
			ImageIndex: index, PartialIndex: int32(p), Data: data, CreateTime: d.created,
			Background: d.spec.Background, OutputFormat: string(d.format), Quality: d.spec.Quality, Size: d.size(),
		}))
		if err != nil {
			return err
		}
	}
	whole, err := d.sandbox.image(ctx, d.req, d.commission, img)
	if err != nil {
		return err
	}
	return d.event(ctx, images.Event(&genwayv1.FinishedImage{
		ImageIndex: index, Image: whole, CreateTime: d.created, Usage: d.usage(i, i+1),
		Background: d.spec.Background, OutputFormat: string(d.format), Quality: d.spec.Quality,
	}))
}

// event sends an event, as late and as far as the model's name asks.
func (d *imageStream) event(ctx context.Context, ev *genwayv1.StreamGenerateImageResponse) error {
	all := 2 + d.count*(1+d.partials)
	if d.model.demand.halfway && d.sent == (all+1)/2 {
		return d.model.demand.fault()
	}
	ping := func() error { return d.send(images.Event(&genwayv1.Ping{})) }
	if err := d.model.pause(ctx, d.sent, ping); err != nil {
		return err
	}
	d.sent++
	return d.send(ev)
}
