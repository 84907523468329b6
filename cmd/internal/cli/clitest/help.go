package clitest

import (
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/genway/genway/cmd/internal/cli"
)

// Help fails unless every command of a program has a help of its own, and all that is in it is
// described, within 80 columns.
func Help(t *testing.T, program cli.Program) {
	t.Helper()
	model, err := program.Model()
	if err != nil {
		t.Fatal(err)
	}
	root := helpOf(t, program)
	texts := []string{root}
	for _, command := range model.Leaves(true) {
		texts = append(texts, helpOf(t, program, strings.Fields(command.Path())...))
		if !strings.Contains(root, "\n  "+command.Summary()+"\n") {
			t.Errorf("the command %s is not found in\n%s", command.Path(), root)
		}
	}
	for _, text := range texts {
		for line := range strings.Lines(text) {
			if len([]rune(line)) > 81 {
				t.Errorf("a long line: %s", line)
			}
		}
	}
	if err := kong.Visit(model, func(node kong.Visitable, next kong.Next) error {
		switch n := node.(type) {
		case *kong.Node:
			if n.Help == "" {
				t.Errorf("not described: %s", n.FullPath())
			}
		case *kong.Value:
			if n.Help == "" {
				t.Errorf("not described: %s", n.ShortSummary())
			}
		case *kong.Flag:
			if n.Help == "" {
				t.Errorf("not described: %s", n.ShortSummary())
			}
		}
		return next(nil)
	}); err != nil {
		t.Fatal(err)
	}
}

// helpOf is what a command prints with --help.
func helpOf(t *testing.T, program cli.Program, command ...string) string {
	t.Helper()
	help, err := program.Parse(append(command, "--help"))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := help.Run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	if want := "Usage: " + strings.Join(append([]string{program.Name}, command...), " "); !strings.HasPrefix(out.String(), want) {
		t.Errorf("the help does not begin with %s:\n%s", want, out.String())
	}
	return out.String()
}
