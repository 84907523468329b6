package drawing

import (
	"bufio"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"

	"github.com/HugoSmits86/nativewebp"
)

// Format is the file format of an image.
type Format string

// The formats there are encoders for, by the names the protocols use.
const (
	PNG  Format = "png"
	JPEG Format = "jpeg"
	WebP Format = "webp"
)

// ParseFormat reads the name of a format: png (also empty), jpeg (also jpg) or webp.
func ParseFormat(name string) (Format, error) {
	switch name {
	case "", "png":
		return PNG, nil
	case "jpeg", "jpg":
		return JPEG, nil
	case "webp":
		return WebP, nil
	}
	return "", fmt.Errorf("output format %.40q is not accepted: use png, jpeg or webp", name)
}

// MediaType is the media type of the format.
func (f Format) MediaType() string { return "image/" + string(f) }

// smallEffort is the compression from which lossless formats look for a smaller file.
const smallEffort = 50

// Encode writes img as f. JPEG takes the compression, 0 to 100, for its quality, and drops the
// alpha. PNG and WebP are lossless and keep every pixel and its alpha; for them, less than 50 asks for
// speed and the rest for a smaller file.
func Encode(w io.Writer, img *image.NRGBA, f Format, compression int) error {
	switch f {
	case PNG:
		e := png.Encoder{CompressionLevel: png.DefaultCompression}
		if compression < smallEffort {
			e.CompressionLevel = png.BestSpeed
		}
		return e.Encode(w, img)
	case JPEG:
		// The bytes of opaque pixels are the same in RGBA, which the encoder reads faster.
		same := &image.RGBA{Pix: img.Pix, Stride: img.Stride, Rect: img.Rect}
		return jpeg.Encode(w, same, &jpeg.Options{Quality: compression})
	case WebP:
		o := &nativewebp.Options{CompressionLevel: nativewebp.DefaultCompression}
		if compression < smallEffort {
			o.CompressionLevel = nativewebp.BestSpeed
		}
		// The encoder ignores errors of the writer: bufio keeps the first one.
		b := bufio.NewWriter(w)
		if err := nativewebp.Encode(b, img, o); err != nil {
			return err
		}
		return b.Flush()
	}
	return fmt.Errorf("no encoder for the format %.40q", string(f))
}
