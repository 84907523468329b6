//go:build unix

package cases_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/genway/genway/test/servers"
)

// runner runs the tests and then ends the servers that they started.
func runner(m *testing.M) goleak.TestingM { return servers.Main{M: m} }

// stores make an empty database of each kind, and say where it is.
var stores = map[string]func(testing.TB) (location string){
	"SQLite": newFile, "PostgreSQL": servers.PostgresDatabase,
}
