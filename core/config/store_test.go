package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/genway/genway/core/config"
)

// Commands that need the store alone get it from a file whose other variables are not
// set; what is wrong is reported with its place and without the value, which may have a
// password.
func TestLoadStore(t *testing.T) {
	env := func(name string) (string, bool) {
		return "postgres://u:canary@h/d", name == "DB"
	}
	for name, test := range map[string]struct{ file, want, err string }{
		"url":          {"store: postgres://u:p@h:5432/d?sslmode=require\nroutes: []\n", "postgres://u:p@h:5432/d?sslmode=require", ""},
		"variable":     {"upstreams: {a: {api_key: '${UNSET}'}}\nstore: ${DB}\n", "postgres://u:canary@h/d", ""},
		"file":         {"store: /var/lib/genway.db", "/var/lib/genway.db", ""},
		"none":         {"routes: []", "", ""},
		"empty":        {"", "", ""},
		"unset":        {"a: 1\nstore: ${UNSET}", "", "f.yaml:2:8: the environment variable UNSET is not set"},
		"not a string": {"store: {url: canary}", "", "f.yaml:1:"},
		"another kind": {"store: mysql://u:canary@h/d", "", "f.yaml:1:8: store: expected postgres://USER:PASSWORD@HOST:PORT/DATABASE, or the path of a file"},
		"no yaml":      {"store: [", "", "f.yaml:1:"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if err := os.WriteFile("f.yaml", []byte(test.file), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := config.LoadStore("f.yaml", env)
			if got != test.want || (err != nil) != (test.err != "") {
				t.Fatalf("got %q, %v, want %q", got, err, test.want)
			}
			if err != nil && (!strings.HasPrefix(err.Error(), test.err) || strings.Contains(err.Error(), "canary")) {
				t.Errorf("got %q, want %q", err, test.err)
			}
		})
	}
	if _, err := config.LoadStore(filepath.Join(t.TempDir(), "none"), env); err == nil {
		t.Error("a file that is not there has a store")
	}
}

// The whole file knows its store as well.
func TestStore(t *testing.T) {
	const routes = "\nroutes: [{model: '*', targets: [{upstream: sandbox}]}]\n"
	c, err := config.Parse("f.yaml", []byte("store: postgres://u:p@h/d"+routes), os.LookupEnv)
	if err != nil || c.Store != "postgres://u:p@h/d" {
		t.Errorf("got %+v, %v", c, err)
	}
	_, err = config.Parse("f.yaml", []byte("store: mysql://u:canary@h/d"+routes), os.LookupEnv)
	if err == nil || !strings.Contains(err.Error(), "f.yaml:1:8: store: expected ") || strings.Contains(err.Error(), "canary") {
		t.Errorf("got %v", err)
	}
}
