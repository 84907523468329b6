package overload

import (
	"context"
	"sync"
	"time"
)

// processor is a model of one that does the work of admitted requests in the order of their coming. It has
// room when all that was there at the last look is done.
type processor struct {
	mu     sync.Mutex
	free   time.Time // when all work is done
	closed bool
	// long is what round returns: for how long goroutines ran that do not wait for anything.
	long time.Duration
}

func newProcessor() *processor { return &processor{free: time.Now()} }

// work returns it more to do, and when that will be done.
func (p *processor) work(lasts time.Duration) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := time.Now(); p.free.Before(now) {
		p.free = now
	}
	p.free = p.free.Add(lasts)
	return p.free
}

func (p *processor) round() (time.Duration, bool) {
	const look = 10 * time.Microsecond   // what a look costs
	time.Sleep(time.Until(p.work(look))) //nolint:forbidigo // of the bubble's clock
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.long, !p.closed
}

func (p *processor) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
}

// served is what came of requests.
type served struct {
	mu              sync.Mutex
	count, refused  int
	longest, waited time.Duration // waited is the sum
}

// ask is a request of a caller: it is admitted and costs the processor so much, or refused, which costs it
// refusal.
func (p *processor) ask(g *Gate, priority Priority, cost, refusal time.Duration, s *served) {
	begin := time.Now()
	if g.Admit(context.Background(), priority) != nil {
		g.Hold(context.Background(), begin)
		p.work(refusal)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.refused++
		return
	}
	time.Sleep(time.Until(p.work(cost))) //nolint:forbidigo // of the bubble's clock
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	s.waited += time.Since(begin)
	s.longest = max(s.longest, time.Since(begin))
}
