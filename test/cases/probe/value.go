// Package probe looks into JSON by path, as a test does: choices[0].delta.content.
// It keeps the bytes, so that order, spelling and the difference between null and
// absent can be asserted.
//
// It must not import anything of ours.
package probe

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// Value is a JSON value, or the absence of one.
type Value struct {
	// Raw are its bytes as they stand in the document; empty when absent.
	Raw  json.RawMessage
	path string
	root json.RawMessage
}

// Parse reads a document; the test fails if it is not JSON.
func Parse(t *testing.T, document []byte) Value {
	t.Helper()
	if !json.Valid(document) {
		t.Fatalf("not JSON: %s", document)
	}
	return Value{Raw: bytes.TrimSpace(document), root: document}
}

// At returns the value at a path of members and indices: a.b[0].c. The index [-1]
// is the last element. What is not there is an absent Value.
func (v Value) At(path string) Value {
	out := Value{Raw: v.Raw, path: strings.TrimPrefix(v.path+"."+path, "."), root: v.root}
	for step := range strings.SplitSeq(strings.ReplaceAll(path, "[", ".["), ".") {
		if step == "" {
			continue
		}
		if index, ok := strings.CutPrefix(step, "["); ok {
			out.Raw = out.element(strings.TrimSuffix(index, "]"))
		} else {
			out.Raw = out.Members()[step]
		}
	}
	return out
}

func (v Value) element(index string) json.RawMessage {
	n, err := strconv.Atoi(index)
	list := v.List()
	if n < 0 {
		n += len(list)
	}
	if err != nil || n < 0 || n >= len(list) {
		return nil
	}
	return list[n].Raw
}

// Members returns the members of an object; nil for anything else.
func (v Value) Members() map[string]json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(v.Raw, &members) != nil {
		return nil
	}
	return members
}

// List returns the elements of an array; none for anything else.
func (v Value) List() []Value {
	var list []json.RawMessage
	if json.Unmarshal(v.Raw, &list) != nil {
		return nil
	}
	values := make([]Value, len(list))
	for i, raw := range list {
		values[i] = Value{Raw: raw, path: v.path + "[" + strconv.Itoa(i) + "]", root: v.root}
	}
	return values
}

// Exists reports whether there is a value, null included.
func (v Value) Exists() bool { return len(v.Raw) > 0 }

// Text is the value of a string; "" for anything else.
func (v Value) Text() string {
	var s string
	_ = json.Unmarshal(v.Raw, &s)
	return s
}

// Int is the value of a whole number; 0 for anything else.
func (v Value) Int() int64 {
	n, _ := strconv.ParseInt(string(v.Raw), 10, 64)
	return n
}

// Is demands that the value means the same as the JSON text: members in any
// order, numbers by value.
func (v Value) Is(t *testing.T, want string) {
	t.Helper()
	var a, b any
	if err := json.Unmarshal([]byte(want), &b); err != nil {
		t.Fatalf("%s: the test's own JSON: %v", want, err)
	}
	if !v.Exists() || json.Unmarshal(v.Raw, &a) != nil || !reflect.DeepEqual(a, b) {
		t.Errorf("%s is %s, want %s\nin %s", v.path, v.shown(), want, v.root)
	}
}

// Absent demands that the member is not there at all, not even as null.
func (v Value) Absent(t *testing.T) {
	t.Helper()
	if v.Exists() {
		t.Errorf("%s is %s, want it absent\nin %s", v.path, v.shown(), v.root)
	}
}

func (v Value) shown() string {
	if !v.Exists() {
		return "absent"
	}
	return string(v.Raw)
}
