package main

import (
	"strings"
	"testing"

	"github.com/genway/genway/cmd/internal/cli/clitest"
)

// Every flag of genway serve has an environment variable, and docs/reference/flags.md says which.
func TestEnvironment(t *testing.T) {
	clitest.Environment(t, program(), "../../docs/reference/flags.md", "serve")
}

// The help of serve is in groups and fits two screens.
func TestHelpOfServeFitsTwoScreens(t *testing.T) {
	t.Setenv("COLUMNS", "110")
	command, err := program().Parse([]string{"serve", "--help"})
	if err != nil {
		t.Fatal(err)
	}
	var help strings.Builder
	if err := command.Run(t.Context(), &help); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(help.String(), "\n"); lines > 120 {
		t.Errorf("%d lines", lines)
	}
	for _, group := range []string{"Data:", "JSON side:", "gRPC side:", "Limits:", "Console:", "Logs, metrics, traces:", "Start and end:", "Sandbox:"} {
		if strings.Count(help.String(), "\n"+group+"\n") != 1 {
			t.Errorf("no group %s", group)
		}
	}
}
