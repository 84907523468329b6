package clitest

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/genway/genway/cmd/internal/cli"
)

// Environment fails unless each flag that the help of a command tells of has an
// environment variable, and the document names both.
func Environment(t *testing.T, program cli.Program, document string, command ...string) {
	t.Helper()
	text, err := os.ReadFile(document) //nolint:gosec // a test names it
	if err != nil {
		t.Fatal(err)
	}
	entries := strings.Split(helpOf(t, program, command...), "\n  --")[1:]
	for _, entry := range entries {
		name := regexp.MustCompile(`^[a-z-]+`).FindString(entry)
		if name == "version" {
			continue
		}
		variable := regexp.MustCompile(`\$(GENWAY_\w+)`).FindStringSubmatch(entry)
		if variable == nil {
			t.Errorf("--%s has no environment variable", name)
		} else if !strings.Contains(string(text), "`"+variable[1]+"`") || !strings.Contains(string(text), "`--"+name+"`") {
			t.Errorf("%s does not name %s and --%s", document, variable[1], name)
		}
	}
	if len(entries) < 5 {
		t.Errorf("there are %d flags", len(entries))
	}
}
