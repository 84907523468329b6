//go:build unix

package store_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/genway/genway/core/store"
	"github.com/genway/genway/test/servers"
)

// The test binary is also the other processes of TestManyProcesses.
func TestMain(m *testing.M) {
	if location := os.Getenv(childVariable); location != "" {
		os.Exit(child(location))
	}
	store.AnswerInASecond()
	goleak.VerifyTestMain(servers.Main{M: m})
}
