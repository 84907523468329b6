package remote

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/drawing"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/images"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
)

// maxDrawing is how many images of one request are drawn at once.
const maxDrawing = 4

// drawings are the images of one request on their way, each of them a call of text.
type drawings struct {
	upstream *Upstream
	drawer   codec.Drawer
	req      *genwayv1.GenerateImageRequest

	// mu guards all below, and the record of the call.
	mu     sync.Mutex
	record *call.Record
	losses codec.Losses
	usage  *genwayv1.Usage
	err    error // the first failure, which ends the other calls
}

// Draws reports whether the upstream answers requests for images. Of chat completions those do that are known to take modalities
// and to return images.
func (u *Upstream) Draws() bool {
	_, draws := u.codec.(codec.Drawer)
	return u.protocol.Images || draws && u.config.Dialect.Takes("modalities") && u.config.Dialect.Takes("messages.images")
}

// asks makes the call of text for the image of an index.
type asks func(ctx context.Context, d *drawings, req *deferred.Request, index int32) (*genwayv1.GenerateTextResponse, error)

// draw makes the calls that draw the images of a request, some at once. ask makes one of them, and drew gets its images,
// from one goroutine at a time. The first failure cancels the others and is that of all. Its usage is what all of
// them have used.
func (u *Upstream) draw(ctx context.Context, drawer codec.Drawer, req *genwayv1.GenerateImageRequest, stream bool,
	ask asks,
	drew func(d *drawings, index int32, made []*genwayv1.FinishedImage) error,
) (*drawings, error) {
	d := &drawings{upstream: u, drawer: drawer, req: req, record: call.Of(ctx)}
	text, err := drawing.Request(drawer, req, stream, &d.losses)
	if err != nil {
		return nil, err
	}
	if err := upstream.Lossless(ctx, d.losses.List()); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var calls sync.WaitGroup
	free := make(chan struct{}, maxDrawing)
	for index := range max(req.GetCount(), 1) {
		free <- struct{}{}
		if ctx.Err() != nil && index > 0 {
			d.mu.Lock()
			if d.err == nil { // the caller has left, and not all images are asked for
				d.err = upstream.Interrupted(ctx)
			}
			d.mu.Unlock()
			break
		}
		if index > 0 { // a call has a request of its own
			text, _ = drawing.Request(drawer, req, stream, nil)
		}
		own := deferred.New(text)
		calls.Go(func() {
			defer func() { <-free }()
			if !d.one(ctx, index, own, ask, drew) {
				cancel()
			}
		})
	}
	calls.Wait()
	if d.err == nil {
		return d, nil
	}
	failed, ok := errors.AsType[*fault.Error](d.err)
	if !ok {
		return nil, d.err // of sending to the caller
	}
	f := *failed
	f.Usage = d.usage
	if member := drawing.Member(f.Param); member != f.Param {
		f.Message, f.Param = strings.ReplaceAll(f.Message, f.Param, member), member
	}
	return nil, &f
}

// one makes one of the calls. It reports whether the call succeeded.
func (d *drawings) one(ctx context.Context, index int32, req *deferred.Request, ask asks,
	drew func(*drawings, int32, []*genwayv1.FinishedImage) error,
) bool {
	own := d.fork()
	resp, err := recovered(func() (*genwayv1.GenerateTextResponse, error) { return ask(call.With(ctx, own), d, req, index) })
	d.mu.Lock()
	defer d.mu.Unlock()
	d.record.Join(own)
	d.usage = images.AddUsage(d.usage, usedBy(own, resp, err))
	var made []*genwayv1.FinishedImage
	if err == nil {
		made, err = d.images(resp)
		d.record.Drawn += len(made)
	}
	if err == nil && d.err == nil {
		err = drew(d, index, made)
	}
	if err != nil && d.err == nil {
		d.err = err
	}
	return err == nil
}

// recovered makes a call. A panic in it is a failure, and does not end the process.
func recovered(do func() (*genwayv1.GenerateTextResponse, error)) (resp *genwayv1.GenerateTextResponse, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.Wrap(fmt.Errorf("panic: %v", p), fault.Internal, fault.ReasonPanic, "%s", fault.InternalMessage)
		}
	}()
	return do()
}

// fork returns the record of one call. The answer of all begins with that of the first.
func (d *drawings) fork() *call.Record {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.record.Fork(func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.record.AnswerBegins()
	})
}

// usedBy is the usage of one call, whatever came of it; nil where the upstream has reported none.
func usedBy(record *call.Record, resp *genwayv1.GenerateTextResponse, err error) *genwayv1.Usage {
	switch {
	case err == nil:
		return resp.GetUsage()
	case fault.From(err).Usage != nil:
		return fault.From(err).Usage
	}
	return record.RawUsage
}

// images returns the images of an answer. It adds what the answer has lost.
func (d *drawings) images(resp *genwayv1.GenerateTextResponse) ([]*genwayv1.FinishedImage, error) {
	d.lost(resp.GetLosses())
	var made []*genwayv1.FinishedImage
	for _, c := range resp.GetCandidates() {
		for _, p := range c.GetParts() {
			image, err := drawing.Image(d.drawer, p, d.req.GetModel(), resp.GetModel(), resp.GetCreateTime())
			if err != nil {
				return nil, err
			}
			if image != nil {
				made = append(made, image)
			}
		}
	}
	if len(made) == 0 {
		return nil, drawing.Missing(resp)
	}
	if drawing.Said(resp) {
		d.losses.Add("text", "the model has said something beside the image, and the operation has images alone")
	}
	made[len(made)-1].Usage = resp.GetUsage()
	return made, nil
}

// lost adds the losses of a request of text, by the names of a request for images.
func (d *drawings) lost(losses []*genwayv1.Loss) {
	for _, loss := range losses {
		d.losses.Add(drawing.Member(loss.GetMember()), loss.GetReason())
	}
}

// drawImages draws the images of a request, each whole.
func (u *Upstream) drawImages(ctx context.Context, drawer codec.Drawer, req *genwayv1.GenerateImageRequest) (*genwayv1.GenerateImageResponse, error) {
	made := make([][]*genwayv1.FinishedImage, max(min(req.GetCount(), drawing.MaxImages), 1))
	d, err := u.draw(ctx, drawer, req, false,
		func(ctx context.Context, _ *drawings, req *deferred.Request, _ int32) (*genwayv1.GenerateTextResponse, error) {
			return u.GenerateText(ctx, req)
		},
		func(_ *drawings, index int32, images []*genwayv1.FinishedImage) error {
			made[index] = images
			return nil
		})
	if err != nil {
		return nil, err
	}
	first := made[0][0]
	resp := &genwayv1.GenerateImageResponse{
		CreateTime: first.GetCreateTime(), Background: first.GetBackground(), OutputFormat: first.GetOutputFormat(), Quality: first.GetQuality(),
		Size: first.GetImage().GetSize(), Usage: d.usage, Losses: d.losses.List(),
	}
	for _, list := range made {
		for _, f := range list {
			resp.Images = append(resp.Images, f.GetImage())
		}
	}
	return resp, nil
}

// streamDrawings draws the images of a request, and sends each when its call has ended, which says what the image has used.
func (u *Upstream) streamDrawings(ctx context.Context, drawer codec.Drawer, req *genwayv1.GenerateImageRequest, send upstream.SendImage) error {
	out := newHoldBack(send, imagePing, u.config.Hold, call.Of(ctx))
	defer out.close()
	s := drawnStream{out: out, more: max(req.GetCount(), 1)}
	d, err := u.draw(ctx, drawer, req, true, s.ask, s.drew)
	if err != nil {
		return err
	}
	s.end.Usage = d.usage
	s.end.Losses = d.losses.List()[s.named:]
	return out.add(images.Event(&s.end), true, true)
}

// drawnStream sends previews and images as the events of one stream. The mutex of the drawings guards it.
type drawnStream struct {
	out     *holdBack[genwayv1.StreamGenerateImageResponse]
	started bool
	// more is the index of an image that a call draws beyond its own. named is how many losses the beginning has named.
	more  int32
	named int
	end   genwayv1.ImageCompleted
}

// errEnded ends a call that goes on after another has failed.
var errEnded = errors.New("remote: another call of the request has failed")

// ask makes one call and sends its previews.
func (s *drawnStream) ask(ctx context.Context, d *drawings, req *deferred.Request, index int32) (*genwayv1.GenerateTextResponse, error) {
	var answer codec.Accumulator
	err := d.upstream.StreamGenerateText(ctx, req, func(ev *genwayv1.StreamGenerateTextResponse) error {
		if ev.GetPing() != nil {
			return nil // ours are sent by the buffer
		}
		if err := answer.Add(ev); err != nil {
			return err
		}
		preview := ev.GetImagePreview()
		if preview == nil && ev.GetStarted() == nil {
			return nil
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.err != nil {
			return errEnded
		}
		if preview == nil {
			d.lost(ev.GetStarted().GetLosses())
			return nil
		}
		return s.send(d, images.Event(drawing.Preview(d.drawer, preview, index)))
	})
	switch {
	case err != nil:
		return nil, err
	case !answer.Complete():
		return nil, fault.StreamCut()
	}
	return answer.Response(), nil
}

// drew sends the images of a call.
func (s *drawnStream) drew(d *drawings, index int32, made []*genwayv1.FinishedImage) error {
	for i, f := range made {
		if f.ImageIndex = index; i > 0 {
			f.ImageIndex = s.more
			s.more++
		}
		s.end.Count++
		s.end.Size, s.end.Quality = f.GetImage().GetSize(), f.GetQuality()
		if err := s.send(d, images.Event(f)); err != nil {
			return err
		}
	}
	return nil
}

// send sends an event, after the one that opens the stream.
func (s *drawnStream) send(d *drawings, ev *genwayv1.StreamGenerateImageResponse) error {
	if !s.started {
		s.started = true
		s.named = len(d.losses.List())
		if err := s.out.add(images.Event(&genwayv1.ImageStarted{Losses: append([]*genwayv1.Loss(nil), d.losses.List()...)}), false, false); err != nil {
			return err
		}
	}
	return s.out.add(ev, true, false)
}
