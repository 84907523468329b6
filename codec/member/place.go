package member

import (
	"errors"
	"strings"

	"github.com/genway/genway/codec/fault"
	"github.com/go-json-experiment/json/jsontext"
)

// Place is where a value stands. It is spelled when somebody asks, and only errors do.
type Place struct {
	// In is what it is a member of; nil when Path is all of it.
	In *Place
	// Path is the path of the value, or of the list that has it as an element.
	Path string
	// Element is its number in the list, plus one; 0 for no list.
	Element int
}

// String spells the path.
func (p Place) String() string {
	path := p.Path
	if p.In != nil {
		path = p.In.Join(path)
	}
	if p.Element == 0 {
		return path
	}
	return Index(path, p.Element-1)
}

// Join spells the path of a member.
func (p Place) Join(path string) string { return Join(p.String(), path) }

// DecodeAt is Decode for an object that stands at a place of a body. Its errors name the path
// from the top of the body.
func DecodeAt(raw jsontext.Value, v any, place Place) error {
	if raw.Kind() != '{' {
		return fault.Invalid(place.String(), "%s: expected an object", place)
	}
	err := decode(raw, v)
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err
	}
	moved := *f
	moved.Param = place.Join(f.Param)
	moved.Message = moved.Param + ": " + strings.TrimPrefix(f.Message, f.Param+": ")
	return &moved
}
