package member

// Outline is what one walk over a body finds: the members at its top, and what is in
// them as far as it can be told in passing. The zero value is ready for Read, once.
type Outline struct {
	Survey
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

func (o *Outline) add(name, value span, elements int) {
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

func (o *Outline) at(i int) *entry {
	if i < len(o.first) {
		return &o.first[i]
	}
	return &o.more[i-len(o.first)]
}

// Read walks over body, all of which is checked to be a JSON object without duplicate
// names. look may be nil, and nothing is surveyed then.
//
// False says that the body cannot be told apart like this, and must be decoded: it is
// wrong, or only uncommon.
func (o *Outline) Read(body []byte, look *Look) bool {
	o.body = body
	s := scanner{b: body, look: look}
	o.start = space(body, 0)
	if o.start >= len(body) || body[o.start] != '{' {
		return false
	}
	var ok bool
	o.end, ok = s.object(o.start, 0, o)
	o.Survey = s.survey
	return ok && space(body, o.end) == len(body)
}

// StandIn is what a member is replaced by in a head: the text of a small value of the
// same sort, or nothing to leave the member out.
type StandIn struct{ Name, Value string }

// Settings tells take of each member that no stand-in is for. The first stand-in is of
// the member that makes the body what it is and must be there, with something in it;
// all that have none must be light. Nothing is copied. False says that this is not so,
// or that take has said false.
func (o *Outline) Settings(standIns []StandIn, take func(name []byte, value Raw) bool) bool {
	found := false
	for k := range o.n {
		e := o.at(k)
		i := o.standIn(standIns, e)
		switch {
		case i == 0:
			found = o.holds(e)
		case i > 0:
		case e.value.to-e.value.from > maxLight || !take(o.body[e.name.from:e.name.to], Raw(o.body[e.value.from:e.value.to])):
			return false
		}
	}
	return found
}

// Head gives the body without its weight: each member that a stand-in is named for has
// that instead of its value. False is as for Settings.
func (o *Outline) Head(standIns []StandIn) ([]byte, bool) {
	head, copied, found := make([]byte, 0, 512), o.start, false
	for k := range o.n {
		e := o.at(k)
		i := o.standIn(standIns, e)
		if i < 0 {
			if e.value.to-e.value.from > maxLight {
				return nil, false
			}
			continue
		}
		found = found || i == 0 && o.holds(e)
		value := standIns[i].Value
		if value == "" {
			value = "null"
		}
		head = append(append(head, o.body[copied:e.value.from]...), value...)
		copied = e.value.to
	}
	return append(head, o.body[copied:o.end]...), found
}

// maxLight bounds a member without a stand-in.
const maxLight = 4 << 10

func (o *Outline) standIn(standIns []StandIn, e *entry) int {
	for i := range standIns {
		if string(o.body[e.name.from:e.name.to]) == standIns[i].Name {
			return i
		}
	}
	return -1
}

// holds reports whether a value is a string or an array that is not empty.
func (o *Outline) holds(e *entry) bool {
	return e.elements > 0 || o.body[e.value.from] == '"' && e.value.to-e.value.from > 2
}

// Elements gives the number of elements of the array that a member is; 0 when it is
// none.
func (o *Outline) Elements(name string) int {
	for k := range o.n {
		e := o.at(k)
		if string(o.body[e.name.from:e.name.to]) == name {
			return e.elements
		}
	}
	return 0
}
