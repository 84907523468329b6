package member

import "bytes"

// Mentions reports whether a body may have members or values of those names, at any
// depth. One with an escape that could spell a name may.
func Mentions(body []byte, names ...string) bool {
	for _, name := range names {
		if bytes.Contains(body, []byte(`"`+name+`"`)) {
			return true
		}
	}
	return bytes.Contains(body, []byte(`\u`))
}
