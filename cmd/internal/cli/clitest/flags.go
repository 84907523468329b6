package clitest

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/genway/genway/cmd/internal/cli"
)

// Flags holds the arguments, flags, environment variables, defaults and choices of all
// commands of a program to a file. -update writes it.
func Flags(t *testing.T, file string, program cli.Program) {
	t.Helper()
	model, err := program.Model()
	if err != nil {
		t.Fatal(err)
	}
	commands := model.Leaves(true)
	if len(commands) == 0 {
		commands = []*kong.Node{model.Node}
	}
	var b strings.Builder
	for _, command := range commands {
		fmt.Fprintf(&b, "$ %s\n", command.FullPath())
		for _, argument := range command.Positional {
			fmt.Fprintf(&b, "%s%s\n", argument.ShortSummary(), properties(argument))
		}
		for _, flag := range command.Flags {
			if !ofEveryProgram(flag) {
				fmt.Fprintf(&b, "%s%s\n", flag.ShortSummary(), properties(flag.Value))
			}
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file) //nolint:gosec // a test names it
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("the flags are not those of %s, which -update writes; they are\n%s", file, b.String())
	}
}

func properties(v *kong.Value) string {
	var b strings.Builder
	if v.Flag != nil && len(v.Flag.Envs) > 0 {
		b.WriteString(" $" + strings.Join(v.Flag.Envs, " $"))
	}
	if v.HasDefault {
		fmt.Fprintf(&b, " default=%q", v.Default)
	}
	if v.Enum != "" {
		b.WriteString(" enum=" + strings.Join(v.EnumSlice(), "|"))
	}
	if v.Flag != nil && v.Required {
		b.WriteString(" required")
	}
	if v.Tag.Negatable != "" {
		b.WriteString(" negatable")
	}
	return b.String()
}
