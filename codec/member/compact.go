package member

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"
)

var compactOptions = []jsontext.Options{jsontext.PreserveRawStrings(true), jsontext.AllowInvalidUTF8(true)}

// AppendCompact appends a JSON value without the white space between its tokens; strings
// and numbers keep their spelling. A value that is no JSON, or has an object with a name
// twice, is an error that says where, and nothing is appended.
func AppendCompact(dst, value []byte) ([]byte, error) {
	s := scanner{b: value}
	start := space(value, 0)
	end, ok := s.value(start, 0)
	if !ok || space(value, end) < len(value) {
		out, err := jsontext.AppendFormat(dst, value, compactOptions...)
		if err != nil {
			return dst, err
		}
		return out, nil
	}
	for i := start; i < end; {
		switch value[i] {
		case '"':
			i, _ = String(value, i)
		case ' ', '\n', '\t', '\r':
			dst = append(dst, value[start:i]...)
			i = space(value, i)
			start = i
		default:
			i++
		}
	}
	return append(dst, value[start:end]...), nil
}

// within is the error of a value that stands at that place of a text.
func within(at jsontext.Pointer, err error) error {
	syntax, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok {
		return &jsontext.SyntacticError{JSONPointer: at, Err: err}
	}
	return &jsontext.SyntacticError{ByteOffset: syntax.ByteOffset, JSONPointer: at + syntax.JSONPointer, Err: syntax.Err}
}

// Valid reports whether a value is JSON that has no object with a name twice.
func Valid(value []byte) bool {
	s := scanner{b: value}
	if end, ok := s.value(space(value, 0), 0); ok && space(value, end) == len(value) {
		return true
	}
	return jsontext.Value(value).IsValid(jsontext.AllowInvalidUTF8(true))
}
