package openai_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"github.com/genway/genway/test/conformance/check"
	"github.com/genway/genway/test/conformance/picture"
	"github.com/openai/openai-go/v3"
)

func draw(t *testing.T, params openai.ImageGenerateParams) *openai.ImagesResponse {
	t.Helper()
	params.Model = imageModel
	c := client()
	answer, err := c.Images.Generate(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	check.Truef(t, answer.Created > 0, "created is absent")
	u := answer.Usage
	check.Truef(t, u.InputTokens > 0 && u.OutputTokens > 0, "no usage: %+v", u)
	check.Equal(t, "total_tokens", u.TotalTokens, u.InputTokens+u.OutputTokens)
	check.Equal(t, "input details", u.InputTokensDetails.TextTokens+u.InputTokensDetails.ImageTokens, u.InputTokens)
	return answer
}

// TestImagesFormats decodes all of each image and compares it with its stated size.
func TestImagesFormats(t *testing.T) {
	t.Parallel()
	for _, format := range []openai.ImageGenerateParamsOutputFormat{"png", "jpeg", "webp"} {
		t.Run(string(format), func(t *testing.T) {
			t.Parallel()
			answer := draw(t, openai.ImageGenerateParams{Prompt: "A red fox", Size: "256x256", OutputFormat: format, Quality: "low"})
			check.Equal(t, "output_format", string(answer.OutputFormat), string(format))
			check.Equal(t, "quality", string(answer.Quality), "low")
			check.Equal(t, "number of images", len(answer.Data), 1)
			size := picture.Size(picture.Decode(t, string(format), answer.Data[0].B64JSON))
			check.Equal(t, "size of the pixels", size, string(answer.Size))
			var stated struct{ Size string }
			if err := json.Unmarshal([]byte(answer.Data[0].RawJSON()), &stated); err != nil {
				t.Fatal(err)
			}
			check.Equal(t, "size of the item", stated.Size, size)
		})
	}
}

// TestImagesSizes: whatever is asked for, the returned size is the true one.
func TestImagesSizes(t *testing.T) {
	t.Parallel()
	for _, size := range []openai.ImageGenerateParamsSize{"512x512", "512x256", "257x130", "1536x1024", "auto", ""} {
		answer := draw(t, openai.ImageGenerateParams{Prompt: "A red fox", Size: size})
		check.Equal(t, "size of the pixels", picture.Size(picture.Decode(t, "png", answer.Data[0].B64JSON)), string(answer.Size))
		if size == "512x512" || size == "1536x1024" {
			check.Equal(t, "a size that needs no adjustment", string(answer.Size), string(size))
		}
	}
}

func TestImagesSeveral(t *testing.T) {
	t.Parallel()
	answer := draw(t, openai.ImageGenerateParams{Prompt: "A red fox", Size: "256x256", N: openai.Int(3), Background: "opaque"})
	check.Equal(t, "background", string(answer.Background), "opaque")
	seen := map[string]bool{}
	for _, item := range answer.Data {
		picture.Decode(t, "png", item.B64JSON)
		seen[item.B64JSON] = true
	}
	check.Equal(t, "number of different images", len(seen), 3)
}

func TestImagesTransparent(t *testing.T) {
	t.Parallel()
	answer := draw(t, openai.ImageGenerateParams{Prompt: "A red fox", Size: "256x256", Background: "transparent", OutputFormat: "png"})
	check.Equal(t, "background", string(answer.Background), "transparent")
	img := picture.Decode(t, "png", answer.Data[0].B64JSON)
	seeThrough := false
	for x := img.Bounds().Min.X; x < img.Bounds().Max.X && !seeThrough; x++ {
		for y := img.Bounds().Min.Y; y < img.Bounds().Max.Y && !seeThrough; y++ {
			_, _, _, alpha := img.At(x, y).RGBA()
			seeThrough = alpha < 0xffff
		}
	}
	check.Truef(t, seeThrough, "no pixel of a transparent image is transparent")
}

// TestImagesDeterminism: the same prompt is the same drawing, another one another.
func TestImagesDeterminism(t *testing.T) {
	t.Parallel()
	drawing := func(prompt string) string {
		return draw(t, openai.ImageGenerateParams{Prompt: prompt, Size: "256x256"}).Data[0].B64JSON
	}
	fox := drawing("A red fox")
	check.Truef(t, fox == drawing("A red fox"), "one prompt gave two drawings")
	check.Truef(t, fox != drawing("A blue whale"), "two prompts gave one drawing")
}

func TestImagesRefused(t *testing.T) {
	t.Parallel()
	for name, params := range map[string]openai.ImageGenerateParams{
		"size":            {Prompt: "A fox", Size: "large"},
		"n":               {Prompt: "A fox", N: openai.Int(0)},
		"n too large":     {Prompt: "A fox", N: openai.Int(1000)},
		"output_format":   {Prompt: "A fox", OutputFormat: "tiff"},
		"quality":         {Prompt: "A fox", Quality: "splendid"},
		"background":      {Prompt: "A fox", Background: "plaid"},
		"response_format": {Prompt: "A fox", ResponseFormat: openai.ImageGenerateParamsResponseFormatURL},
		"prompt":          {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			params.Model = imageModel
			c := client()
			_, err := c.Images.Generate(t.Context(), params)
			refused(t, err, 400, "invalid_request_error", "")
		})
	}
}

// TestImagesStreamed: the previews that are asked for come before each image, and the
// images are those of the unary answer, at the same cost.
func TestImagesStreamed(t *testing.T) {
	t.Parallel()
	for _, previews := range []int64{0, 1, 3} {
		params := openai.ImageGenerateParams{Prompt: "A red fox", Size: "256x192", Quality: "low", N: openai.Int(2), PartialImages: openai.Int(previews), Model: imageModel}
		c := client()
		stream := c.Images.GenerateStreaming(t.Context(), params)
		var images []string
		shown, cost := int64(0), int64(0)
		for stream.Next() {
			switch event := stream.Current().AsAny().(type) {
			case openai.ImageGenPartialImageEvent:
				check.Equal(t, "partial_image_index", event.PartialImageIndex, shown%previews)
				check.Equal(t, "size of the preview", picture.Size(picture.Decode(t, "png", event.B64JSON)), "256x192")
				check.Truef(t, event.CreatedAt > 0, "created_at is absent")
				shown++
			case openai.ImageGenCompletedEvent:
				check.Equal(t, "size of the image", picture.Size(picture.Decode(t, "png", event.B64JSON)), string(event.Size))
				check.Equal(t, "quality", string(event.Quality), "low")
				images = append(images, event.B64JSON)
				cost += event.Usage.TotalTokens
			default:
				t.Errorf("an event of type %q", stream.Current().Type)
			}
		}
		if err := stream.Err(); err != nil {
			t.Fatal(err)
		}
		check.Equal(t, "number of previews", shown, 2*previews)
		params.PartialImages = openai.Int(0)
		unary := draw(t, params)
		check.Equal(t, "number of images", len(images), len(unary.Data))
		for i, item := range unary.Data {
			check.Truef(t, images[i] == item.B64JSON, "image %d is another than that of the unary answer", i)
		}
		check.Equal(t, "cost", cost, unary.Usage.TotalTokens)
	}
}

// TestImagesStreamFails: a failure within the stream is an error of the SDK, and so is one
// before it.
func TestImagesStreamFails(t *testing.T) {
	t.Parallel()
	for model, early := range map[string]bool{"sandbox-mid-error": false, "sandbox-cut": false, "sandbox-rate-limit": true} {
		c := client()
		stream := c.Images.GenerateStreaming(t.Context(), openai.ImageGenerateParams{Prompt: "A red fox", Size: "64x64", PartialImages: openai.Int(3), Model: model})
		events := 0
		for stream.Next() {
			check.Truef(t, stream.Current().Type != "image_generation.completed", "%s: an image", model)
			events++
		}
		check.Truef(t, stream.Err() != nil && early == (events == 0), "%s: %d events, %v", model, events, stream.Err())
	}
	c := client()
	stream := c.Images.GenerateStreaming(t.Context(), openai.ImageGenerateParams{Prompt: "A red fox", PartialImages: openai.Int(4), Model: imageModel})
	check.Truef(t, !stream.Next(), "four previews are drawn")
	var refused *openai.Error
	check.Truef(t, errors.As(stream.Err(), &refused) && refused.StatusCode == http.StatusBadRequest && refused.Param == "partial_images", "%v", stream.Err())
}
