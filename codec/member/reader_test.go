package member_test

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/genway/genway/codec/codectest"
	"github.com/genway/genway/codec/internal/wiregen/kinds"
	"github.com/genway/genway/codec/member"
)

const everyKind = `{"string":"s","pstring":"p","list":["a","b"],"map":{"k":"v"},"bool":true,"pbool":false,"int":-7,"int32":2147483647,` +
	`"int64":9007199254740993,"octets":[0,255],"float":1.5e-3,"pfloat":-0,"raw":{"x": [1, "y"]},"raws":[1, {"a":null}],"inner":{"a":"i"},` +
	`"pinner":{"a":"p","deep":[{"a":"q"}]},"inners":[{"a":"1"},{"a":"2","deep":[]}],"pinners":[{}],"rest":1e5,"more": "\\u0000"}`

func TestReadKinds(t *testing.T) {
	wire := codectest.WireOf[kinds.Kinds]()
	wire(t, []byte(everyKind))
	wire(t, []byte(`{}`))
	var all kinds.Kinds
	if !member.Read([]byte(everyKind), &all) || *all.Int32 != 2147483647 || string(all.Rest) != `{"rest":1e5,"more":"\\u0000"}` {
		t.Errorf("%+v", all)
	}
	// Each member is null, of each wrong type, empty, twice there and cut.
	for field := range reflect.TypeFor[kinds.Kinds]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		for _, value := range []string{
			`null`, `true`, `1`, `-1`, `256`, `1.0`, `1e3`, `2147483648`, `9223372036854775808`, `1e999`, `""`, `"x"`, `[]`, `{}`, `[null]`, `["a",null]`,
			`{"a":null}`, `{"a":"1","a":"2"}`, `{"\u0061":"1"}`, `[{"a":"1"},null]`, `[1,2`, `"\ud800"`, `[{"deep":[null]}]`, `{"deep":{}}`,
		} {
			wire(t, fmt.Appendf(nil, `{"%s":%s}`, name, value))
			wire(t, fmt.Appendf(nil, ` { "%s" : %s , "%s" : %s } `, name, value, name, value))
			wire(t, fmt.Appendf(nil, `{"unknown":%s,"bool":true,"unknown2":%s}`, value, value))
		}
	}
}

func FuzzReadKinds(f *testing.F) {
	f.Add([]byte(everyKind))
	wire := codectest.WireOf[kinds.Kinds]()
	f.Fuzz(func(t *testing.T, body []byte) { wire(t, body) })
}

// What was read is written, and read again.
func TestWriteKinds(t *testing.T) {
	for body, want := range map[string]string{
		everyKind: "",
		`{}`:      `{"string":"","pstring":null,"int64":0,"inner":{},"pinner":null}`,
		`{"inners":[],"list":[],"map":{},"pinners":[],"raw":null,"pbool":false,"pfloat":0,"int32":0}`: `{"string":"","pstring":null,"pbool":false,"int32":0,"int64":0,"pfloat":0,"raw":null,"inner":{},"pinner":null,"inners":[],"pinners":[]}`,
	} {
		var v, again kinds.Kinds
		if !member.Read([]byte(body), &v) {
			t.Fatalf("%s is not read", body)
		}
		written, err := v.Write()
		if err != nil || want != "" && string(written) != want {
			t.Errorf("%s: %s, %v, want %s", body, written, err, want)
		}
		v.Raws = nil // never written
		if want == "" && (!member.Read(written, &again) || !reflect.DeepEqual(again, v)) {
			t.Errorf("%s is\n%+v, not\n%+v", written, again, v)
		}
	}
}

// The library reads what has no generated code.
func TestReadLeavesOthers(t *testing.T) {
	var v struct {
		Base []byte `json:"Base"`
		Any  any    `json:"Any"`
	}
	body := []byte(`{"Base":"QUI=","Any":1}`)
	if member.Read(body, &v) {
		t.Errorf("%T is read", v)
	}
	if err := member.Decode(body, &v); err != nil || string(v.Base) != "AB" {
		t.Errorf("%+v %v", v, err)
	}
}

// What was read keeps nothing of the body, which may be used again, but for values in
// lists.
func TestReadKeepsNoBody(t *testing.T) {
	body := []byte(everyKind)
	var got, want kinds.Kinds
	if !member.Read(body, &got) || !member.Read([]byte(everyKind), &want) {
		t.Fatal("not read")
	}
	got.Raws, want.Raws = nil, nil
	copy(body, bytes.Repeat([]byte("#"), len(body)))
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

// Many names are distinguished, and duplicates among them are found.
func TestReadManyNames(t *testing.T) {
	wire := codectest.WireOf[kinds.Kinds]()
	for _, n := range []int{1, 31, 32, 33, 64, 65, 500} {
		var members []string
		for i := range n {
			members = append(members, fmt.Sprintf(`"name%d":{"a":[%d]}`, i, i))
		}
		wire(t, []byte("{"+strings.Join(members, ",")+"}"))
		for _, i := range []int{0, n / 2, n - 1} {
			wire(t, []byte("{"+strings.Join(append(members[:n:n], members[i]), ",")+"}"))
		}
	}
}
