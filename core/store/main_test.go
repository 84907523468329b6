//go:build unix

package store_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/genway/genway/test/servers"
)

// The test binary is also the other processes of TestManyProcesses and TestP28PartitionKilled.
func TestMain(m *testing.M) {
	if location := os.Getenv(childVariable); location != "" {
		os.Exit(child(location))
	}
	if at := os.Getenv(partitionVariable); at != "" {
		os.Exit(partitioningChild(at))
	}
	goleak.VerifyTestMain(servers.Main{M: m})
}
