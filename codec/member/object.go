package member

import "github.com/go-json-experiment/json/jsontext"

// Object is the progress of a Reader through the members of one object. The zero value is
// ready for Open. The generated code of the codecs goes through an object like this:
//
//	var o member.Object
//	for r.Open(&o); o.More; r.Next(&o) {
//		if !v.readMember(r, &o) { // by o.Name
//			return false
//		}
//	}
//	return r.Close(&o)
type Object struct {
	// Name is that of the member whose value is next, a part of the body.
	Name []byte
	// More reports whether there is such a member.
	More bool
	ok   bool
	// opened says that others is in use.
	opened bool
	// seen has a bit for each known member, others the names of all other members.
	seen   uint64
	others scope
	name   span
}

// Open enters the object that is next.
func (r *Reader) Open(o *Object) {
	o.More, o.ok = r.enter('{')
	r.advance(o)
}

// Next goes to the next member, or leaves the object.
func (r *Reader) Next(o *Object) {
	o.More, o.ok = r.after('}')
	r.advance(o)
}

// advance reads the name of the next member.
func (r *Reader) advance(o *Object) {
	if !o.More {
		return
	}
	if o.name, o.ok = r.name(); !o.ok {
		o.More = false
		return
	}
	o.Name = r.b[o.name.from:o.name.to]
}

// Close reports whether the object was read to its end.
func (r *Reader) Close(o *Object) bool {
	if o.opened {
		r.names.close(o.others)
	}
	return o.ok
}

// Once notes a known member by its number; false when the object had it before.
func (o *Object) Once(number uint) bool {
	bit := uint64(1) << number
	first := o.seen&bit == 0
	o.seen |= bit
	return first
}

// Other adds a member that no field is for to the others of its object.
func (r *Reader) Other(o *Object, to *jsontext.Value) bool {
	if !r.unique(o) {
		return false
	}
	value, ok := r.Value()
	return ok && value.Extra(to, o.Name)
}

// Skip passes over a member that no field is for.
func (r *Reader) Skip(o *Object) bool {
	if !r.unique(o) {
		return false
	}
	_, ok := r.Value()
	return ok
}

// unique notes the name of another member; false when the object had it before.
func (r *Reader) unique(o *Object) bool {
	if !o.opened {
		o.opened, o.others = true, r.names.open()
	}
	return r.names.add(r.b, &o.others, o.name)
}
