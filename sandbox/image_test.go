package sandbox

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/sandbox/media"
	"google.golang.org/protobuf/proto"
)

func TestImages(t *testing.T) {
	for name, c := range map[string]struct {
		req                             *genwayv1.GenerateImageRequest
		size, quality, format, backdrop string
		n                               int
		tokens                          int64
	}{
		"prompt only": {&genwayv1.GenerateImageRequest{}, "1024x1024", "medium", "png", "opaque", 1, 1056},
		"snapped":     {&genwayv1.GenerateImageRequest{Size: "100x65", Quality: "low"}, "96x64", "low", "png", "opaque", 1, 3},
		"several": {&genwayv1.GenerateImageRequest{Size: "128x128", Quality: "hd", OutputFormat: "jpeg", Count: new(int32(3)), OutputCompression: new(int32(0))},
			"128x128", "high", "jpeg", "opaque", 3, 3 * 72},
		"transparent": {&genwayv1.GenerateImageRequest{Size: "128x64", Quality: "auto", OutputFormat: "webp", Background: "transparent", ResponseFormat: "b64_json"},
			"128x64", "medium", "webp", "transparent", 1, 10},
	} {
		t.Run(name, func(t *testing.T) {
			c.req.Model, c.req.Prompt = "sandbox-image", "A red square"
			resp, err := newSandbox(t).GenerateImage(t.Context(), c.req)
			if err != nil {
				t.Fatal(err)
			}
			if resp.Size != c.size || resp.Quality != c.quality || resp.OutputFormat != c.format || resp.Background != c.backdrop ||
				!resp.CreateTime.AsTime().Equal(epoch) || len(resp.Images) != c.n {
				t.Errorf("%s %s %s %s, %d images at %v", resp.Size, resp.Quality, resp.OutputFormat, resp.Background, len(resp.Images), resp.CreateTime)
			}
			ids := map[string]bool{}
			for i, image := range resp.Images {
				info := media.Describe("", image.GetData())
				if info.Type != "image/"+c.format || sizeOf(info) != c.size || image.Size != c.size || image.Model != "sandbox-image" {
					t.Errorf("image %d: %v, stated %s", i, info, image.Size)
				}
				if i > 0 && bytes.Equal(image.GetData(), resp.Images[0].GetData()) {
					t.Errorf("image %d is the first one", i)
				}
				ids[image.GenerationId] = true
			}
			if len(ids) != c.n {
				t.Errorf("ids %v", ids)
			}
			u := resp.Usage
			if u.InputTokens != 3 || u.OutputTokens != c.tokens || u.TotalTokens != 3+c.tokens ||
				u.GetInputTextTokens() != 3 || u.GetOutputImageTokens() != c.tokens || u.InputImageTokens == nil || u.OutputTextTokens == nil {
				t.Errorf("usage %v", u)
			}
			again, err := newSandbox(t).GenerateImage(t.Context(), c.req)
			if err != nil || !proto.Equal(resp, again) {
				t.Errorf("the same request gave another answer: %v", err)
			}
		})
	}
}

func sizeOf(i media.Info) string {
	parts := bytes.Fields([]byte(i.String()))
	return string(parts[len(parts)-2])
}

func TestRefusedImages(t *testing.T) {
	for param, change := range map[string]func(*genwayv1.GenerateImageRequest){
		"model":              func(r *genwayv1.GenerateImageRequest) { r.Model = "sandbox-text" },
		"prompt":             func(r *genwayv1.GenerateImageRequest) { r.Prompt = "" },
		"count":              func(r *genwayv1.GenerateImageRequest) { r.Count = new(int32(11)) },
		"size":               func(r *genwayv1.GenerateImageRequest) { r.Size = "9000x10" },
		"quality":            func(r *genwayv1.GenerateImageRequest) { r.Quality = "ultra" },
		"background":         func(r *genwayv1.GenerateImageRequest) { r.Background, r.OutputFormat = "transparent", "jpeg" },
		"output_format":      func(r *genwayv1.GenerateImageRequest) { r.OutputFormat = "gif" },
		"output_compression": func(r *genwayv1.GenerateImageRequest) { r.OutputCompression = new(int32(101)) },
		"response_format":    func(r *genwayv1.GenerateImageRequest) { r.ResponseFormat = "url" },
	} {
		t.Run(param, func(t *testing.T) {
			req := &genwayv1.GenerateImageRequest{Model: "sandbox-image", Prompt: "A red square", Size: "64x64"}
			change(req)
			_, err := newSandbox(t).GenerateImage(t.Context(), req)
			refused(t, err, fault.InvalidRequest, param)
		})
	}
	req := &genwayv1.GenerateImageRequest{Model: "sandbox-image", Prompt: "A red square", Background: "plaid"}
	_, err := newSandbox(t).GenerateImage(t.Context(), req)
	refused(t, err, fault.InvalidRequest, "background")
}

func TestImagesOnDemand(t *testing.T) {
	draw := func(ctx context.Context, model string) error {
		_, err := newSandbox(t).GenerateImage(ctx, &genwayv1.GenerateImageRequest{Model: model, Prompt: "A red square", Size: "64x64", Style: "vivid"})
		return err
	}
	refused(t, draw(t.Context(), "nope"), fault.NotFound, "model")
	refused(t, draw(t.Context(), "sandbox-overload"), fault.Overloaded, "")
	refused(t, draw(t.Context(), "sandbox-cut"), fault.BadUpstream, "")
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	refused(t, draw(cancelled, "sandbox-image"), fault.Cancelled, "")
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if err := draw(t.Context(), "sandbox-slow-3s"); err != nil || time.Since(start) != 3*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

func TestSketch(t *testing.T) {
	resp := generate(t, ask("A red square", func(r *genwayv1.GenerateTextRequest) { r.Modalities = []string{"text", "image"} }))
	parts := resp.Candidates[0].Parts
	info := media.Describe("", parts[1].GetImage().GetData())
	if len(parts) != 2 || info.Type != "image/png" || info.Width != sketchEdge {
		t.Errorf("%v", info)
	}
	if u := resp.Usage; u.GetOutputImageTokens() == 0 || u.GetOutputTextTokens()+u.GetOutputImageTokens() != u.OutputTokens {
		t.Errorf("usage %v", u)
	}
}

// The picture of an edit follows from each image, the mask and the prompt, and all of them are counted.
func TestEdits(t *testing.T) {
	image := func(last string) *genwayv1.Media {
		return &genwayv1.Media{MimeType: "image/png", Source: &genwayv1.Media_Data{Data: []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x08\x00\x00\x00\x08\x08\x02\x00\x00\x00" + last)}}
	}
	edit := func(mask *genwayv1.Media, images ...*genwayv1.Media) *genwayv1.GenerateImageResponse {
		t.Helper()
		resp, err := newSandbox(t).GenerateImage(t.Context(), &genwayv1.GenerateImageRequest{Model: "sandbox-image", Prompt: "A red square", Size: "256x256", Images: images, Mask: mask, InputFidelity: "high"})
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	first := edit(image("x"), image("a"), image("b"))
	if u := first.GetUsage(); u.GetInputTextTokens() != 3 || u.GetInputImageTokens() != 3*85 || u.GetInputTokens() != 3+3*85 {
		t.Errorf("the usage is %v", u)
	}
	if len(first.GetLosses()) != 1 || first.GetLosses()[0].GetMember() != "input_fidelity" {
		t.Errorf("lost %v", first.GetLosses())
	}
	if again := edit(image("x"), image("a"), image("b")); !proto.Equal(first, again) {
		t.Error("the same edit has another picture")
	}
	for name, other := range map[string]*genwayv1.GenerateImageResponse{
		"another image": edit(image("x"), image("a"), image("c")), "another mask": edit(image("y"), image("a"), image("b")), "no mask": edit(nil, image("a"), image("b")),
		"fewer images": edit(image("x"), image("a")), "a reference": edit(image("x"), image("a"), &genwayv1.Media{Source: &genwayv1.Media_FileId{FileId: "f"}}),
	} {
		if bytes.Equal(other.GetImages()[0].GetData(), first.GetImages()[0].GetData()) {
			t.Errorf("%s: the same picture", name)
		}
	}
}
