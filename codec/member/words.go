package member

// words are short strings that were read lately: the names of roles, types and models
// that are in body after body need no memory of their own.
type words [64]string

// maxWord bounds the strings that are kept.
const maxWord = 32

// text gives a string that says what is in b.
func (w *words) text(b []byte) string {
	if len(b) == 0 || len(b) > maxWord {
		return string(b)
	}
	place := &w[(uint(b[0])*7+uint(b[len(b)/2])*3+uint(b[len(b)-1])+uint(len(b))*11)%uint(len(w))]
	if *place != string(b) {
		*place = string(b)
	}
	return *place
}
