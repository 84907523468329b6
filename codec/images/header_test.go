package images_test

import (
	"bytes"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"testing"

	"github.com/genway/genway/codec/images"
)

// The headers of WebP are written by RFC 9649: lossy, lossless, and extended.
func TestReadHeader(t *testing.T) {
	picture := image.NewPaletted(image.Rect(0, 0, 300, 7), color.Palette{color.Black, color.White})
	files := map[string][]byte{}
	for format, encode := range map[string]func(*bytes.Buffer) error{
		"png":  func(to *bytes.Buffer) error { return png.Encode(to, picture) },
		"jpeg": func(to *bytes.Buffer) error { return jpeg.Encode(to, picture, nil) },
		"gif":  func(to *bytes.Buffer) error { return gif.Encode(to, picture, nil) },
	} {
		var out bytes.Buffer
		if err := encode(&out); err != nil {
			t.Fatal(err)
		}
		files[format] = out.Bytes()
	}
	for format, file := range files {
		if h := images.ReadHeader(file); h.Format != format || h.Size() != "300x7" {
			t.Errorf("%s: %+v", format, h)
		}
		for cut := range file {
			if h := images.ReadHeader(file[:cut]); h.Size() != "" && h.Size() != "300x7" {
				t.Errorf("%s, cut at %d: %+v", format, cut, h)
			}
		}
	}
	for want, file := range map[string]string{
		"webp 300x7":   "RIFF\x00\x00\x00\x00WEBPVP8 \x00\x00\x00\x00\x30\x01\x00\x9d\x01\x2a\x2c\x01\x07\x00",
		"webp 300x8":   "RIFF\x00\x00\x00\x00WEBPVP8L\x00\x00\x00\x00\x2f\x2b\xc1\x01\x00",
		"webp 301x9":   "RIFF\x00\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x10\x00\x00\x00\x2c\x01\x00\x08\x00\x00",
		"webp ":        "RIFF\x00\x00\x00\x00WEBPVP8?\x00\x00\x00\x00",
		"png ":         "\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\xff\xff\xff\xff\xff\xff\xff\xff",
		"jpeg 513x258": "\xff\xd8\xff\xff\xe0\x00\x02\xff\xc4\x00\x02\xff\xd0\xff\xc0\x00\x11\x08\x01\x02\x02\x01",
		"jpeg ":        "\xff\xd8\xff\xe0\x00\x00\xff\xe0\x00\x00",
		" ":            "not an image",
	} {
		if h := images.ReadHeader([]byte(file)); h.Format+" "+h.Size() != want {
			t.Errorf("%q: %+v, want %s", file, h, want)
		}
	}
}

func FuzzReadHeader(f *testing.F) {
	f.Add([]byte("\xff\xd8\xff\xe0\x00\x00\xff\xc0"))
	f.Add([]byte("RIFF\x00\x00\x00\x00WEBPVP8X"))
	f.Add([]byte("GIF89a"))
	f.Fuzz(func(t *testing.T, file []byte) {
		if h := images.ReadHeader(file); h.Width < 0 || h.Height < 0 {
			t.Errorf("%+v", h)
		}
	})
}
