package codectest

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/tools/txtar"
)

// SeedFrames adds the data of each event in the golden files.
func SeedFrames(f *testing.F) {
	f.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	deeper, _ := filepath.Glob("testdata/*/*.txtar")
	if files = append(files, deeper...); err != nil || len(files) == 0 {
		f.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, section := range txtar.Parse(raw).Files {
			for _, frame := range ParseFrames(string(section.Data)) {
				f.Add(frame.Data)
			}
		}
	}
}

// SameWire compares what was read without reflection with what the decoder reads. Raw
// JSON is the same whatever white space is around its members; null and empty say as
// little as nothing.
func SameWire(t *testing.T, data []byte, got, want any, opts ...cmp.Option) {
	t.Helper()
	spelled := cmp.Transformer("spelled", func(v jsontext.Value) string {
		v = v.Clone()
		_ = v.Compact(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
		if string(v) == "null" {
			return ""
		}
		return string(v)
	})
	all := cmp.Exporter(func(reflect.Type) bool { return true })
	others := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().Type() != reflect.TypeFor[jsontext.Value]() }, cmpopts.EquateEmpty())
	if diff := cmp.Diff(want, got, append(opts, all, spelled, others)...); diff != "" {
		t.Fatalf("%q is not what the decoder reads (-decoder +plain):\n%s", data, diff)
	}
}
