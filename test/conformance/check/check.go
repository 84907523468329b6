// Package check holds the assertions that the conformance tests share.
package check

import (
	"strings"
	"testing"
)

// Contains fails the test for each text that got lacks, and goes on.
func Contains(tb testing.TB, got string, wants ...string) {
	tb.Helper()
	for _, want := range wants {
		if !strings.Contains(got, want) {
			tb.Errorf("lacks %q:\n%s", want, got)
		}
	}
}

// Equal fails the test when two values differ, and goes on.
func Equal[T comparable](tb testing.TB, what string, got, want T) {
	tb.Helper()
	if got != want {
		tb.Errorf("%s is %v, not %v", what, got, want)
	}
}

// Truef fails the test when a condition does not hold, and goes on.
func Truef(tb testing.TB, holds bool, format string, args ...any) {
	tb.Helper()
	if !holds {
		tb.Errorf(format, args...)
	}
}
