package limit

const (
	// sweepEvery is how often accounts are looked through, in microseconds.
	sweepEvery = 10 * minute
	// sweepStep is how many of them one request looks at: none waits for all.
	sweepStep = 8
)

// sweeper is all accounts, in any order, and where looking through them has come to.
type sweeper struct {
	ring []*account
	// begun is when looking through them was last begun, at is the next one, and left is how
	// many of them are to be looked at.
	begun    int64
	at, left int
}

func (s *sweeper) add(a *account) { s.ring = append(s.ring, a) }

// sweep forgets accounts that are as if they had never been used: of some, as it goes on with
// each request.
func (m *Memory) sweep(now int64, starts [2]int64) {
	s := &m.sweeper
	if s.left == 0 {
		if now-s.begun < sweepEvery {
			return
		}
		s.begun, s.at, s.left = now, 0, len(s.ring)
	}
	for range min(s.left, sweepStep) {
		s.left--
		a := s.ring[s.at]
		if !a.idle(now, starts) {
			s.at++
			continue
		}
		delete(m.accounts, a.name)
		// The last one takes its place, and is looked at next; if it came since looking began, one of
		// those before is left for the next time.
		last := len(s.ring) - 1
		s.ring[s.at], s.ring[last] = s.ring[last], nil
		s.ring = s.ring[:last]
	}
}

func (a *account) idle(now int64, starts [2]int64) bool {
	idle := a.open == 0
	for i := range a.Rates {
		idle = idle && a.Rates[i].Free <= now
	}
	for p, s := range a.Money {
		idle = idle && (a.starts[p] < starts[p] || s == Spending{})
	}
	return idle
}
