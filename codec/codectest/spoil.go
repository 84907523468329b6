package codectest

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// value is a JSON value that can be changed.
type value struct {
	// name is a member's, as it is written.
	name string
	// raw is the value, unless it is an object or an array: these have members.
	raw     string
	kind    jsontext.Kind
	members []*value
}

// parse reads a valid value.
func parse(raw jsontext.Value) *value {
	v := &value{kind: raw.Kind()}
	if v.kind != '{' && v.kind != '[' {
		v.raw = string(bytes.TrimSpace(raw))
		return v
	}
	d := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	_, _ = d.ReadToken()
	for d.PeekKind() != '}' && d.PeekKind() != ']' {
		var name jsontext.Value
		if v.kind == '{' {
			name, _ = d.ReadValue()
			name = name.Clone()
		}
		inner, err := d.ReadValue()
		if err != nil {
			return v
		}
		m := parse(inner.Clone())
		m.name = string(name)
		v.members = append(v.members, m)
	}
	return v
}

// spell writes the value. gap returns what is between two tokens; nil is nothing.
func (v *value) spell(gap func() string) []byte {
	if gap == nil {
		gap = func() string { return "" }
	}
	var out []byte
	switch v.kind {
	case '{', '[':
		out = append(append(out, byte(v.kind)), gap()...)
		for i, m := range v.members {
			if i > 0 {
				out = append(append(out, ','), gap()...)
			}
			if v.kind == '{' {
				out = append(append(append(append(out, m.name...), gap()...), ':'), gap()...)
			}
			out = append(append(out, m.spell(gap)...), gap()...)
		}
		return append(out, byte(v.kind)+2)
	}
	return append(out, v.raw...)
}

// all returns the value and all in it.
func (v *value) all() []*value {
	list := []*value{v}
	for _, m := range v.members {
		list = append(list, m.all()...)
	}
	return list
}

// oddities are values and names that decoders stumble over.
var (
	oddities = []string{
		`null`, `true`, `false`, `0`, `-0`, `1`, `-1`, `1e3`, `1E+2`, `1.0`, `-0.0`, `1.5`, `0.1e1`, `255`, `256`, `2147483647`, `2147483648`,
		`-2147483649`, `9223372036854775807`, `9223372036854775808`, `-9223372036854775808`, `1e400`, `1e-400`, `18446744073709551616`, `01`, `+1`,
		`1.`, `.5`, `-`, `""`, `"x"`, `"null"`, `"12"`, `"1e2"`, `"QUJD"`, `"QUJ-_w=="`, `"\u0000"`, `"\ud800"`, `"\udc00\ud800"`, `"\ud83d\ude00"`,
		`"\ud83dx"`, `"\u00e9\/\b\f\n\r\t\\\""`, "\"\xff\"", "\"\xed\xa0\x80\"", `"é\u0041"`, "\"\t\"", `"\x"`, `[]`, `{}`, `[null]`, `[1,"a",{}]`,
		`["a",null]`, `[[[]]]`, `{"a":1}`, `{"a":1,"a":2}`, `{"a":{"b":1,"\u0062":2}}`, `{"type":"x"}`, `{"type":null}`, `{"":""}`, `nul`, `truefalse`, `{"a"}`, `[1,]`,
		strings.Repeat("[", 120) + strings.Repeat("]", 120), strings.Repeat(`{"a":`, 230) + `1` + strings.Repeat("}", 230),
		`"` + strings.Repeat("long ", 40) + `"`, `"` + strings.Repeat(`long\n`, 40) + `é"`,
	}
	names = []string{`""`, `"x"`, `"type"`, `"\u0074ype"`, `"Type"`, `"type "`, `"content"`, `"\u0000"`, `"\ud800"`, "\"\xff\"", `"é"`, `"a\"b"`, `"id"`, `"index"`}
	gaps  = []string{"", "", "", " ", "\n\t", "\r\n  "}
)

// Spoiled returns a body after a few changes, most of which leave it JSON.
func Spoiled(t *rapid.T, body []byte) []byte {
	root := parse(body)
	for range rapid.IntRange(0, 4).Draw(t, "changes") {
		change(t, root)
	}
	gap := func() string { return "" }
	if rapid.Bool().Draw(t, "blanks") {
		gap = func() string { return rapid.SampledFrom(gaps).Draw(t, "blank") }
	}
	out := append([]byte(gap()), root.spell(gap)...)
	out = append(out, gap()...)
	at := rapid.IntRange(0, len(out)).Draw(t, "at")
	switch rapid.IntRange(0, 11).Draw(t, "bytes") {
	case 0:
		return out[:at]
	case 1:
		return append(out[:at:at], append([]byte(rapid.SampledFrom(oddities).Draw(t, "oddity")), out[at:]...)...)
	case 2:
		if at < len(out) {
			out[at] = rapid.Byte().Draw(t, "byte")
		}
	}
	return out
}

// change makes one change.
func change(t *rapid.T, root *value) {
	v := rapid.SampledFrom(root.all()).Draw(t, "value")
	odd := &value{name: rapid.SampledFrom(names).Draw(t, "name"), raw: rapid.SampledFrom(oddities).Draw(t, "oddity")}
	switch n := len(v.members); rapid.IntRange(0, 6).Draw(t, "change") {
	case 0:
		v.members = append(v.members, odd)
	case 1:
		if n > 0 {
			twin := *v.members[rapid.IntRange(0, n-1).Draw(t, "twin")]
			v.members = append(v.members, &twin)
		}
	case 2:
		if n > 0 {
			v.members[rapid.IntRange(0, n-1).Draw(t, "renamed")].name = odd.name
		}
	case 3:
		if n > 0 {
			at := rapid.IntRange(0, n-1).Draw(t, "removed")
			v.members = append(v.members[:at:at], v.members[at+1:]...)
		}
	case 4:
		if n > 1 {
			i := rapid.IntRange(1, n-1).Draw(t, "swapped")
			v.members[0], v.members[i] = v.members[i], v.members[0]
		}
	case 5:
		if v != root {
			inner := *v
			*v = value{name: v.name, kind: '[', members: []*value{&inner}}
		}
	default:
		if v != root {
			v.raw, v.kind, v.members = odd.raw, 0, nil
		}
	}
}
