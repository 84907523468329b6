//go:build unix

package servers

import (
	"sync"
	"testing"
)

// Main is a package's tests, for goleak.VerifyTestMain or os.Exit(Main{m}.Run()): its
// Run ends the servers that the tests have shared.
type Main struct{ M *testing.M }

// Run runs the tests and returns their exit code.
func (m Main) Run() int {
	defer Stop()
	return m.M.Run()
}

// Stop ends the servers that the tests have shared, for a TestMain that has another
// runner.
func Stop() { shared.stop() }

// shared are the servers that the tests of this process have in common.
var shared sharing

type sharing struct {
	mu       sync.Mutex
	postgres *Postgres
	redis    *Redis
}

func (s *sharing) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.postgres != nil {
		s.postgres.End()
	}
	if s.redis != nil {
		s.redis.End()
	}
	s.postgres, s.redis = nil, nil
}
