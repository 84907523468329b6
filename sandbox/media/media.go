// Package media says what a piece of media is: its type, its size and the one measure
// that shows it was really looked at (pixels, seconds, pages, lines). The sandbox
// repeats this to the caller, who can then see that an image or a file arrived whole.
//
// Only headers are read: no image is decoded, nothing is decompressed, and the work
// is linear in the data with a small constant. Any bytes may be given; garbage is
// described as such and never an error.
//
// The package knows bytes only: it must not import gen, codec, gateway or net/http.
package media

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"math/bits"
	"mime"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/image/webp"
)

// Info is what is known of a piece of media. A zero measure means that it does not
// apply or that the header does not have it.
type Info struct {
	// Type is the media type the bytes show, without parameters; the declared type
	// where the bytes show none; application/octet-stream where neither does.
	Type string
	// Declared is the caller's media type, lower-case and without parameters, or empty
	// where it is absent or no media type.
	Declared string
	// Bytes is the length of the data.
	Bytes int
	// Width and Height are an image's pixels: both known, or both zero.
	Width, Height int
	// Duration, SampleRate (Hz) and Channels describe a WAV file.
	Duration   time.Duration
	SampleRate int
	Channels   int
	// Pages is an estimate for a PDF: its page objects that are not compressed.
	Pages int
	// Lines is the number of lines of a text; a last line needs no newline.
	Lines int
}

// Describe looks at data, which the caller declared to be of mediaType (may be empty
// or wrong: the bytes decide wherever they are recognised).
func Describe(mediaType string, data []byte) Info {
	info := Info{Declared: normal(mediaType), Bytes: len(data)}
	info.Type = sniff(data)
	switch {
	case info.Type == "text/plain":
		info.Lines = lines(data)
		if textual(info.Declared) {
			info.Type = info.Declared
		}
	case info.Type == "audio/wav":
		info.Duration, info.SampleRate, info.Channels = wav(data)
	case info.Type == "application/pdf":
		info.Pages = pages(data)
	case strings.HasPrefix(info.Type, "image/"):
		info.Width, info.Height = dimensions(info.Type, data)
	case info.Type == "" && info.Declared != "":
		info.Type = info.Declared
	case info.Type == "":
		info.Type = "application/octet-stream"
	}
	return info
}

// String returns one line without a newline, such as
//
//	image/png, 68 bytes, 1x1 pixels
//	image/png (declared image/jpeg), 68 bytes, 1x1 pixels
//	audio/wav, 32044 bytes, 1.000 s at 16000 Hz, 1 channel
//	application/pdf, 911 bytes, 2 pages
//	text/csv, 30 bytes, 3 lines
//	application/octet-stream, 5 bytes
//
// The declared type is named where it contradicts the bytes. Equal infos give equal
// lines.
func (i Info) String() string {
	var b strings.Builder
	b.WriteString(i.Type)
	if i.Declared != "" && canonical(i.Declared) != i.Type {
		fmt.Fprintf(&b, " (declared %s)", i.Declared)
	}
	b.WriteString(", " + count(i.Bytes, "byte"))
	if i.Width > 0 {
		fmt.Fprintf(&b, ", %dx%d pixels", i.Width, i.Height)
	}
	if i.SampleRate > 0 {
		fmt.Fprintf(&b, ", %d.%03d s at %d Hz, %s", i.Duration/time.Second,
			i.Duration%time.Second/time.Millisecond, i.SampleRate, count(i.Channels, "channel"))
	}
	if i.Pages > 0 {
		b.WriteString(", " + count(i.Pages, "page"))
	}
	if i.Lines > 0 {
		b.WriteString(", " + count(i.Lines, "line"))
	}
	return b.String()
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// longestType bounds a declared type; the longest registered one has 84 characters.
const longestType = 127

// normal returns a declared media type without its parameters, or nothing where it
// is no media type that could be shown to a reader.
func normal(mediaType string) string {
	if len(mediaType) > 4*longestType {
		return ""
	}
	t, _, err := mime.ParseMediaType(mediaType)
	if err != nil || len(t) > longestType || !strings.Contains(t, "/") {
		return ""
	}
	return t
}

// canonical maps the other names in use to the ones sniff returns.
func canonical(t string) string {
	switch t {
	case "image/jpg", "image/pjpeg":
		return "image/jpeg"
	case "audio/x-wav", "audio/wave", "audio/vnd.wave":
		return "audio/wav"
	case "audio/mp3", "audio/x-mp3":
		return "audio/mpeg"
	case "audio/x-flac":
		return "audio/flac"
	case "application/ogg", "video/ogg":
		return "audio/ogg"
	case "audio/m4a", "audio/x-m4a":
		return "audio/mp4"
	case "application/x-pdf":
		return "application/pdf"
	}
	return t
}

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

// pages estimates the pages of a PDF by counting the objects of type Page that are
// written in plain (ISO 32000-1, 7.7.3.3). Where there are none, since object streams
// compress them, it takes the largest /Count of a page tree in plain. Nothing is
// parsed or decompressed, so a count of an object that is no longer in use is
// included and a fully compressed file has none.
func pages(data []byte) int {
	if n := pageObjects(data); n > 0 {
		return n
	}
	return largestCount(data)
}

func pageObjects(data []byte) int {
	n := 0
	for {
		_, rest, found := bytes.Cut(data, []byte("/Type"))
		if !found {
			return n
		}
		data = rest
		name, ok := bytes.CutPrefix(bytes.TrimLeft(rest[:min(len(rest), 64)], pdfSpace), []byte("/Page"))
		if ok && (len(name) == 0 || !regular(name[0])) {
			n++
		}
	}
}

// maxPages is more than any real document has; larger counts are not believed.
const maxPages = 1_000_000

func largestCount(data []byte) int {
	largest := 0
	for {
		_, rest, found := bytes.Cut(data, []byte("/Count"))
		if !found {
			return largest
		}
		data = rest
		n := 0
		for _, c := range bytes.TrimLeft(rest[:min(len(rest), 64)], pdfSpace) {
			if c < '0' || c > '9' || n > maxPages {
				break
			}
			n = n*10 + int(c-'0')
		}
		if n <= maxPages {
			largest = max(largest, n)
		}
	}
}

const pdfSpace = "\x00\t\n\f\r "

// regular reports whether c continues a PDF name (ISO 32000-1, 7.2.2).
func regular(c byte) bool {
	return !strings.ContainsRune(pdfSpace+"()<>[]{}/%", rune(c))
}

// maxChunks bounds the walk over a file made of empty chunks.
const maxChunks = 1024

// wav reads the format and the length of a RIFF WAVE file. A data chunk that claims
// more than the file holds (a stream whose length was not known when its header was
// written) lasts as long as the bytes that are there.
func wav(data []byte) (d time.Duration, rate, channels int) {
	const header, chunkHeader, format = 12, 8, 16
	var bytesPerSecond, audio uint64
	rest := data[min(header, len(data)):]
	for range maxChunks {
		if len(rest) < chunkHeader {
			break
		}
		id, size := string(rest[:4]), uint64(binary.LittleEndian.Uint32(rest[4:]))
		rest = rest[chunkHeader:]
		body := rest[:min(size, uint64(len(rest)))]
		if id == "fmt " && len(body) >= format {
			channels = int(binary.LittleEndian.Uint16(body[2:]))
			rate = int(binary.LittleEndian.Uint32(body[4:]))
			bytesPerSecond = uint64(binary.LittleEndian.Uint32(body[8:]))
		}
		if id == "data" {
			audio = uint64(len(body))
			break
		}
		// Chunks begin at even offsets.
		rest = rest[min(size+size%2, uint64(len(rest))):]
	}
	if bytesPerSecond == 0 || rate == 0 || channels == 0 {
		return 0, 0, 0
	}
	seconds, remainder := audio/bytesPerSecond, audio%bytesPerSecond
	high, low := bits.Mul64(remainder, uint64(time.Second))
	nanos, _ := bits.Div64(high, low, bytesPerSecond)
	return time.Duration(seconds)*time.Second + time.Duration(nanos), rate, channels
}

// signatures are the first bytes of each type, as the WHATWG MIME Sniffing standard
// and the formats' own documents give them.
var signatures = []struct {
	prefix, mediaType string
}{
	{"\x89PNG\r\n\x1a\n", "image/png"},
	{"\xff\xd8\xff", "image/jpeg"},
	{"GIF87a", "image/gif"},
	{"GIF89a", "image/gif"},
	{"II*\x00", "image/tiff"},
	{"MM\x00*", "image/tiff"},
	{"ID3", "audio/mpeg"},
	{"fLaC", "audio/flac"},
	{"OggS\x00", "audio/ogg"},
	{"\x1aE\xdf\xa3", "video/webm"},
	{"PK\x03\x04", "application/zip"},
	{"\x1f\x8b\x08", "application/gzip"},
}

// brands are the major brands of ISO base media files (bytes 8 to 12, after "ftyp").
var brands = map[string]string{
	"avif": "image/avif", "avis": "image/avif",
	"heic": "image/heic", "heix": "image/heic", "mif1": "image/heif",
	"M4A ": "audio/mp4", "qt  ": "video/quicktime",
}

// pdfHeaderWithin is how far from the start readers accept the header of a PDF.
const pdfHeaderWithin = 1024

// sniff returns the type the bytes show, text/plain for any other valid UTF-8 text,
// or nothing.
func sniff(data []byte) string {
	for _, s := range signatures {
		if bytes.HasPrefix(data, []byte(s.prefix)) {
			return s.mediaType
		}
	}
	if len(data) >= 12 {
		switch form := string(data[8:12]); string(data[:4]) {
		case "RIFF":
			switch form {
			case "WEBP":
				return "image/webp"
			case "WAVE":
				return "audio/wav"
			}
		default:
			if string(data[4:8]) == "ftyp" {
				if t, ok := brands[form]; ok {
					return t
				}
				return "video/mp4"
			}
		}
	}
	if bytes.Contains(data[:min(len(data), pdfHeaderWithin)], []byte("%PDF-")) {
		return "application/pdf"
	}
	if mpegAudio(data) {
		return "audio/mpeg"
	}
	if isText(data) {
		return "text/plain"
	}
	return ""
}

// mpegAudio reports whether data begins with the header of an MPEG audio frame whose
// fields all have allowed values (ISO 11172-3, 2.4.1.3).
func mpegAudio(data []byte) bool {
	if len(data) < 4 || data[0] != 0xff || data[1]&0xe0 != 0xe0 {
		return false
	}
	version, layer := data[1]>>3&3, data[1]>>1&3
	bitrate, rate := data[2]>>4, data[2]>>2&3
	return version != 1 && layer != 0 && bitrate != 0 && bitrate != 15 && rate != 3
}

// isText reports whether data is a non-empty text: valid UTF-8 without control
// characters other than the ones of lines, tabs and terminal colours.
func isText(data []byte) bool {
	if len(data) == 0 || !utf8.Valid(data) {
		return false
	}
	return !bytes.ContainsFunc(data, func(r rune) bool {
		return r < ' ' && !strings.ContainsRune("\t\n\f\r\x1b", r)
	})
}

// textual reports whether a declared type can be a text's; if so it is the more
// precise name for one.
func textual(t string) bool {
	for _, suffix := range []string{"+json", "+xml", "/json", "/xml", "/javascript", "/yaml",
		"/x-yaml", "/toml", "/sql", "/x-sh", "/x-ndjson", "/jsonl", "/rtf"} {
		if strings.HasSuffix(t, suffix) {
			return true
		}
	}
	return strings.HasPrefix(t, "text/")
}

func lines(data []byte) int {
	n := bytes.Count(data, []byte{'\n'})
	if len(data) > 0 && data[len(data)-1] != '\n' {
		n++
	}
	return n
}
