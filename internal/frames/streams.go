package frames

// streams knows of the peer's streams what their frames cost.
type streams struct {
	highest uint32
	// open is how many were opened and not reset.
	open int64
	// last says when the last ones were opened, in milliseconds.
	last [64]struct {
		stream uint32
		at     int64
	}
}

// earlyReset is the age of a stream, in milliseconds, below which its reset is early: its
// opener did not wait for an answer.
const earlyReset = 20

// emptyHead is the cost of a HEADERS of fewer than smallestHead bytes: a request has two fields at least, those of
// CONNECT (RFC 9113, section 8.5), each of a byte or more. It is more than an answer earns.
const (
	emptyHead    = 2 * fault
	smallestHead = 2
)

// A frame of fields of more than largeHead bytes costs largeHeadCost, more than an answer earns: in
// HPACK a byte may stand for kilobytes of fields (RFC 7541, section 7.3). Clients send the fields
// that they repeat as an index each, and seldom send so many others.
const (
	largeHead     = 8 << 10
	largeHeadCost = 4 * fault
)

// cost is that of a HEADERS or RST_STREAM. To open a stream is free, and to reset it once,
// but early.
func (s *streams) cost(f frame, now int64) int64 {
	slot := &s.last[f.stream/2%uint32(len(s.last))]
	if f.kind == headers {
		if f.stream <= s.highest {
			return f.cost() // trailers
		}
		s.highest = f.stream
		s.open++
		slot.stream, slot.at = f.stream, now
		switch {
		case f.length < smallestHead:
			return emptyHead
		case f.length > largeHead:
			return largeHeadCost
		}
		return 0
	}
	s.open--
	switch {
	case slot.stream == f.stream && now-slot.at < earlyReset:
		return fault
	case s.open < 0:
		s.open = 0
		return 1
	}
	return 0
}
