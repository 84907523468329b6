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

// No number and no duration beyond its bounds is taken without a word.
func TestBounds(t *testing.T) {
	clitest.Bounds(t, program, []string{"serve"})
	clitest.Bounds(t, program, []string{"audit", "list"})
	clitest.Bounds(t, program, []string{"ledger", "reconcile"}, "answers.csv")
}

// Every flag keeps its name, its environment variable and its default.
func TestFlags(t *testing.T) { clitest.Flags(t, "testdata/flags.txt", program()) }
