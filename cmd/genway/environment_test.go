package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// Every flag of genway serve has an environment variable, and docs/operation.md says which.
func TestEnvironment(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "operation.md"))
	if err != nil {
		t.Fatal(err)
	}
	parser, err := kong.New(&serveCommand{})
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, flags := range parser.Model.AllFlags(false) {
		for _, flag := range flags {
			envs := flag.Envs
			switch flag.Name {
			case "help", "version":
				continue
			case "data": // read where the directory is chosen
				envs = []string{"GENWAY_DATA"}
			}
			if len(envs) != 1 {
				t.Errorf("--%s has %d environment variables", flag.Name, len(envs))
				continue
			}
			named++
			if row := "`" + envs[0] + "`"; !strings.Contains(string(text), row) || !strings.Contains(string(text), "`--"+flag.Name+"`") {
				t.Errorf("docs/operation.md does not name %s and --%s", row, flag.Name)
			}
		}
	}
	if named == 0 {
		t.Error("there are no flags")
	}
}
