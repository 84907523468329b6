package member

import (
	"bytes"

	"github.com/genway/genway/codec/fault"
	"github.com/go-json-experiment/json/jsontext"
)

// Member is one member of a JSON object. A nil Value removes it.
type Member struct {
	Name  string
	Value jsontext.Value
}

// Patch returns body, a JSON object, with the given top-level members set. Members
// that exist are replaced in their place, others are appended; every other byte
// is copied. The values are not checked. What the caller does not know to be JSON is to
// be scanned or decoded first. The result may be body itself.
func Patch(body []byte, members ...Member) ([]byte, error) {
	if len(members) == 1 {
		if out, ok := set(body, members[0]); ok {
			return out, nil
		}
	}
	d := jsontext.NewDecoder(bytes.NewReader(body), jsontext.AllowInvalidUTF8(true))
	tok, err := d.ReadToken()
	if err != nil || tok.Kind() != '{' {
		return nil, fault.New(fault.InvalidRequest, fault.ReasonMalformedJSON, "the body is not a JSON object")
	}
	out := make([]byte, 0, len(body)+64)
	done := make([]bool, len(members))
	copied := d.InputOffset()
	out = append(out, body[:copied]...)
	kept := 0
	for d.PeekKind() == '"' {
		before := d.InputOffset() // ahead of the comma, if there is one
		name, err := d.ReadToken()
		if err != nil {
			return nil, decodeFault(body, err)
		}
		at := indexOf(members, name.String())
		value, err := d.ReadValue()
		if err != nil {
			return nil, decodeFault(body, err)
		}
		end := d.InputOffset()
		if at >= 0 && members[at].Value == nil {
			out = append(out, body[copied:before]...)
			copied = end
			continue
		}
		if kept == 0 && copied == before && copied > 0 {
			// Everything ahead of this member was removed, its comma goes too.
			copied = skipComma(body, before)
		}
		kept++
		if at >= 0 {
			done[at] = true
			out = append(out, body[copied:end-int64(len(value))]...)
			out = append(out, members[at].Value...)
			copied = end
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, decodeFault(body, err)
	}
	closing := d.InputOffset() - 1
	out = append(out, body[copied:closing]...)
	for i, m := range members {
		if done[i] || m.Value == nil {
			continue
		}
		if kept > 0 {
			out = append(out, ',')
		}
		kept++
		if out, err = jsontext.AppendQuote(out, m.Name); err != nil {
			return nil, fault.Wrap(err, fault.Internal, "ENCODE", "%s", fault.InternalMessage)
		}
		out = append(append(out, ':'), m.Value...)
	}
	return append(out, body[closing:]...), nil
}

func skipComma(body []byte, at int64) int64 {
	rest := body[at:]
	if trimmed := bytes.TrimLeft(rest, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == ',' {
		return at + int64(len(rest)-len(trimmed)) + 1
	}
	return at
}

func indexOf(members []Member, name string) int {
	for i, m := range members {
		if m.Name == name {
			return i
		}
	}
	return -1
}
