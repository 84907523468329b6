package responses

import (
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// native is a member of this protocol that does not bind.
func native(name string, json []byte) *genwayv1.NativeField {
	return &genwayv1.NativeField{Protocol: protocol, Name: name, Json: json}
}

func nativeText(name, text string) *genwayv1.NativeField {
	return native(name, member.AppendQuote(nil, text))
}

// textIn reads a field whose value is a string.
func textIn(f *genwayv1.NativeField) string { return unquote(f.GetJson()) }

// split is the inverse of member.NativesUnder: it takes the fields of this protocol with
// the prefix out, and returns them without it.
func split(fields []*genwayv1.NativeField, prefix string) (rest, inner []*genwayv1.NativeField) {
	for i, f := range fields {
		name, ok := strings.CutPrefix(f.Name, prefix)
		if !ok || f.Protocol != protocol {
			if inner != nil {
				rest = append(rest, f)
			}
			continue
		}
		if inner == nil {
			rest = append(rest, fields[:i]...)
		}
		inner = append(inner, &genwayv1.NativeField{Protocol: f.Protocol, Name: name, Json: f.Json, Binding: f.Binding})
	}
	if inner == nil {
		return fields, nil
	}
	return rest, inner
}

// without takes the field of this protocol with the name out.
func without(fields []*genwayv1.NativeField, name string) (rest []*genwayv1.NativeField, found *genwayv1.NativeField) {
	for i, f := range fields {
		if f.Protocol == protocol && f.Name == name {
			return append(fields[:i:i], fields[i+1:]...), f
		}
	}
	return fields, nil
}

// extras returns the fields of this protocol to splice into an object of an
// answer, where those of another are always but a loss.
func extras(fields []*genwayv1.NativeField, path string, losses *codec.Losses) jsontext.Value {
	var own []*genwayv1.NativeField
	for _, f := range fields {
		if f.Protocol == protocol {
			own = append(own, f)
			continue
		}
		losses.Add(member.Join(path, f.Name), "the target protocol has no place for it")
	}
	out, err := member.Extra(protocol, own, path, losses)
	if err != nil {
		return nil
	}
	return out
}
