package clitest

import (
	"regexp"
	"strings"
	"testing"

	"github.com/genway/genway/cmd/internal/cli"
)

// Help fails unless every command that a program's help lists has a help of its own, and
// all that is in them is described, within 80 columns.
func Help(t *testing.T, program cli.Program) {
	t.Helper()
	root := helpOf(t, program)
	commands := regexp.MustCompile(`(?m)^  `+program.Name+` ([a-z ]*[a-z]).*\[flags\]$`).FindAllStringSubmatch(root, -1)
	if strings.Contains(root, "\nCommands:\n") == (len(commands) == 0) {
		t.Errorf("the commands are not found in\n%s", root)
	}
	texts := []string{root}
	for _, command := range commands {
		texts = append(texts, helpOf(t, program, strings.Fields(command[1])...))
	}
	for _, text := range texts {
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			if len([]rune(line)) > 80 {
				t.Errorf("a long line: %s", line)
			}
			if regexp.MustCompile(`^  \S`).MatchString(line) && !strings.HasPrefix(lines[i+1], "      ") {
				t.Errorf("not described: %s", line)
			}
		}
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
