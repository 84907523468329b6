package codec

// Chosen is the candidate that a stream of a protocol with one answer shows: the first to begin, as
// the first of a unary answer, whatever its index is. Its zero value has not chosen yet.
type Chosen struct {
	index int32
	known bool
}

// Is reports whether the candidate is the one. The first that is asked for is.
func (c *Chosen) Is(index int32) bool {
	if !c.known {
		c.index, c.known = index, true
	}
	return c.index == index
}
