package framing

import "math"

// piece takes the beginning of a line whose end is not there. One of a framing field is
// taken as a whole only.
func (s *scanner) piece(p []byte) (int, string) {
	if s.column == 0 {
		for _, name := range [...]string{lengthName, codingName, hostName, expectName} {
			if !equalFold(p[:min(len(p), len(name))], name[:min(len(p), len(name))]) {
				continue
			}
			switch {
			case name == hostName && len(p) >= len(name):
				s.head.host = true
			case len(p) > maxHeld && name == expectName:
				return 0, Expectation
			case len(p) > maxHeld:
				return 0, LongField
			default:
				return 0, ""
			}
		}
	}
	s.pass(p)
	return len(p), ""
}

// body begins what follows the head.
func (s *scanner) body() {
	switch {
	case s.head.chunked:
		s.next(atChunk)
		s.left, s.digits = 0, 0
	case s.head.size > 0:
		s.next(atBody)
		s.left = s.head.size
	default:
		s.finish()
	}
}

// chunk takes the size of a chunk: hexadecimal digits, up to an extension or the line's end.
func (s *scanner) chunk(p []byte) (int, string) {
	for n, c := range p {
		var digit byte
		switch {
		case '0' <= c && c <= '9':
			digit = c - '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			digit = c | 0x20 - 'a' + 10
		case (c == ';' || c == '\r') && s.digits > 0:
			s.next(atExtension)
			return n, ""
		default:
			return n, ChunkSize
		}
		if s.left > math.MaxInt64>>4 {
			return n, ChunkSize
		}
		s.left, s.digits = s.left<<4|int64(digit), 1
	}
	return len(p), ""
}
