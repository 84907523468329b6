package media

import (
	"bytes"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/webp"
)

// dimensions reads the pixels of an image from its header, and returns zeros where the
// header is broken, absurd or of a type that is not read here.
func dimensions(mediaType string, data []byte) (width, height int) {
	var config func(io.Reader) (image.Config, error)
	switch mediaType {
	case "image/png":
		config = png.DecodeConfig
	case "image/jpeg":
		config = jpeg.DecodeConfig
	case "image/gif":
		config = gif.DecodeConfig
	case "image/webp":
		config = webp.DecodeConfig
	default:
		return 0, 0
	}
	c, err := config(bytes.NewReader(data))
	if err != nil || c.Width <= 0 || c.Height <= 0 {
		return 0, 0
	}
	return c.Width, c.Height
}
