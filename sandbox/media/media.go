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
	"fmt"
	"mime"
	"strconv"
	"strings"
	"time"
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
	// Duration, SampleRate (Hz) and Channels are those of a WAV file.
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

// canonical maps the other names in use to the ones sniff gives.
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
