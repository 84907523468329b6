package chat

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// Schemas reach an upstream byte for byte (T16), blanks included: models see
// them as they are written, and prompt caches compare them. The JSON library
// strips blanks, so that a schema is marshaled as a hole and filled in after.
//
// No string of ours is spelled as the hole is, and nothing raw is written ahead
// of a hole, so that the first member of the name with a hole is the one.
const hole = `"\u0067enway"`

var holeValue = jsontext.Value(hole)

// fill puts raw in the place of the first member of the name that is a hole.
func fill(body []byte, name string, raw []byte) []byte {
	member := []byte(`"` + name + `":` + hole)
	before, after, ok := bytes.Cut(body, member)
	if !ok {
		return body
	}
	out := make([]byte, 0, len(body)+len(raw))
	out = append(append(out, before...), member[:len(member)-len(hole)]...)
	return append(append(out, raw...), after...)
}

// toolList and functionList are marshaled as holes.
type toolList []tool

func (toolList) MarshalJSONTo(e *jsontext.Encoder) error { return e.WriteValue(holeValue) }

type functionList []function

func (functionList) MarshalJSONTo(e *jsontext.Encoder) error { return e.WriteValue(holeValue) }

func (*responseFormat) MarshalJSONTo(e *jsontext.Encoder) error { return e.WriteValue(holeValue) }

// marshal spells the request, the holes filled.
func (r *request) marshal() ([]byte, error) {
	body, err := marshal(r)
	if err != nil {
		return nil, err
	}
	if r.Tools != nil {
		list, err := listOf(r.Tools, (*tool).marshal)
		if err != nil {
			return nil, err
		}
		body = fill(body, "tools", list)
	}
	if r.Functions != nil {
		list, err := listOf(r.Functions, (*function).marshal)
		if err != nil {
			return nil, err
		}
		body = fill(body, functionsName, list)
	}
	if r.ResponseFormat != nil {
		format, err := r.ResponseFormat.marshal()
		if err != nil {
			return nil, err
		}
		body = fill(body, responseFormatName, format)
	}
	return body, nil
}

func listOf[T any](list []T, marshal func(*T) ([]byte, error)) ([]byte, error) {
	out := []byte{'['}
	for i := range list {
		one, err := marshal(&list[i])
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, one...)
	}
	return append(out, ']'), nil
}

func (t *tool) marshal() ([]byte, error) {
	type plain tool
	switch {
	case t.verbatim.raw != nil:
		return t.verbatim.raw, nil
	case t.Function != nil:
		return filled((*plain)(t), &t.Function.Parameters, "parameters")
	case t.Custom != nil:
		return filled((*plain)(t), &t.Custom.Format, "format")
	}
	return marshal((*plain)(t))
}

func (f *function) marshal() ([]byte, error) { return filled(f, &f.Parameters, "parameters") }

func (f *responseFormat) marshal() ([]byte, error) {
	type plain responseFormat
	switch {
	case f.verbatim.raw != nil:
		return f.verbatim.raw, nil
	case f.JSONSchema != nil:
		return filled((*plain)(f), &f.JSONSchema.Schema, "schema")
	}
	return marshal((*plain)(f))
}

// filled marshals v with the raw member of it, called name, copied as it is.
func filled(v any, raw *jsontext.Value, name string) ([]byte, error) {
	schema := *raw
	if schema == nil {
		return marshal(v)
	}
	*raw = holeValue
	body, err := marshal(v)
	*raw = schema
	if err != nil {
		return nil, err
	}
	return fill(body, name, schema), nil
}
