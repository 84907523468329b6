package sandbox

import (
	"bytes"
	"testing"
	"testing/synctest"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/sandbox/media"
	"google.golang.org/protobuf/proto"
)

// streamImages returns the events of a stream and what ended it.
func streamImages(t *testing.T, req *genwayv1.GenerateImageRequest) ([]*genwayv1.StreamGenerateImageResponse, error) {
	t.Helper()
	var events []*genwayv1.StreamGenerateImageResponse
	err := newSandbox(t).StreamGenerateImage(t.Context(), req, func(ev *genwayv1.StreamGenerateImageResponse) error {
		events = append(events, ev)
		return nil
	})
	return events, err
}

// The images of a stream are the unary answer's, at the same cost; previews come
// before each, of its size and format, each another picture.
func TestStreamedImages(t *testing.T) {
	for _, previews := range []int32{0, 1, 3} {
		for _, format := range []string{"png", "jpeg", "webp"} {
			req := &genwayv1.GenerateImageRequest{Model: "sandbox-image", Prompt: "A red square", Size: "96x64", OutputFormat: format, Count: new(int32(2)), PartialImages: &previews}
			events, err := streamImages(t, req)
			if err != nil {
				t.Fatal(err)
			}
			whole, err := newSandbox(t).GenerateImage(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			var images []*genwayv1.GeneratedImage
			seen, shown, cost := map[string]bool{}, int32(0), int64(0)
			for i, ev := range events {
				switch p := ev.GetPayload().(type) {
				case *genwayv1.StreamGenerateImageResponse_Started:
					if i != 0 {
						t.Errorf("started is event %d", i)
					}
				case *genwayv1.StreamGenerateImageResponse_PartialImage:
					info := media.Describe("", p.PartialImage.GetData())
					if info.Type != "image/"+format || sizeOf(info) != "96x64" || int(p.PartialImage.GetImageIndex()) != len(images) || p.PartialImage.GetPartialIndex() != shown%previews {
						t.Errorf("preview %v of image %d: %v", p.PartialImage.GetPartialIndex(), p.PartialImage.GetImageIndex(), info)
					}
					shown++
					seen[string(p.PartialImage.GetData())] = true
				case *genwayv1.StreamGenerateImageResponse_Image:
					images = append(images, p.Image.GetImage())
					cost += p.Image.GetUsage().GetTotalTokens()
					seen[string(p.Image.GetImage().GetData())] = true
				case *genwayv1.StreamGenerateImageResponse_Completed:
					if i != len(events)-1 || p.Completed.GetCount() != 2 || !proto.Equal(p.Completed.GetUsage(), whole.GetUsage()) {
						t.Errorf("event %d of %d: %v, unary %v", i, len(events), p.Completed, whole.GetUsage())
					}
				}
			}
			if shown != 2*previews || len(seen) != int(2+2*previews) || cost != whole.GetUsage().GetTotalTokens() {
				t.Errorf("%d previews of %d, %d pictures, %d tokens of %d", shown, 2*previews, len(seen), cost, whole.GetUsage().GetTotalTokens())
			}
			for i, image := range images {
				if !bytes.Equal(image.GetData(), whole.GetImages()[i].GetData()) || image.GetSize() != whole.GetImages()[i].GetSize() {
					t.Errorf("image %d is another than the unary answer's", i)
				}
			}
		}
	}
}

func TestRefusedStreams(t *testing.T) {
	for _, n := range []int32{-1, 4, 1 << 30} {
		req := &genwayv1.GenerateImageRequest{Model: "sandbox-image", Prompt: "a", PartialImages: &n}
		if _, err := streamImages(t, req); fault.From(err) == nil || fault.From(err).Param != "partial_images" {
			t.Errorf("%d: %v", n, err)
		}
	}
	if _, err := streamImages(t, &genwayv1.GenerateImageRequest{Model: "sandbox-text", Prompt: "a"}); fault.From(err).Param != "model" {
		t.Errorf("%v", err)
	}
}

// What is demanded of a model by its name happens to streams of images too.
func TestStreamedImagesOnDemand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		req := &genwayv1.GenerateImageRequest{Prompt: "a", Size: "64x64", PartialImages: new(int32(2))}
		req.Model = "sandbox-rate-limit"
		if events, err := streamImages(t, req); fault.From(err).Kind != fault.RateLimited || len(events) != 0 {
			t.Errorf("%v, %v", events, err)
		}
		req.Model = "sandbox-cut"
		events, err := streamImages(t, req)
		if fault.From(err).Reason != fault.ReasonStreamCut || len(events) != 3 {
			t.Errorf("%d events, %v", len(events), err)
		}
		req.Model = "sandbox-slow-3s"
		events, err = streamImages(t, req)
		if err != nil || len(events) != 7 || events[1].GetPing() == nil || events[2].GetPing() == nil {
			t.Errorf("%d events, %v", len(events), err)
		}
	})
}
