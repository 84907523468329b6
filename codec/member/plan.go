package member

import (
	"encoding"
	"reflect"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// step reads the value that is next into v.
type step func(r *Reader, v reflect.Value) bool

// steps are those of the types that were read, by type. They are made of the struct tags
// that the library reads as well.
var steps sync.Map

// stepOf gives how values of a type are read; nil when only the library can.
func stepOf(t reflect.Type) step {
	if known, ok := steps.Load(t); ok {
		s, _ := known.(step)
		return s
	}
	m := maker{}
	s := m.step(t)
	if m.foreign != nil {
		s = nil
	}
	steps.Store(t, s)
	return s
}

// maker makes steps.
type maker struct {
	structs map[reflect.Type]*layout
	// foreign is the type of something in it that only the library can read.
	foreign reflect.Type
}

var (
	valueType       = reflect.TypeFor[jsontext.Value]()
	valuesType      = reflect.TypeFor[[]jsontext.Value]()
	stringsType     = reflect.TypeFor[[]string]()
	stringMapType   = reflect.TypeFor[map[string]string]()
	valueReaderType = reflect.TypeFor[ValueReader]()
	ownReaders      = []reflect.Type{
		reflect.TypeFor[json.UnmarshalerFrom](), reflect.TypeFor[json.Unmarshaler](), reflect.TypeFor[encoding.TextUnmarshaler](),
	}
)

func (m *maker) step(t reflect.Type) step {
	switch t {
	case valueType:
		return readRaw
	case valuesType:
		return readRaws
	case stringsType:
		return readStrings
	case stringMapType:
		return readStringMap
	}
	if reflect.PointerTo(t).Implements(valueReaderType) {
		return readOwn
	}
	for _, own := range ownReaders {
		if reflect.PointerTo(t).Implements(own) {
			return m.none(t)
		}
	}
	switch t.Kind() {
	case reflect.String:
		return readString
	case reflect.Bool:
		return readBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return readInt
	case reflect.Uint8:
		return readUint8
	case reflect.Float64:
		return readFloat
	case reflect.Pointer:
		return pointer(t.Elem(), m.step(t.Elem()))
	case reflect.Slice:
		if t.Elem() == reflect.TypeFor[byte]() {
			break // as base64
		}
		return slice(t, m.step(t.Elem()))
	case reflect.Struct:
		return m.object(t)
	}
	return m.none(t)
}

func (m *maker) none(t reflect.Type) step {
	m.foreign = t
	return nil
}

// object gives how a struct is read, which may hold others of its type.
func (m *maker) object(t reflect.Type) step {
	if l := m.structs[t]; l != nil {
		return l.read
	}
	if m.structs == nil {
		m.structs = map[reflect.Type]*layout{}
	}
	l := &layout{rest: -1}
	m.structs[t] = l
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case !f.IsExported() && !f.Anonymous:
		case f.Anonymous, strings.ContainsAny(name, `'\`), name == "-":
			return m.none(t)
		case options == "embed" && name == "" && f.Type == valueType && l.rest < 0:
			l.rest = i
		case name != "" && options == "":
			l.fields = append(l.fields, field{name: name, index: i, step: m.step(f.Type)})
		default:
			return m.none(t)
		}
	}
	if !l.index() {
		return m.none(t)
	}
	return l.read
}
