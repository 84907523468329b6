package responses

import (
	"math"

	"github.com/genway/genway/codec/member"
)

// encodeFloat writes a number; JSON has none that are not finite, which become null.
func encodeFloat(w *member.Writer, name string, f float64) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		w.Null(name)
		return
	}
	w.ShortFloat(name, f)
}

func encodeFloatOpt(w *member.Writer, name string, f *float64) {
	if f != nil {
		encodeFloat(w, name, *f)
	}
}

// encodeNullable spells what is empty as null.
func encodeNullable(w *member.Writer, name, s string) {
	if s == "" {
		w.Null(name)
		return
	}
	w.Str(name, s)
}

// text gives what a writer wrote that has no failures.
func text(w *member.Writer) []byte {
	out, _ := w.Finish()
	return out
}
