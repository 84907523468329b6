package responses

import (
	"github.com/genway/genway/codec/member"
)

// encodeNullable spells what is empty as null.
func encodeNullable(w *member.Writer, name, s string) {
	if s == "" {
		w.Null(name)
		return
	}
	w.Str(name, s)
}

// text returns what a writer wrote that has no failures.
func text(w *member.Writer) []byte {
	out, _ := w.Finish()
	return out
}
