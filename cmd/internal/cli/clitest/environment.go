package clitest

import (
	"os"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/genway/genway/cmd/internal/cli"
)

// Environment fails unless each flag of a command has an environment variable, its help shows
// the variable, and the document names both. An empty name is a program without commands.
func Environment(t *testing.T, program cli.Program, document, name string) {
	t.Helper()
	text, err := os.ReadFile(document) //nolint:gosec // a test names it
	if err != nil {
		t.Fatal(err)
	}
	model, err := program.Model()
	if err != nil {
		t.Fatal(err)
	}
	command, help := model.Node, helpOf(t, program)
	for _, child := range model.Children {
		if child.Name == name {
			command, help = child, helpOf(t, program, name)
		}
	}
	if len(command.Flags) < 5 {
		t.Errorf("there are %d flags", len(command.Flags))
	}
	for _, flag := range command.Flags {
		switch {
		case ofEveryProgram(flag), flag.Name == "data" && strings.Contains(flag.Help, "$GENWAY_DATA"):
		case len(flag.Envs) != 1:
			t.Errorf("--%s has no environment variable", flag.Name)
		case !strings.Contains(help, "$"+flag.Envs[0]):
			t.Errorf("the help does not name %s", flag.Envs[0])
		case !strings.Contains(string(text), "`"+flag.Envs[0]+"`") || !strings.Contains(string(text), "`--"+flag.Name+"`"):
			t.Errorf("%s does not name %s and --%s", document, flag.Envs[0], flag.Name)
		}
	}
}

// ofEveryProgram says whether a flag is one that every program has: it configures nothing.
func ofEveryProgram(flag *kong.Flag) bool {
	return flag.Name == "help" || flag.Name == "version" || flag.Name == "completion"
}
