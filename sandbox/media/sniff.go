package media

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

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

// textual reports whether a declared type can be that of a text; if so it is the more
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
