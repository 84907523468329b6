package override

import (
	"fmt"
	"math"
	"strings"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// path leads to a parameter's field: through the message it is grouped in, if it is.
type path []protoreflect.FieldDescriptor

// String spells the path as losses do: sampling.temperature.
func (p path) String() string {
	var names []string
	for _, f := range p {
		names = append(names, string(f.Name()))
	}
	return strings.Join(names, ".")
}

func (p path) field() protoreflect.FieldDescriptor { return p[len(p)-1] }

func (p path) has(m protoreflect.Message) bool {
	for _, f := range p[:len(p)-1] {
		if !m.Has(f) {
			return false
		}
		m = m.Get(f).Message()
	}
	return m.Has(p.field())
}

func (p path) get(m protoreflect.Message) protoreflect.Value {
	for _, f := range p[:len(p)-1] {
		m = m.Get(f).Message()
	}
	return m.Get(p.field())
}

func (p path) set(m protoreflect.Message, v protoreflect.Value) {
	for _, f := range p[:len(p)-1] {
		m = m.Mutable(f).Message()
	}
	m.Set(p.field(), v)
}

// clear takes the field away, and the group with the last of its fields.
func (p path) clear(m protoreflect.Message) {
	if len(p) == 1 {
		m.Clear(p[0])
		return
	}
	inner := m.Mutable(p[0]).Message()
	p[1:].clear(inner)
	empty := true
	inner.Range(func(protoreflect.FieldDescriptor, protoreflect.Value) bool {
		empty = false
		return false
	})
	if empty {
		m.Clear(p[0])
	}
}

// valueFor returns a value as the field holds it.
func valueFor(f protoreflect.FieldDescriptor, value any) (protoreflect.Value, error) {
	switch v := value.(type) {
	case float64:
		if f.Kind() == protoreflect.DoubleKind {
			return protoreflect.ValueOfFloat64(v), nil
		}
	case int64:
		switch {
		case f.Kind() == protoreflect.Int64Kind:
			return protoreflect.ValueOfInt64(v), nil
		case f.Kind() == protoreflect.Int32Kind && v >= math.MinInt32 && v <= math.MaxInt32:
			return protoreflect.ValueOfInt32(int32(v)), nil
		}
	case bool:
		if f.Kind() == protoreflect.BoolKind {
			return protoreflect.ValueOfBool(v), nil
		}
	case string:
		if f.Kind() == protoreflect.StringKind && !f.IsList() {
			return protoreflect.ValueOfString(v), nil
		}
	case []string:
		if f.Kind() == protoreflect.StringKind && f.IsList() {
			l := (&genwayv1.GenerateTextRequest{}).ProtoReflect().NewField(f).List()
			for _, text := range v {
				l.Append(protoreflect.ValueOfString(text))
			}
			return protoreflect.ValueOfList(l), nil
		}
	}
	return protoreflect.Value{}, fmt.Errorf("expected %s, got %v", f.Kind(), value)
}

// clamp returns the nearest value within the range, and whether v is outside of it.
func (r Range) clamp(f protoreflect.FieldDescriptor, v protoreflect.Value) (protoreflect.Value, bool) {
	var number float64
	switch f.Kind() {
	case protoreflect.DoubleKind:
		number = v.Float()
	case protoreflect.Int32Kind, protoreflect.Int64Kind:
		number = float64(v.Int())
	default:
		return v, false
	}
	to := number
	if r.Min != nil && to < *r.Min {
		to = *r.Min
	}
	if r.Max != nil && to > *r.Max {
		to = *r.Max
	}
	if to == number {
		return v, false
	}
	switch f.Kind() {
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(int32(to)), true
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(int64(to)), true
	default:
		return protoreflect.ValueOfFloat64(to), true
	}
}
