package fault

import (
	"slices"
	"unicode/utf8"
)

// Bounds of the public texts, in bytes. A caller chooses the names of members, and so how long
// the path is that an error names.
const (
	MaxMessage = 4 << 10
	MaxParam   = 512
)

// Bound shortens Message, Param and Fields to their bounds. The beginning and the end of a text
// stay: the end of a message says what is wrong.
func (e *Error) Bound() {
	e.Message, e.Param = shortened(e.Message, MaxMessage), shortened(e.Param, MaxParam)
	if !slices.ContainsFunc(e.Fields, Field.tooLong) {
		return
	}
	e.Fields = slices.Clone(e.Fields) // the error's copies share them
	for i, f := range e.Fields {
		e.Fields[i] = Field{Param: shortened(f.Param, MaxParam), Message: shortened(f.Message, MaxMessage)}
	}
}

func (f Field) tooLong() bool { return len(f.Param) > MaxParam || len(f.Message) > MaxMessage }

// shortened leaves out the middle of a text that is longer than most bytes.
func shortened(s string, most int) string {
	if len(s) <= most {
		return s
	}
	const gap = "…"
	head := (most - len(gap)) / 2
	tail := len(s) - (most - len(gap) - head)
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return s[:head] + gap + s[tail:]
}
