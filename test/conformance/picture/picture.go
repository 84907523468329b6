// Package picture makes and measures images for the conformance tests: small ones to
// be shown to a model, and whatever the gateway draws.
package picture

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"testing"

	"golang.org/x/image/webp"
)

// PNG is a picture of the size in pixels.
func PNG(tb testing.TB, width, height int) []byte {
	tb.Helper()
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	for x := range width {
		for y := range height {
			img.Set(x, y, color.RGBA{R: uint8(40 * x), G: uint8(40 * y), B: 128, A: 255})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// DataURL is data as a data: URL.
func DataURL(mediaType string, data []byte) string {
	return "data:" + mediaType + ";base64," + base64.StdEncoding.EncodeToString(data)
}

// Described is how the sandbox describes a PNG that arrived whole.
func Described(data []byte, width, height int) string {
	return fmt.Sprintf("image: image/png, %d bytes, %dx%d pixels", len(data), width, height)
}

// Decode decodes all of a base64 image of a format (png, jpeg or webp).
func Decode(tb testing.TB, format, encoded string) image.Image {
	tb.Helper()
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		tb.Fatalf("image is not base64: %v", err)
	}
	var img image.Image
	switch format {
	case "png":
		img, err = png.Decode(bytes.NewReader(raw))
	case "jpeg":
		img, err = jpeg.Decode(bytes.NewReader(raw))
	case "webp":
		img, err = webp.Decode(bytes.NewReader(raw))
	default:
		tb.Fatalf("no decoder for %s", format)
	}
	if err != nil {
		tb.Fatalf("%d bytes are no %s: %v", len(raw), format, err)
	}
	return img
}

// Size is an image's size as the images protocol writes it: WIDTHxHEIGHT.
func Size(img image.Image) string {
	return fmt.Sprintf("%dx%d", img.Bounds().Dx(), img.Bounds().Dy())
}
