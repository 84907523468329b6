package generatecontent

import (
	"bytes"
	"strings"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// natives are the members a wire struct has no field for. A name with a dot is
// refused: it would read as a nested one.
func natives(extra jsontext.Value, path string, binding map[string]bool) ([]*genwayv1.NativeField, error) {
	fields := member.Natives(protocol, extra, func(name string) bool { return binding[name] })
	for _, f := range fields {
		if strings.Contains(f.Name, ".") {
			return nil, fault.Invalid(member.Join(path, f.Name), "unknown member")
		}
	}
	return fields, nil
}

// nativesAt is natives for objects that mostly have none, none of which binds.
func nativesAt(extra jsontext.Value, place member.Place) ([]*genwayv1.NativeField, error) {
	if len(extra) == 0 {
		return nil, nil
	}
	return natives(extra, place.String(), nil)
}

// nested are the natives of an object inside the one the canonical message was,
// their names led by prefix (which ends with a dot).
func nested(prefix string, extra jsontext.Value, path string, binding map[string]bool) ([]*genwayv1.NativeField, error) {
	fields, err := natives(extra, path, binding)
	for _, f := range fields {
		f.Name = prefix + f.Name
	}
	return fields, err
}

// noFields are lists without fields. They are not to be written to.
var noFields [8][]*genwayv1.NativeField

// split takes apart what nested put together: one list for each prefix, their
// names without it, and last the fields with none of the prefixes. A field
// belongs to the first prefix that fits.
func split(fields []*genwayv1.NativeField, prefixes ...string) [][]*genwayv1.NativeField {
	if len(fields) == 0 {
		return noFields[:len(prefixes)+1]
	}
	lists := make([][]*genwayv1.NativeField, len(prefixes)+1)
next:
	for _, f := range fields {
		for i, prefix := range prefixes {
			if name, ok := strings.CutPrefix(f.Name, prefix); ok && f.Protocol == protocol {
				lists[i] = append(lists[i], &genwayv1.NativeField{Protocol: f.Protocol, Name: name, Json: f.Json, Binding: f.Binding})
				continue next
			}
		}
		lists[len(prefixes)] = append(lists[len(prefixes)], f)
	}
	return lists
}

// native makes a native field.
func native(name string, value jsontext.Value) *genwayv1.NativeField {
	return &genwayv1.NativeField{Protocol: protocol, Name: name, Json: value.Clone()}
}

// merge adds later natives to earlier ones of a stream, by name: the later value
// stands, unless it is empty (the vendor sends groundingMetadata: {} with most
// frames).
func merge(have, more []*genwayv1.NativeField) []*genwayv1.NativeField {
next:
	for _, f := range more {
		for i, h := range have {
			if h.Name == f.Name {
				if !isEmpty(f.Json) {
					have[i] = f
				}
				continue next
			}
		}
		have = append(have, f)
	}
	return have
}

func isEmpty(v jsontext.Value) bool {
	inner := bytes.TrimSpace(v)
	if len(inner) < 2 || inner[0] != '{' && inner[0] != '[' {
		return false
	}
	return len(bytes.TrimSpace(inner[1:len(inner)-1])) == 0
}
