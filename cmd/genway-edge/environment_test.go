package main

import (
	"testing"

	"github.com/genway/genway/cmd/internal/cli/clitest"
)

// Every flag of genway-edge has an environment variable, and docs/operation.md says which.
func TestEnvironment(t *testing.T) {
	clitest.Environment(t, program(), "../../docs/operation.md", "")
}
