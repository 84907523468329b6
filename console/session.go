package console

import (
	"crypto/sha256"
	"sync"
	"time"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
)

const (
	// idleTimeout ends a session that nobody uses.
	idleTimeout = 30 * time.Minute
	// knownFor is how long what is known of a session is good for showing it. Rights are
	// asked of the Admin service with each call.
	knownFor = 10 * time.Second
	// maxSessions bounds how many sessions are remembered.
	maxSessions = 10_000
)

// sessions remembers when each session was used last, by the hash of its key.
type sessions struct {
	mu    sync.Mutex
	clock func() time.Time
	by    map[[sha256.Size]byte]*seen
}

type seen struct {
	last, asked time.Time
	key         *adminv1.Key
}

func newSessions(clock func() time.Time) *sessions {
	return &sessions{clock: clock, by: map[[sha256.Size]byte]*seen{}}
}

// use notes that a session is used. It reports whether it was idle for too long, and returns the
// session's key if that was asked for a moment ago.
func (s *sessions) use(raw string) (key *adminv1.Key, idle bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock()
	known := s.by[sha256.Sum256([]byte(raw))]
	if known == nil {
		return nil, false
	}
	if now.Sub(known.last) > idleTimeout {
		return nil, true
	}
	known.last = now
	if now.Sub(known.asked) > knownFor {
		return nil, false
	}
	return known.key, false
}

// note remembers a session.
func (s *sessions) note(raw string, key *adminv1.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock()
	if len(s.by) >= maxSessions {
		for k, known := range s.by {
			if now.Sub(known.last) > idleTimeout {
				delete(s.by, k)
			}
		}
	}
	if len(s.by) < maxSessions {
		s.by[sha256.Sum256([]byte(raw))] = &seen{last: now, asked: now, key: key}
	}
}

// forget drops a session.
func (s *sessions) forget(raw string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.by, sha256.Sum256([]byte(raw)))
}
