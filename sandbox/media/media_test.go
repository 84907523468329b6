package media

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strconv"
	"strings"
	"testing"

	"github.com/HugoSmits86/nativewebp"
)

func encoded(t testing.TB, format string, w, h int) []byte {
	t.Helper()
	img := image.NewPaletted(image.Rect(0, 0, w, h), color.Palette{color.Black, color.White})
	var b bytes.Buffer
	var err error
	switch format {
	case "png":
		err = png.Encode(&b, img)
	case "jpeg":
		err = jpeg.Encode(&b, img, nil)
	case "gif":
		err = gif.Encode(&b, img, nil)
	case "webp":
		err = nativewebp.Encode(&b, img, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// wave builds a WAV file of 16-bit samples with a list chunk of odd length before the
// data, whose header claims the given size.
func wave(rate, channels, frames int, claimed uint32) []byte {
	b := []byte("RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00")
	b = binary.LittleEndian.AppendUint16(b, uint16(channels))
	b = binary.LittleEndian.AppendUint32(b, uint32(rate))
	b = binary.LittleEndian.AppendUint32(b, uint32(rate*channels*2))
	b = binary.LittleEndian.AppendUint16(b, uint16(channels*2))
	b = binary.LittleEndian.AppendUint16(b, 16)
	b = append(b, "LIST\x03\x00\x00\x00abc\x00data"...)
	b = binary.LittleEndian.AppendUint32(b, claimed)
	return append(b, make([]byte, frames*channels*2)...)
}

// pixel is a PNG of one pixel as clients embed it in tests.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func TestDescribe(t *testing.T) {
	one, err := base64.StdEncoding.DecodeString(pixel)
	if err != nil {
		t.Fatal(err)
	}
	pdf := "%PDF-1.4\n1 0 obj <</Type /Pages /Count 2>> 2 0 obj <</Type/Page>> 3 0 obj <</Type\n/Page/X 1>>"
	for _, c := range []struct {
		name, declared string
		data           []byte
		want           string
	}{
		{"one pixel", "image/png", one, "image/png, 70 bytes, 1x1 pixels"},
		{"declared wrongly", "image/jpeg", one, "image/png (declared image/jpeg), 70 bytes, 1x1 pixels"},
		{"declared with parameters", "IMAGE/PNG; x=1", one, "image/png, 70 bytes, 1x1 pixels"},
		{"truncated header", "image/png", one[:20], "image/png, 20 bytes"},
		{"jpeg by another name", "image/jpg", encoded(t, "jpeg", 30, 20), "image/jpeg, N bytes, 30x20 pixels"},
		{"gif", "", encoded(t, "gif", 7, 9), "image/gif, N bytes, 7x9 pixels"},
		{"webp", "image/webp", encoded(t, "webp", 300, 11), "image/webp, N bytes, 300x11 pixels"},
		{"wav", "audio/x-wav", wave(16000, 1, 24000, 48000), "audio/wav, 48056 bytes, 1.500 s at 16000 Hz, 1 channel"},
		{"wav of unknown length", "audio/wav", wave(8000, 2, 2000, 0xffffffff), "audio/wav, 8056 bytes, 0.250 s at 8000 Hz, 2 channels"},
		{"wav without format", "audio/wav", []byte("RIFF....WAVEdata\xff\xff\xff\xff"), "audio/wav, 20 bytes"},
		{"mp3", "audio/mp3", []byte("\xff\xfb\x90\x64frame"), "audio/mpeg, 9 bytes"},
		{"mp3 with a tag", "", []byte("ID3\x04"), "audio/mpeg, 4 bytes"},
		{"pdf", "application/pdf", []byte(pdf), "application/pdf, 93 bytes, 2 pages"},
		{"pdf of compressed pages", "", []byte("%PDF-1.5 /Type /Pages /Count 12 /Count 99999999999999999999"), "application/pdf, 59 bytes, 12 pages"},
		{"text", "", []byte("a\nb"), "text/plain, 3 bytes, 2 lines"},
		{"csv", "text/csv; charset=utf-8", []byte("a,b\n1,2\n"), "text/csv, 8 bytes, 2 lines"},
		{"json", "application/json", []byte("{}"), "application/json, 2 bytes, 1 line"},
		{"text declared as an image", "image/png", []byte("hello"), "text/plain (declared image/png), 5 bytes, 1 line"},
		{"unknown bytes", "", []byte("\x00\x01\x02"), "application/octet-stream, 3 bytes"},
		{"unknown bytes, declared", "audio/pcm;rate=16000", []byte("\x00\x01\x02"), "audio/pcm, 3 bytes"},
		{"nothing", "", nil, "application/octet-stream, 0 bytes"},
		{"no media type", "a\nb", []byte{0}, "application/octet-stream, 1 byte"},
		{"endless media type", "text/" + strings.Repeat("x", 1<<20), []byte("x"), "text/plain, 1 byte, 1 line"},
		{"heic", "", []byte("\x00\x00\x00\x18ftypheic\x00"), "image/heic, 13 bytes"},
		{"mp4", "video/mp4", []byte("\x00\x00\x00\x18ftypisom\x00"), "video/mp4, 13 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := strings.Replace(c.want, "N bytes", strconv.Itoa(len(c.data))+" bytes", 1)
			if got := Describe(c.declared, c.data).String(); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

// TestHugeClaims sniffs headers that claim far more than there is.
func TestHugeClaims(t *testing.T) {
	huge := encoded(t, "png", 1, 1)
	binary.BigEndian.PutUint32(huge[16:], 0x7fffffff)
	binary.BigEndian.PutUint32(huge[20:], 0x7fffffff)
	empty := []byte("RIFF....WAVE" + strings.Repeat("junk\x00\x00\x00\x00", 1<<17))
	for name, data := range map[string][]byte{"png": huge, "wav": empty} {
		allocated := testing.AllocsPerRun(1, func() { Describe("", data) })
		if allocated > 100 {
			t.Errorf("%s: %v allocations", name, allocated)
		}
	}
}

func FuzzDescribe(f *testing.F) {
	for _, format := range []string{"png", "jpeg", "gif", "webp"} {
		f.Add("image/"+format, encoded(f, format, 3, 2))
	}
	f.Add("audio/wav", wave(8000, 1, 10, 20))
	f.Add("application/pdf", []byte("%PDF-1.4 /Type /Page /Count 3"))
	f.Add("text/plain; charset=utf-8", []byte("a\nb\n"))
	f.Fuzz(func(t *testing.T, declared string, data []byte) {
		i := Describe(declared, data)
		if i.Bytes != len(data) || i.Type == "" || i.Width < 0 || (i.Width == 0) != (i.Height == 0) || i.Duration < 0 {
			t.Fatalf("%+v", i)
		}
		s := i.String()
		if strings.ContainsAny(s, "\n\r\x00") || len(s) > 400 {
			t.Fatalf("line %q", s)
		}
		if again := Describe(declared, data).String(); again != s {
			t.Fatalf("%q, then %q", s, again)
		}
	})
}

func BenchmarkDescribe(b *testing.B) {
	data := encoded(b, "png", 1024, 1024)
	b.ReportAllocs()
	for b.Loop() {
		Describe("image/png", data)
	}
}
