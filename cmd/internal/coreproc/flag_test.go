package coreproc_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/cmd/internal/coreproc"
)

// The printed commands find the data that the server has, and no password is printed.
func TestDataFlag(t *testing.T) {
	const url = "postgres://u:canary@h/d"
	file := filepath.Join(t.TempDir(), "a b.yaml")
	if err := os.WriteFile(file, []byte("store: "+url), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		data coreproc.Data
		env  map[string]string
		want string
	}{
		"default":          {coreproc.Data{}, nil, ""},
		"directory":        {coreproc.Data{Dir: "a b"}, nil, " --data 'a b'"},
		"url":              {coreproc.Data{Store: url, Dir: "d"}, nil, " --store URL"},
		"url as in env":    {coreproc.Data{Store: url}, map[string]string{"GENWAY_STORE": url}, ""},
		"file":             {coreproc.Data{Store: "a b.db"}, nil, " --store 'a b.db'"},
		"configured":       {coreproc.Data{Config: file, Dir: "d"}, nil, " --config " + cli.ShellWord(file)},
		"config as in env": {coreproc.Data{Config: file}, map[string]string{"GENWAY_CONFIG": file}, ""},
	} {
		if got, err := c.data.Flag(func(name string) string { return c.env[name] }); err != nil || got != c.want {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, c.want)
		}
	}
}
