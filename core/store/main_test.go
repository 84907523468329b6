package store_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// The test binary is also the other processes of TestManyProcesses.
func TestMain(m *testing.M) {
	if path := os.Getenv(childVariable); path != "" {
		os.Exit(child(path))
	}
	goleak.VerifyTestMain(m)
}
