package sandbox

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"image"
	"strconv"
	"strings"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/images"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/tokens"
	"github.com/genway/genway/sandbox/drawing"
	"github.com/genway/genway/sandbox/media"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// maxImages is the largest n of the vendor.
const maxImages = 10

// commission is what a request for images amounts to.
type commission struct {
	spec        drawing.Spec
	format      drawing.Format
	compression int
	count       int
	partials    int
	// text and given are the tokens of the prompt and of the images that an edit begins with.
	text, given int64
}

// GenerateImage makes pictures that name the prompt, each of another colour. Size, quality,
// format and background of the answer are the images', after sizes were
// snapped (see drawing.Snap) and auto was resolved. It takes
//
//	n                   1 to 10
//	quality             low, medium, high, auto, standard (medium), hd (high)
//	background          opaque, transparent (not with jpeg), auto (opaque)
//	output_format       png, jpeg, webp
//	output_compression  0 to 100
//	response_format     b64_json
//	partial_images      0 to 3, in a stream
//
// and refuses all else. The picture of an edit names the images and the mask that it begins with, too: by type, size and
// the beginning of their SHA-256. An image costs tokens.Drawing of its size and quality, one that an edit begins
// with tokens.Image, the prompt its tokens.
func (s *Sandbox) GenerateImage(ctx context.Context, req *genwayv1.GenerateImageRequest) (*genwayv1.GenerateImageResponse, error) {
	call.Of(ctx).Calls++
	m, err := s.find(req.GetModel(), true)
	if err != nil {
		return nil, err
	}
	if err := m.before(ctx); err != nil {
		return nil, err
	}
	if m.demand.fault != nil {
		return nil, m.demand.fault()
	}
	c, err := accept(req)
	if err != nil {
		return nil, err
	}
	if err := wait(ctx, m.amount.wait); err != nil {
		return nil, err
	}
	resp := &genwayv1.GenerateImageResponse{
		CreateTime: timestamppb.New(s.config.Clock()),
		Background: c.spec.Background, OutputFormat: string(c.format), Quality: c.spec.Quality, Size: c.size(),
		Usage: c.usage(0, c.count), Losses: imageLosses(req, false),
	}
	for i := range c.count {
		if err := wait(ctx, 0); err != nil {
			return nil, err
		}
		image, err := s.image(ctx, req, c, c.draw(i))
		if err != nil {
			return nil, err
		}
		resp.Images = append(resp.Images, image)
	}
	return resp, nil
}

// image returns an image as answers have it.
func (s *Sandbox) image(ctx context.Context, req *genwayv1.GenerateImageRequest, c *commission, img *image.NRGBA) (*genwayv1.GeneratedImage, error) {
	data, err := c.encode(ctx, img)
	if err != nil {
		return nil, err
	}
	return &genwayv1.GeneratedImage{
		Source:       &genwayv1.GeneratedImage_Data{Data: data},
		GenerationId: s.config.NewID("ig_"),
		Model:        req.GetModel(),
		Size:         c.size(),
	}, nil
}

func accept(req *genwayv1.GenerateImageRequest) (*commission, error) {
	c := &commission{count: 1, compression: 100}
	c.spec = drawing.Spec{Prompt: req.GetPrompt(), Quality: "medium", Background: "opaque"}
	c.text = int64(tokens.Count(req.GetPrompt()))
	c.begin(req)
	switch {
	case req.GetPrompt() == "":
		return nil, fault.Missing("prompt")
	case req.Count != nil && (req.GetCount() < 1 || req.GetCount() > maxImages):
		return nil, fault.Invalid("count", "count must be between 1 and %d, not %d", maxImages, req.GetCount())
	case req.GetPartialImages() < 0 || req.GetPartialImages() > images.MaxPartialImages:
		return nil, fault.Invalid("partial_images", "partial_images must be between 0 and %d, not %d", images.MaxPartialImages, req.GetPartialImages())
	case req.GetResponseFormat() != "" && req.GetResponseFormat() != "b64_json":
		return nil, fault.Unsupported("response_format", "the sandbox gives b64_json, not %s", clip(req.GetResponseFormat(), 40))
	case req.OutputCompression != nil && (req.GetOutputCompression() < 0 || req.GetOutputCompression() > 100):
		return nil, fault.Invalid("output_compression", "output_compression must be between 0 and 100, not %d", req.GetOutputCompression())
	}
	var err error
	if c.spec.Width, c.spec.Height, err = drawing.Snap(req.GetSize()); err != nil {
		return nil, fault.Invalid("size", "%v", err)
	}
	if c.format, err = drawing.ParseFormat(req.GetOutputFormat()); err != nil {
		return nil, fault.Invalid("output_format", "%v", err)
	}
	switch q := req.GetQuality(); q {
	case "", "auto", "standard":
	case "hd":
		c.spec.Quality = "high"
	case "low", "medium", "high":
		c.spec.Quality = q
	default:
		return nil, fault.Invalid("quality", "quality %.40q is not accepted: use low, medium, high or auto", q)
	}
	switch b := req.GetBackground(); b {
	case "", "auto", "opaque":
	case drawing.Transparent:
		c.spec.Background = b
		if c.format == drawing.JPEG {
			return nil, fault.Invalid("background", "jpeg has no transparency: use png or webp for a transparent background")
		}
	default:
		return nil, fault.Invalid("background", "background %.40q is not accepted: use opaque, transparent or auto", b)
	}
	c.partials = int(req.GetPartialImages())
	if req.Count != nil {
		c.count = int(req.GetCount())
	}
	if req.OutputCompression != nil {
		c.compression = int(req.GetOutputCompression())
	}
	return c, nil
}

// begin names the images that an edit begins with before the prompt, and counts them.
func (c *commission) begin(req *genwayv1.GenerateImageRequest) {
	var names strings.Builder
	name := func(what string, m *genwayv1.Media) {
		data := m.GetData()
		if len(data) == 0 {
			fmt.Fprintf(&names, "%s: a reference, which is not looked up; ", what)
			c.given += int64(tokens.Image(0, 0, ""))
			return
		}
		info, digest := media.Describe(m.GetMimeType(), data), sha256.Sum256(data)
		fmt.Fprintf(&names, "%s: %v, %x; ", what, info, digest[:4])
		c.given += int64(tokens.Image(info.Width, info.Height, ""))
	}
	for i, image := range req.GetImages() {
		name("image "+strconv.Itoa(i+1), image)
	}
	if req.GetMask() != nil {
		name("mask", req.GetMask())
	}
	c.spec.Prompt = names.String() + c.spec.Prompt
}

// draw makes the i-th image.
func (c *commission) draw(i int) *image.NRGBA {
	spec := c.spec
	spec.Seed += uint64(i)
	return drawing.Draw(spec)
}

// encode returns an image as a file. It ends early when the caller leaves.
func (c *commission) encode(ctx context.Context, img *image.NRGBA) ([]byte, error) {
	file := attended{ctx: ctx}
	if err := drawing.Encode(&file, img, c.format, c.compression); err != nil {
		if ctx.Err() != nil {
			return nil, left(ctx)
		}
		return nil, fault.Wrap(fmt.Errorf("encode an image: %w", err), fault.Internal, "DRAWING", "%s", fault.InternalMessage)
	}
	return file.Bytes(), nil
}

// attended is a file that is written as long as somebody waits for it.
type attended struct {
	bytes.Buffer
	ctx context.Context //nolint:containedctx // an io.Writer gets none
}

func (a *attended) Write(b []byte) (int, error) {
	if err := a.ctx.Err(); err != nil {
		return 0, err
	}
	return a.Buffer.Write(b)
}

func (c *commission) size() string { return fmt.Sprintf("%dx%d", c.spec.Width, c.spec.Height) }

// usage is what the images from first up to end cost. The prompt is read once, for the
// first.
func (c *commission) usage(first, end int) *genwayv1.Usage {
	text, given := int64(0), int64(0)
	if first == 0 {
		text, given = c.text, c.given
	}
	in := text + given
	out := int64((end - first) * tokens.Drawing(c.spec.Width, c.spec.Height, c.spec.Quality))
	return &genwayv1.Usage{
		InputTokens: in, OutputTokens: out, TotalTokens: in + out,
		InputTextTokens: &text, InputImageTokens: &given,
		OutputTextTokens: new(int64(0)), OutputImageTokens: &out,
	}
}

func imageLosses(req *genwayv1.GenerateImageRequest, streamed bool) []*genwayv1.Loss {
	var list []*genwayv1.Loss
	if req.GetPartialImages() > 0 && !streamed {
		list = append(list, &genwayv1.Loss{Member: "partial_images", Reason: "only a stream has previews"})
	}
	if req.GetInputFidelity() != "" {
		list = append(list, &genwayv1.Loss{Member: "input_fidelity", Reason: "the sandbox keeps nothing of an image but its name"})
	}
	if req.GetStyle() != "" {
		list = append(list, &genwayv1.Loss{Member: "style", Reason: "the sandbox has one style"})
	}
	if req.GetModeration() != "" {
		list = append(list, &genwayv1.Loss{Member: "moderation", Reason: "the sandbox screens nothing"})
	}
	for _, n := range req.GetNativeFields() {
		list = append(list, &genwayv1.Loss{Member: n.GetName(), Reason: "the sandbox has nothing that could act on it"})
	}
	return list
}

// A sketch is the picture that accompanies a text.
const (
	sketchEdge    = 256
	sketchQuality = "low"
)

func sketch(prompt string, seed uint64) (*genwayv1.Part, error) {
	c := &commission{format: drawing.PNG, compression: 100, spec: drawing.Spec{
		Prompt: prompt, Seed: seed, Width: sketchEdge, Height: sketchEdge, Quality: sketchQuality}}
	data, err := c.encode(context.Background(), c.draw(0)) // it is too small to be given up
	if err != nil {
		return nil, err
	}
	return &genwayv1.Part{Kind: &genwayv1.Part_Image{Image: &genwayv1.Media{
		MimeType: c.format.MediaType(), Source: &genwayv1.Media_Data{Data: data}}}}, nil
}

// StreamGenerateImage returns the images of GenerateImage as events, each as soon as it is
// drawn, with as many previews before it as partial_images asks for: the image itself in
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
