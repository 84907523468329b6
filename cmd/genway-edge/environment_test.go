package main

import (
	"testing"

	"github.com/genway/genway/cmd/internal/cli/clitest"
)

// Every flag of genway-edge has an environment variable, and docs/reference/flags.md says which.
func TestEnvironment(t *testing.T) {
	clitest.Environment(t, program(), "../../docs/reference/flags.md", "")
}
