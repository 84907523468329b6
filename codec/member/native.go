package member

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/setting"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Natives turns the members a wire struct has no field for (collected by a
// `json:",embed"` field of type jsontext.Value) into native fields, in their
// order. binding says whether a member bears on the answer; nil says none does.
// Members that are null say nothing and are left out. Their values are parts of extra.
func Natives(protocol genwayv1.Protocol, extra jsontext.Value, binding func(name string, value []byte) bool) []*genwayv1.NativeField {
	return NativesBut(nil, protocol, extra, binding)
}

// NativesBut is Natives without the members that but names. If but is not nil, the values are copies, so
// that they do not keep all of extra in memory.
func NativesBut(but map[string]bool, protocol genwayv1.Protocol, extra jsontext.Value, binding func(name string, value []byte) bool) []*genwayv1.NativeField {
	if len(extra) == 0 {
		return nil
	}
	var fields []*genwayv1.NativeField
	if _, ok := skim(extra, func(name, value span) bool {
		if extra[value.from] == 'n' || but[string(extra[name.from:name.to])] {
			return false
		}
		f := &genwayv1.NativeField{Protocol: protocol, Name: string(extra[name.from:name.to]), Json: extra[value.from:value.to:value.to]}
		if f.Binding = binding != nil && binding(f.Name, f.Json); but != nil {
			f.Json = bytes.Clone(f.Json)
		}
		fields = append(fields, f)
		return false
	}); ok && utf8.Valid(extra) {
		return fields
	}
	return slices.DeleteFunc(decodedNatives(protocol, extra, binding), func(f *genwayv1.NativeField) bool { return but[f.Name] })
}

// NativesUnder returns the unknown members of an object that has no canonical message of its own:
// they belong to the message around it, and their names begin with prefix, which ends with a dot.
func NativesUnder(protocol genwayv1.Protocol, prefix string, extra jsontext.Value) []*genwayv1.NativeField {
	fields := Natives(protocol, extra, nil)
	for _, f := range fields {
		f.Name = prefix + f.Name
	}
	return fields
}

// HasNative reports whether a field has that name.
func HasNative(fields []*genwayv1.NativeField, name string) bool {
	return slices.ContainsFunc(fields, func(f *genwayv1.NativeField) bool { return f.Name == name })
}

// decodedNatives is Natives for objects whose names have escapes, or may not be text. Members
// ahead of a mistake count.
func decodedNatives(protocol genwayv1.Protocol, extra jsontext.Value, binding func(name string, value []byte) bool) []*genwayv1.NativeField {
	var fields []*genwayv1.NativeField
	_ = Walk(extra, func(name string, value jsontext.Value) bool {
		if value.Kind() != 'n' {
			fields = append(fields, &genwayv1.NativeField{Protocol: protocol, Name: name, Json: bytes.Clone(value), Binding: binding != nil && binding(name, value)})
		}
		return true
	}, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	return fields
}

// Extra returns the native fields of the protocol as the value of a
// `json:",embed"` field. A value that is no JSON is refused, since it could end its object
// and go on with members of another. Fields of another protocol are refused when binding and
// named in losses otherwise; path is the path of the object they belong to. Marks are
// passed over.
func Extra(protocol genwayv1.Protocol, fields []*genwayv1.NativeField, path string, losses *codec.Losses) (jsontext.Value, error) {
	var out []byte
	for _, f := range fields {
		if IsMark(f) {
			continue
		}
		if f.Protocol != protocol {
			if err := OmitNative(f, path, losses); err != nil {
				return nil, err
			}
			continue
		}
		if !Valid(f.Json) {
			at := Join(path, f.Name)
			return nil, fault.Invalid(at, "%s is not valid JSON", at)
		}
		if out == nil {
			out = append(out, '{')
		} else {
			out = append(out, ',')
		}
		quoted, err := jsontext.AppendQuote(out, f.Name)
		if err != nil {
			return nil, fault.Wrap(err, fault.Internal, "ENCODE", "%s", fault.InternalMessage)
		}
		out = append(append(quoted, ':'), f.Json...)
	}
	if out != nil {
		out = append(out, '}')
	}
	return out, nil
}

// OmitNative refuses a field of another protocol that binds, and names another one as lost. A mark, and a value that
// says what is so without the member, are neither. path is the path of the object it belongs to.
func OmitNative(f *genwayv1.NativeField, path string, losses *codec.Losses) error {
	if IsMark(f) || !setting.Says(f.Protocol, path, f.Name, f.Json) {
		return nil
	}
	member := Join(path, f.Name)
	if f.Binding {
		return fault.Unsupported(member, "%s cannot be carried to the upstream this model is routed to", member)
	}
	losses.Add(member, "the target protocol has no place for it")
	return nil
}

// Native finds the value of a native field of the protocol; nil when absent.
func Native(protocol genwayv1.Protocol, fields []*genwayv1.NativeField, name string) jsontext.Value {
	for _, f := range fields {
		if f.Protocol == protocol && f.Name == name {
			return f.Json
		}
	}
	return nil
}

// Time is a Unix time in seconds. It is nil for 0, which stands for no time, and for one that
// no Timestamp can hold, such as a time in milliseconds.
func Time(seconds int64) *timestamppb.Timestamp {
	if seconds == 0 {
		return nil
	}
	if t := (&timestamppb.Timestamp{Seconds: seconds}); t.IsValid() {
		return t
	}
	return nil
}

// Mark is a native field without a value. It says which of several members of
// the protocol the surrounding message came in (max_completion_tokens rather
// than max_tokens), so that an encoder of the same protocol chooses that one
// again. What it says is in the canonical fields, so no other protocol loses
// anything by it: Extra passes marks over.
func Mark(protocol genwayv1.Protocol, name string) *genwayv1.NativeField {
	return &genwayv1.NativeField{Protocol: protocol, Name: name}
}

// Marked reports whether fields have that mark.
func Marked(protocol genwayv1.Protocol, fields []*genwayv1.NativeField, name string) bool {
	for _, f := range fields {
		if f.Protocol == protocol && f.Name == name && IsMark(f) {
			return true
		}
	}
	return false
}

// IsMark reports whether the field is a mark.
func IsMark(f *genwayv1.NativeField) bool { return len(f.GetJson()) == 0 }

// LiftedMark marks an opaque part of which all that it says is in canonical fields as
// well. Only an encoder of its own protocol writes it; the others skip it and lose
// nothing.
const LiftedMark = "lifted"

// Lifted reports whether a part is such a part.
func Lifted(p *genwayv1.Part) bool {
	o := p.GetOpaque()
	return o != nil && Marked(o.Protocol, p.NativeFields, LiftedMark)
}

// AllLifted reports whether a message is nothing but such parts.
func AllLifted(m *genwayv1.Message) bool {
	return len(m.GetParts()) > 0 && !slices.ContainsFunc(m.Parts, func(p *genwayv1.Part) bool { return !Lifted(p) })
}
