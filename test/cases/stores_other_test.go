//go:build !unix

package cases_test

import (
	"testing"

	"go.uber.org/goleak"
)

func runner(m *testing.M) goleak.TestingM { return m }

// stores make an empty database of each kind, and say where it is. The tests start
// PostgreSQL only on Unix.
var stores = map[string]func(testing.TB) (location string){"SQLite": newFile}
