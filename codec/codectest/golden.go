// Package codectest holds what the tests of every codec share: golden cases as
// txtar files and the round trips each codec must pass.
//
// Only tests import it.
package codectest

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

var update = flag.Bool("update", false, "rewrite the golden sections of testdata/*.txtar")

// Golden runs each testdata file that matches glob as a subtest. run gets the
// file's sections by name and returns the sections it makes; each must stand in
// the file as made. With -update the file is rewritten instead.
func Golden(t *testing.T, glob string, run func(t *testing.T, sections map[string]string) map[string]string) {
	t.Helper()
	files, err := filepath.Glob(glob)
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden cases match %s (%v)", glob, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			sections := map[string]string{}
			for _, f := range archive.Files {
				sections[f.Name] = strings.TrimSuffix(string(f.Data), "\n")
			}
			made := run(t, sections)
			if *update {
				rewrite(t, file, archive, made)
				return
			}
			for name, got := range made {
				want, ok := sections[name]
				if !ok {
					t.Errorf("%s has no section %s; run with -update", file, name)
				}
				if diff := cmp.Diff(want, strings.TrimSuffix(got, "\n")); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}

func rewrite(t *testing.T, file string, archive *txtar.Archive, made map[string]string) {
	t.Helper()
	for i, f := range archive.Files {
		if got, ok := made[f.Name]; ok {
			archive.Files[i].Data = []byte(strings.TrimSuffix(got, "\n") + "\n")
			delete(made, f.Name)
		}
	}
	for _, name := range sorted(made) {
		archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(strings.TrimSuffix(made[name], "\n") + "\n")})
	}
	if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

func sorted(m map[string]string) []string {
	var names []string
	for name := range m {
		at := 0
		for at < len(names) && names[at] < name {
			at++
		}
		names = append(names[:at], append([]string{name}, names[at:]...)...)
	}
	return names
}

// ProtoText spells a message for a golden section: protojson, indented, stable.
func ProtoText(t *testing.T, m proto.Message) string {
	t.Helper()
	raw, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return Indent(t, raw)
}

// Indent spells JSON for a golden section: one member a line, order kept.
func Indent(t *testing.T, raw []byte) string {
	t.Helper()
	var out bytes.Buffer
	if err := indent(&out, raw); err != nil {
		t.Fatalf("not JSON: %v: %s", err, raw)
	}
	return out.String()
}
