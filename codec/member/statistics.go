package member

import (
	"bytes"

	transportv1 "github.com/genway/genway/gen/genway/transport/v1"
)

// Statistics describes the values of a body that are strings.
type Statistics struct {
	// Text is how many bytes of text there are, Attachments how many strings are
	// attachments in base64 instead.
	Text, Attachments int
	// Signs are all that look has seen.
	Signs Signs
}

// Look is what a protocol's bodies are looked through for.
type Look struct {
	// Sign returns what a string is a sign of, by its text between the quotes as it is
	// written.
	Sign func(value []byte) Signs
	// An object whose member Kind is a sign of a Result is to have a member ID that is
	// a string and not empty.
	Kind, ID string
}

// Signs are what a body may hold. A string may be a sign of nothing for all that.
type Signs uint8

const (
	// Foreign is content of another upstream, or what has an identifier of ours.
	Foreign Signs = 1 << iota
	// Result is the result of a tool call; of a body, that one has no identifier.
	Result
)

// note takes a string into account.
func (s *Statistics) note(value []byte, look *Look) Signs {
	signs := look.Sign(value)
	s.Signs |= signs &^ Result
	if attached(value) {
		s.Attachments++
	} else {
		s.Text += len(value)
	}
	return signs
}

// attached reports whether a string is long and has nothing but what base64 is made of,
// or is a data: URL of it.
func attached(value []byte) bool {
	const few = 1 << 10
	if len(value) < few {
		return false
	}
	if bytes.HasPrefix(value, []byte("data:")) {
		return true
	}
	for _, c := range value[:few] {
		switch {
		case c >= '0' && c <= '9', c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c == '+', c == '/', c == '-', c == '_', c == '=':
		default:
			return false
		}
	}
	return true
}

// StatisticsOf gathers the statistics of a body without decoding it. A body that cannot be
// scanned counts as text, and as one that may hold anything.
func StatisticsOf(body []byte, look *Look) *transportv1.BodyStatistics {
	var o TopIndex
	if !o.Read(body, look) {
		return &transportv1.BodyStatistics{TextBytes: int64(len(body)), Foreign: true}
	}
	return o.Wire()
}

// Wire returns the statistics as an edge sends them to a core.
func (s *Statistics) Wire() *transportv1.BodyStatistics {
	return &transportv1.BodyStatistics{TextBytes: int64(s.Text), Attachments: int64(s.Attachments), Foreign: s.Signs&Foreign != 0}
}
