//go:build unix

package servertest

import (
	"sync"
	"testing"
)

// Main is a package's tests, for goleak.VerifyTestMain or os.Exit(Main{m}.Run()): its
// Run ends the servers that the tests have shared.
type Main struct{ M *testing.M }

// Run runs the tests and gives their exit code.
func (m Main) Run() int {
	defer shared.stop()
	return m.M.Run()
}

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
		s.postgres.end()
	}
	if s.redis != nil {
		s.redis.end()
	}
	s.postgres, s.redis = nil, nil
}
