package codectest

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/genway/genway/codec/member"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"
)

// Wire is a type that bodies are decoded into.
type Wire func(t TB, body []byte)

// WireOf is the type T. What member.Reader reads of a body has to be what the library
// reads. It may leave to the library only what is out of the ordinary.
func WireOf[T any]() Wire {
	return func(t TB, body []byte) {
		t.Helper()
		var got, want, zero T
		ok := member.Read(body, &got)
		err := json.Unmarshal(body, &want, member.Options())
		switch {
		case ok && err != nil:
			t.Fatalf("%T is read of %q: %v", got, body, err)
		case ok && !reflect.DeepEqual(got, want):
			t.Fatalf("%T of %q is\n%#v\nnot\n%#v", got, body, got, want)
		case !ok && !reflect.DeepEqual(got, zero):
			t.Fatalf("%T of %q is left as\n%#v", got, body, got)
		case !ok && err == nil && ordinary(body):
			t.Fatalf("%T is not read of %q", got, body)
		}
	}
}

// FuzzRoom holds that what is read in a room that is used again and again is what the library
// reads.
func FuzzRoom[T any](f *testing.F, room *member.Room) {
	f.Helper()
	SeedFrames(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		for range 2 {
			var got, want T
			if !member.ReadIn(room, data, &got) {
				return
			}
			if err := json.Unmarshal(data, &want, member.Options()); err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%T of %q is\n%#v\nnot\n%#v (%v)", got, data, got, want, err)
			}
		}
	})
}

// ordinary reports whether a body is an object with nothing in it that a reader need not
// take: escapes in names, halves of surrogate pairs, what is no UTF-8, and deep nesting.
func ordinary(body []byte) bool {
	return bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) && !bytes.ContainsRune(body, '\\') && utf8.Valid(body) &&
		bytes.Count(body, []byte("{"))+bytes.Count(body, []byte("[")) < 150
}

// Reads reads all objects of the golden cases, however deep they are, as all of the
// types, and what becomes of them when they are spoiled.
func Reads(t *testing.T, wires ...Wire) {
	t.Helper()
	all := objects(t)
	for _, body := range all {
		for _, wire := range wires {
			wire(t, body)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		body := Spoiled(t, rapid.SampledFrom(all).Draw(t, "object"))
		for _, wire := range wires {
			wire(t, body)
		}
	})
}

// FuzzReads is Reads for bodies of any sort.
func FuzzReads(f *testing.F, wires ...Wire) {
	f.Helper()
	for _, body := range objects(f) {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, wire := range wires {
			wire(t, body)
		}
	})
}

// sections returns the sections of the golden cases, and what fuzzing has found.
func sections(t testing.TB) [][]byte {
	t.Helper()
	files, _ := filepath.Glob("testdata/*.txtar")
	deeper, _ := filepath.Glob("testdata/*/*.txtar")
	found, _ := filepath.Glob("testdata/fuzz/*/*")
	var all [][]byte
	for _, file := range slices.Concat(files, deeper, found) {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, section := range txtar.Parse(raw).Files {
			all = append(all, section.Data)
		}
	}
	if len(all) == 0 {
		t.Fatal("no golden cases")
	}
	return all
}

// objects returns the objects that are in these.
func objects(t testing.TB) [][]byte {
	t.Helper()
	all := map[string]bool{}
	for _, section := range sections(t) {
		inside(all, section)
		for _, frame := range ParseFrames(string(section)) {
			inside(all, frame.Data)
		}
	}
	list := make([][]byte, 0, len(all))
	for body := range all {
		list = append(list, []byte(body))
	}
	slices.SortFunc(list, bytes.Compare)
	return list
}

// inside finds the objects in a value.
func inside(all map[string]bool, value []byte) {
	switch v := jsontext.Value(bytes.TrimSpace(value)); {
	case !v.IsValid(jsontext.AllowInvalidUTF8(true)):
	case v.Kind() == '{':
		all[string(v)] = true
		for _, m := range parse(v).members {
			inside(all, m.spell(nil))
		}
	case v.Kind() == '[':
		for _, e := range parse(v).members {
			inside(all, e.spell(nil))
		}
	}
}
