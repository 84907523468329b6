package intake

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/genway/genway/codec/fault"
	"google.golang.org/protobuf/proto"
)

// Reasons of messages that are refused before they are looked at.
const (
	ReasonMalformedMessage  = "MALFORMED_MESSAGE"
	ReasonMessageTooLarge   = "MESSAGE_TOO_LARGE"
	ReasonCompressedMessage = "COMPRESSED_MESSAGE"
)

// malformed is the error of a call whose messages are not what its method takes.
func malformed(format string, args ...any) *fault.Error {
	return fault.New(fault.InvalidRequest, ReasonMalformedMessage, format, args...)
}

// cutShort is the error of a message that could not be read to its end.
func cutShort(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return malformed("the request message ends before its announced length")
	}
	return err
}

// tooLarge is the error of a message that can never be received. It does not ask to try again.
func tooLarge(size, most int64) *fault.Error {
	return fault.New(fault.TooLarge, ReasonMessageTooLarge, "the request message has %d bytes; at most %d are accepted", size, most)
}

// undecoded is the error of a message that does not decode into m. The library tells its errors
// apart by their texts alone.
func undecoded(err error, m any) *fault.Error {
	var f *fault.Error
	switch text := err.Error(); {
	case strings.Contains(text, "UTF-8"):
		f = malformed("the request message has a text that is not UTF-8")
	case strings.Contains(text, "recursion depth"):
		f = malformed("the request message is nested too deeply")
	default:
		f = malformed("the request message is not %s", article(m))
	}
	f.Cause = err
	return f
}

// article names the type of a message in a sentence.
func article(m any) string {
	if p, ok := m.(proto.Message); ok {
		return fmt.Sprintf("a %s", p.ProtoReflect().Descriptor().FullName())
	}
	return "what the method takes"
}
