package member

import (
	"bytes"
	"reflect"
	"strings"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// Reserved are the members of an object that a codec writes from fields of the canonical
// request. Admission, routing, overrides and metering look at those fields, so nothing
// else may write the members: a direct caller's extra_json and native fields are refused
// when they name one. A nil *Reserved is a member that is reserved whole.
type Reserved struct{ members map[string]reservedMember }

type reservedMember struct {
	name   string
	inside *Reserved
}

// ReservedBy returns the members that the wire struct of a body has fields for. A field that
// is a struct reserves its own members, and leaves room beside them for members it has no
// field for, if it collects those. Other spellings of a member follow in pairs: the
// spelling, the member.
func ReservedBy[T any](spellings ...string) *Reserved {
	r := reservedBy(reflect.TypeFor[T]())
	r.spell(spellings)
	return r
}

func reservedBy(t reflect.Type) *Reserved {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	r := &Reserved{members: map[string]reservedMember{}}
	open := false
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if options == "embed" {
			open = true
		}
		if f.Anonymous {
			for inner := range f.Type.Fields() {
				if name := inner.Tag.Get("json"); name != "" {
					r.members[folded(name)] = reservedMember{name: name, inside: reservedBy(inner.Type)}
				}
			}
		}
		if f.IsExported() && name != "" && name != "-" {
			r.members[folded(name)] = reservedMember{name: name, inside: reservedBy(f.Type)}
		}
	}
	if !open {
		return nil
	}
	return r
}

// spell adds the other spellings, here and in the objects inside.
func (r *Reserved) spell(spellings []string) {
	for _, m := range r.members {
		if m.inside != nil {
			m.inside.spell(spellings)
		}
	}
	for i := 0; i+1 < len(spellings); i += 2 {
		if m, ok := r.members[folded(spellings[i+1])]; ok {
			r.members[folded(spellings[i])] = m
		}
	}
}

// folded is what spellings of one name have in common. Parsers of JSON exist that take
// names in any case (Go's encoding/json), and in camelCase as well as snake_case
// (protojson).
func folded(name string) string {
	return strings.ToLower(strings.ReplaceAll(name, "_", ""))
}

// In returns what is reserved of the object that the member of that name is; nil if it is no
// object.
func (r *Reserved) In(name string) *Reserved {
	if r == nil {
		return nil
	}
	return r.members[folded(name)].inside
}

// Names calls yield with the path of each reserved member that is reserved whole.
func (r *Reserved) Names(yield func(path string)) { r.names("", yield) }

func (r *Reserved) names(path string, yield func(string)) {
	for _, m := range r.members {
		if at := Join(path, m.name); m.inside != nil {
			m.inside.names(at, yield)
		} else {
			yield(at)
		}
	}
}

// Fields checks the native fields of a protocol that belong to the object: their values
// are JSON, and none is a reserved member, by its own name or by a dotted one. Fields of
// other protocols and marks pass, and so do the names in but, which the codec has checked.
// Errors are of kind InvalidRequest and name the member; path is the object's.
func (r *Reserved) Fields(protocol genwayv1.Protocol, fields []*genwayv1.NativeField, path string, but ...string) error {
next:
	for _, f := range fields {
		if f.GetProtocol() != protocol || IsMark(f) {
			continue
		}
		at := Join(path, f.GetName())
		if !Valid(f.GetJson()) {
			return fault.Invalid(at, "%s is not valid JSON", at)
		}
		if r == nil {
			continue
		}
		for _, name := range but {
			if f.GetName() == name {
				continue next
			}
		}
		if err := r.field(f.GetName(), f.GetJson(), at); err != nil {
			return err
		}
	}
	return nil
}

// Misspelt refuses a member of a caller's body whose name differs from one of names only by
// the case of its letters. Names are case-sensitive, so the gateway would pass it on as a
// member that it does not know; upstreams written in Go take it for the other
// (encoding/json): a model or a limit that was never admitted. The vendors refuse it.
func Misspelt(extra jsontext.Value, names ...string) error {
	if len(extra) == 0 {
		return nil
	}
	var err error
	if _, plain := skim(extra, func(name, _ span) bool {
		err = misspelt(extra[name.from:name.to], names)
		return err != nil
	}); plain {
		return err
	}
	members, err := membersOf(extra)
	if err != nil {
		return nil //nolint:nilerr // decoding reports what is wrong
	}
	for _, m := range members {
		if err := misspelt([]byte(m.Name), names); err != nil {
			return err
		}
	}
	return nil
}

func misspelt(name []byte, names []string) error {
	for _, known := range names {
		if len(name) == len(known) && string(name) != known && bytes.EqualFold(name, []byte(known)) {
			return fault.Invalid(string(name), "%s: unknown member; write %s", name, known)
		}
	}
	return nil
}

// field checks one native field; each part of a dotted name leads into an object.
func (r *Reserved) field(name string, value jsontext.Value, at string) error {
	if m, ok := r.members[folded(name)]; ok {
		return m.check(value, at)
	}
	outer, inner, dotted := strings.Cut(name, ".")
	m, ok := r.members[folded(outer)]
	if !dotted || !ok || m.inside == nil {
		return nil
	}
	return m.inside.field(inner, value, at)
}

// check refuses a value of a reserved member, unless it is an object that only adds to
// the members which are reserved of it.
func (m reservedMember) check(value jsontext.Value, at string) error {
	if m.inside == nil || value.Kind() != '{' {
		return reservedFault(at)
	}
	members, err := membersOf(value)
	if err != nil {
		return fault.Invalid(at, "%s is not valid JSON", at)
	}
	for _, own := range members {
		if inner, reserved := m.inside.members[folded(own.Name)]; reserved {
			if err := inner.check(own.Value, Join(at, own.Name)); err != nil {
				return err
			}
		}
	}
	return nil
}

func reservedFault(at string) error {
	return fault.Invalid(at, "%s cannot be set here: the request has a field for it, which limits and routes look at; set that field", at)
}
