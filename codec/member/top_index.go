package member

// TopIndex says where the top-level members of a body are, and has the statistics of the
// strings in it. The zero value is ready for Read, once; Reset makes it ready again.
type TopIndex struct {
	Statistics
	body       []byte
	start, end int
	// The first members are held in place: most bodies have no more.
	first [24]entry
	more  []entry
	n     int
}

// entry is a member.
type entry struct {
	name, value span
	// elements are those of a value that is an array.
	elements int
}

func (o *TopIndex) add(name, value span, elements int) {
	if o.body[value.from] != '[' {
		elements = 0
	}
	if e := (entry{name, value, elements}); o.n < len(o.first) {
		o.first[o.n] = e
	} else {
		o.more = append(o.more, e)
	}
	o.n++
}

func (o *TopIndex) at(i int) *entry {
	if i < len(o.first) {
		return &o.first[i]
	}
	return &o.more[i-len(o.first)]
}

// Read checks that body is a JSON object without duplicate names, and indexes it. A nil look
// gathers no statistics.
//
// False says that the body must be decoded: it is wrong, or only uncommon.
func (o *TopIndex) Read(body []byte, look *Look) bool {
	o.body = body
	s := scanner{b: body, look: look}
	o.start = space(body, 0)
	if o.start >= len(body) || body[o.start] != '{' {
		return false
	}
	var ok bool
	o.end, ok = s.object(o.start, 0, o)
	o.Statistics = s.statistics
	return ok && space(body, o.end) == len(body)
}

// maxKept is how many members beyond the first an index keeps memory for.
const maxKept = 1000

// Reset makes the index ready for another body, and lets go of the last one.
func (o *TopIndex) Reset() {
	o.Statistics, o.body, o.n, o.more = Statistics{}, nil, 0, o.more[:0]
	if cap(o.more) > maxKept {
		o.more = nil
	}
}

// holds reports whether a value is a string or an array that is not empty.
func (o *TopIndex) holds(e *entry) bool {
	return e.elements > 0 || o.body[e.value.from] == '"' && e.value.to-e.value.from > 2
}

// Elements returns the number of elements of the array that a member is; 0 when it is
// none.
func (o *TopIndex) Elements(name string) int {
	for k := range o.n {
		e := o.at(k)
		if string(o.body[e.name.from:e.name.to]) == name {
			return e.elements
		}
	}
	return 0
}
