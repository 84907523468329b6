package coreproc_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/genway/genway/cmd/internal/coreproc"
	"github.com/genway/genway/core/store"
)

// The flag says where data is kept, else the configuration, else the data directory.
func TestLocation(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const url = "postgres://u@h/d"
	with, without := file("with.yaml", "store: "+url), file("without.yaml", "routes: []")
	for name, test := range map[string]struct {
		data coreproc.Data
		want string
	}{
		"flag first":         {coreproc.Data{Store: "postgres://first", Config: with, Dir: dir}, "postgres://first"},
		"then configuration": {coreproc.Data{Config: with, Dir: dir}, url},
		"then directory":     {coreproc.Data{Config: without, Dir: dir}, filepath.Join(dir, store.FileName)},
		"no configuration":   {coreproc.Data{Dir: dir}, filepath.Join(dir, store.FileName)},
	} {
		if got, err := test.data.Location(); err != nil || got != test.want {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, test.want)
		}
	}
	if _, err := (coreproc.Data{Config: filepath.Join(dir, "none.yaml"), Dir: dir}).Location(); err == nil {
		t.Error("a configuration that is not there is passed over")
	}
}
