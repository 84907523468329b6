package member

import "bytes"

// Weigh tells what the values of body, which is known to be JSON, hold: how many bytes
// of text, and how many attachments in base64.
func Weigh(body []byte) (text, attachments int) {
	for i := bytes.IndexByte(body, '"'); i >= 0; {
		end := skipString(body, i)
		if end < 0 {
			break
		}
		switch value := body[i+1 : end-1]; {
		case attached(value):
			attachments++
		case !isName(body, end):
			text += len(value)
		}
		next := bytes.IndexByte(body[end:], '"')
		if next < 0 {
			break
		}
		i = end + next
	}
	return text, attachments
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

// isName reports whether the string that ends there is the name of a member.
func isName(body []byte, end int) bool {
	end = space(body, end)
	return end < len(body) && body[end] == ':'
}
