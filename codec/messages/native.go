package messages

import (
	"bytes"
	"slices"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// natives are the members of an object without a canonical field; none of them
// binding.
func natives(extra jsontext.Value) []*genwayv1.NativeField {
	return member.Natives(protocol, extra, nil)
}

// nested are the unknown members of an object whose known ones have canonical
// fields of the message around it (metadata, output_config, an image's source): a
// native field with the object's name that holds an object of just those.
func nested(name string, extra jsontext.Value) []*genwayv1.NativeField {
	if len(natives(extra)) == 0 {
		return nil
	}
	return []*genwayv1.NativeField{{Protocol: protocol, Name: name, Json: bytes.Clone(extra)}}
}

func native(fields []*genwayv1.NativeField, name string) jsontext.Value {
	return member.Native(protocol, fields, name)
}

// whole keeps a member's value as it was written.
func whole(name string, value jsontext.Value) *genwayv1.NativeField {
	return &genwayv1.NativeField{Protocol: protocol, Name: name, Json: bytes.Clone(value)}
}

// natives writes the native fields of this protocol into the open object, except for those that
// merge writes. Those of another protocol are refused if they are binding, and else declared as
// losses. A duplicate member is refused in requests, where it could smuggle in another model. In
// answers, which a stream has in pieces, the last value counts.
func (w *writer) natives(fields []*genwayv1.NativeField, path string, losses *codec.Losses, merged ...string) {
	for i, f := range fields {
		at := member.Join(path, f.Name)
		switch {
		case w.answer && (w.Has(f.Name) || native(fields[i+1:], f.Name) != nil):
		case f.Protocol != protocol && member.IsMark(f):
		case f.Protocol != protocol && f.Binding:
			w.Fail(fault.Unsupported(at, "%s cannot be carried to the messages protocol", at))
		case f.Protocol != protocol:
			losses.Add(at, "the messages protocol has no place for it")
		case slices.Contains(merged, f.Name):
		case w.Has(f.Name):
			w.Fail(fault.Invalid(at, "%s has a field of its own", at))
		default:
			w.KeyOf(f.Name)
			w.value(f.Json, at)
		}
	}
}

// merge writes what nested kept back into the open object.
func (w *writer) merge(fields []*genwayv1.NativeField, name, path string) {
	if kept := native(fields, name); kept.Kind() == '{' {
		w.natives(natives(kept), member.Join(path, name), nil)
	}
}
