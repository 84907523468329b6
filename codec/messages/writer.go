package messages

import (
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
)

// writer writes what this protocol has. JSON of others goes in byte for byte
// (whitespace, escapes, spelling of numbers), which schemas and signatures depend on,
// once it is known to be JSON.
type writer struct {
	*member.Writer
	// answer says that an answer is written, not a request.
	answer bool
}

func requestWriter(size int) *writer { return &writer{Writer: member.NewWriter(size)} }

func answerWriter(size int) *writer { return &writer{Writer: member.NewWriter(size), answer: true} }

// raw writes a value as it is; path names it in the canonical message.
func (w *writer) raw(name string, value []byte, path string) {
	w.Key(name)
	w.value(value, path)
}

// value writes an element or the value of a key as it is.
func (w *writer) value(value []byte, path string) {
	if !member.Valid(value) {
		w.Fail(fault.Invalid(path, "%s is not valid JSON", path))
		value = []byte("null")
	}
	w.Value(value)
}
