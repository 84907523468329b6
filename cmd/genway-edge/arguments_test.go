package main

import (
	"testing"

	"github.com/genway/genway/cmd/internal/cli/clitest"
)

// Command lines and environments, good and bad, are read as testdata/arguments.txt says.
func TestArguments(t *testing.T) {
	clitest.Run(t, "testdata/arguments.txt", program)
}

func TestHelp(t *testing.T) { clitest.Help(t, program()) }
