package google

import (
	"strings"
	"unicode/utf8"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Characters turns a range of bytes into one of characters; nothing for a range
// the text does not have.
func Characters(text string, start, end int) (*int32, *int32) {
	if start < 0 || end < start || end > len(text) || end == 0 {
		return nil, nil
	}
	from := int32(utf8.RuneCountInString(text[:start]))
	to := from + int32(utf8.RuneCountInString(text[start:end]))
	return &from, &to
}

// Bytes turns a range of characters into one of bytes.
func Bytes(text string, start, end int32) (from, to int) {
	from, to = len(text), len(text)
	n := int32(0)
	for i := range text {
		if n == start {
			from = i
		}
		if n == end {
			to = i
		}
		n++
	}
	return min(from, to), to
}

// Continues reports whether a part is more of the sound of the one before it. The vendor's models
// of speech send it in pieces, each a part of its own. Only samples without a container
// can be joined.
func Continues(last, p *genwayv1.Part) bool {
	a, b := last.GetAudio(), p.GetAudio()
	if a == nil || b == nil || a.MimeType != b.MimeType || len(last.NativeFields)+len(p.NativeFields) > 0 || last.ThoughtSignature != nil || p.ThoughtSignature != nil {
		return false
	}
	kind := strings.ToLower(a.MimeType)
	if !strings.HasPrefix(kind, "audio/l16") && !strings.HasPrefix(kind, "audio/pcm") {
		return false
	}
	return len(a.GetData()) > 0 && len(b.GetData()) > 0 && a.Filename == b.Filename && a.Transcript == "" && b.Transcript == ""
}
