package images

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// Header is what the first bytes of an image say of it.
type Header struct {
	// Format is png, jpeg, webp or gif; empty for another.
	Format string
	// Width and Height are in pixels; 0 where they are not found.
	Width, Height int
}

// Recognized reports whether ReadHeader knows the format, which is a MIME type's second part.
func Recognized(format string) bool {
	switch format {
	case "png", "jpeg", "jpg", "webp", "gif":
		return true
	}
	return false
}

// Size is <width>x<height>; empty where it is not known.
func (h Header) Size() string {
	if h.Width == 0 || h.Height == 0 {
		return ""
	}
	return fmt.Sprintf("%dx%d", h.Width, h.Height)
}

// ReadHeader reads the header of a PNG (RFC 2083), a JPEG (ITU T.81), a WebP (RFC 9649) or a GIF. It decodes nothing of the
// picture and takes any bytes.
func ReadHeader(data []byte) Header {
	switch {
	case bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")):
		h := Header{Format: "png"}
		if len(data) >= 24 && string(data[12:16]) == "IHDR" {
			h.Width, h.Height = pixels(uint64(binary.BigEndian.Uint32(data[16:]))), pixels(uint64(binary.BigEndian.Uint32(data[20:])))
		}
		return h
	case bytes.HasPrefix(data, []byte("\xff\xd8\xff")):
		return jpegHeader(data)
	case bytes.HasPrefix(data, []byte("GIF8")) && len(data) >= 10:
		return Header{"gif", int(binary.LittleEndian.Uint16(data[6:])), int(binary.LittleEndian.Uint16(data[8:]))}
	case len(data) >= 16 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP":
		return webpHeader(data)
	}
	return Header{}
}

// pixels is a length that may be absurd: 0 then.
func pixels(n uint64) int {
	if n > 1<<24 {
		return 0
	}
	return int(n)
}

// jpegHeader walks the segments to the one that begins a frame (SOF).
func jpegHeader(data []byte) Header {
	h := Header{Format: "jpeg"}
	for i := 2; i+9 <= len(data) && data[i] == 0xff; {
		marker := data[i+1]
		switch {
		case marker == 0xff: // fill
			i++
			continue
		case marker == 0x01 || marker >= 0xd0 && marker <= 0xd7: // without a length
			i += 2
			continue
		case marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc:
			h.Height, h.Width = int(binary.BigEndian.Uint16(data[i+5:])), int(binary.BigEndian.Uint16(data[i+7:]))
			return h
		}
		i += 2 + int(binary.BigEndian.Uint16(data[i+2:]))
	}
	return h
}

func webpHeader(data []byte) Header {
	h := Header{Format: "webp"}
	little24 := func(at int) int { return int(data[at]) | int(data[at+1])<<8 | int(data[at+2])<<16 }
	switch kind := string(data[12:16]); {
	case kind == "VP8X" && len(data) >= 30:
		h.Width, h.Height = little24(24)+1, little24(27)+1
	case kind == "VP8 " && len(data) >= 30 && string(data[23:26]) == "\x9d\x01\x2a":
		h.Width, h.Height = int(binary.LittleEndian.Uint16(data[26:]))&0x3fff, int(binary.LittleEndian.Uint16(data[28:]))&0x3fff
	case kind == "VP8L" && len(data) >= 25 && data[20] == 0x2f:
		bits := binary.LittleEndian.Uint32(data[21:])
		h.Width, h.Height = int(bits&0x3fff)+1, int(bits>>14&0x3fff)+1
	}
	return h
}
