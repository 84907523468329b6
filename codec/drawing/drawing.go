// Package drawing translates requests for images to requests of text, for upstreams whose models draw in the answers of
// text (codec.Drawer), and these answers to images. Each request of text draws one image.
//
// Like the codecs it is pure, and it knows no protocol.
package drawing

import (
	"strconv"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/images"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// MaxImages is the largest number of images of one request, each of which is a call of the upstream (openai-go:
// ImageGenerateParams.N).
const MaxImages = 10

// Request returns the request of text for each image of a request, without the model's own previews unless it is streamed. The
// losses are named as in req. Each result is a request of its own, which may be used beside the others: only bytes are shared.
func Request(d codec.Drawer, req *genwayv1.GenerateImageRequest, stream bool, losses *codec.Losses) (*genwayv1.GenerateTextRequest, error) {
	if n := req.GetCount(); n > MaxImages {
		return nil, fault.Invalid("count", "count: expected at most %d images of an upstream that draws them one by one, got %d", MaxImages, n)
	}
	if req.GetPartialImages() > 0 && !stream {
		losses.Add("partial_images", "only a stream has previews")
		req = codec.Shared(req)
		req.PartialImages = nil
	}
	parts := []*genwayv1.Part{codec.TextPart(req.GetPrompt())}
	for _, image := range req.GetImages() {
		image = codec.Shared(image)
		image.Filename = "" // which is the form's
		parts = append(parts, &genwayv1.Part{Kind: &genwayv1.Part_Image{Image: image}})
	}
	var native []*genwayv1.NativeField
	for _, f := range req.GetNativeFields() {
		native = append(native, codec.Shared(f))
	}
	text := &genwayv1.GenerateTextRequest{
		Model: req.GetModel(), Messages: []*genwayv1.Message{{Role: genwayv1.Role_ROLE_USER, Parts: parts}},
		NativeFields: native, ExtraJson: req.GetExtraJson(),
	}
	return text, d.AskToDraw(text, req, losses)
}

// Member returns the path in a request for images of a path in its request of text, as errors and losses name it.
func Member(path string) string {
	if tool, ok := strings.CutPrefix(path, "tools[0]."); ok {
		return tool
	}
	rest, ok := strings.CutPrefix(path, "messages[0]")
	if !ok {
		return path
	}
	number, below, _ := strings.Cut(strings.TrimPrefix(rest, ".parts["), "]")
	if part, err := strconv.Atoi(number); err == nil && part > 0 {
		return "images[" + strconv.Itoa(part-1) + "]" + strings.TrimPrefix(below, ".image")
	}
	return "prompt"
}

// Image returns the image of a part of an answer; nil for any other part. model is the one that was asked for, and answered
// the one that answers. The error is a fault of the upstream: its bytes are no image of the type that it says.
func Image(d codec.Drawer, p *genwayv1.Part, model, answered string, now *timestamppb.Timestamp) (*genwayv1.FinishedImage, error) {
	media, said := p.GetImage(), d.Drawing(p.GetNativeFields())
	if media == nil || said.Draft {
		return nil, nil
	}
	image := &genwayv1.GeneratedImage{GenerationId: p.GetId(), RevisedPrompt: said.RevisedPrompt}
	if answered != model {
		image.Model = answered
	}
	format, isImage := strings.CutPrefix(media.GetMimeType(), "image/")
	switch {
	case len(media.GetData()) > 0:
		header := images.ReadHeader(media.GetData())
		image.Source, image.Size = &genwayv1.GeneratedImage_Data{Data: media.GetData()}, header.Size()
		switch {
		case header.Format != "":
			format = header.Format
		case !isImage, format == "", images.Recognized(format):
			return nil, fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer, "the bytes of the upstream's image are not of the type that it says")
		}
	case media.GetUrl() != "":
		image.Source = &genwayv1.GeneratedImage_Url{Url: media.GetUrl()}
	default:
		return nil, nil
	}
	return &genwayv1.FinishedImage{Image: image, Background: said.Background, OutputFormat: format, Quality: said.Quality, CreateTime: now}, nil
}

// Preview returns the preview of an image, which is the one of that index.
func Preview(d codec.Drawer, p *genwayv1.ImagePreview, index int32) *genwayv1.PartialImage {
	said, header := d.Drawing(p.GetNativeFields()), images.ReadHeader(p.GetData())
	return &genwayv1.PartialImage{
		ImageIndex: index, PartialIndex: p.GetPartialIndex(), Data: p.GetData(),
		Background: said.Background, OutputFormat: header.Format, Quality: said.Quality, Size: header.Size(),
	}
}

// Missing is the fault of an answer without an image: the request's, where the model or a filter refused it.
func Missing(resp *genwayv1.GenerateTextResponse) error {
	f := fault.New(fault.Unprocessable, fault.ReasonNoImage, "the model answered without an image")
	f.Usage = resp.GetUsage()
	blocked := resp.GetPromptFeedback() != nil
	for _, c := range resp.GetCandidates() {
		f.NativeType = c.GetNativeStopReason()
		switch c.GetStopReason() { //nolint:exhaustive // all others are none of a refusal
		case genwayv1.StopReason_STOP_REASON_CONTENT_FILTER, genwayv1.StopReason_STOP_REASON_REFUSAL:
			blocked = true
		}
		for _, p := range c.GetParts() {
			blocked = blocked || p.GetRefusal() != nil
		}
	}
	if word := resp.GetPromptFeedback().GetBlockReason(); word != "" {
		f.NativeType = word
	}
	if blocked {
		f.Kind, f.Reason, f.Message = fault.InvalidRequest, fault.ReasonImageBlocked, "the request was refused by the model or by a filter of the upstream"
	}
	return f
}

// Said reports whether an answer has text beside its images, for which a caller of images has no place.
func Said(resp *genwayv1.GenerateTextResponse) bool {
	for _, c := range resp.GetCandidates() {
		for _, p := range c.GetParts() {
			if strings.TrimSpace(p.GetText().GetText()) != "" {
				return true
			}
		}
	}
	return false
}
