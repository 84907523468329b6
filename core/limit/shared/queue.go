package shared

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/genway/genway/core/limit"
	"github.com/redis/go-redis/v9"
)

// settlement is the end of a claim that the server does not have yet. Settlements are numbered
// and sent in order: the server ignores one that comes twice, because an answer was lost.
type settlement struct {
	number int64
	id     string
	call   *call
	// cost is what a request has cost that a budget bounded; 0 for any other, whose cost a budget that is set
	// later has from the ledger.
	cost int64
}

const (
	// atOnce is how many settlements go in one round trip.
	atOnce = 128
	// maxWaiting bounds what waits while the server does not answer. Beyond, what
	// costs nothing is dropped: leases return it.
	maxWaiting = 100_000
	// probeEvery is how often the server is asked whether it is back.
	probeEvery = 250 * time.Millisecond
	// endWithin bounds the last settlements, of Close.
	endWithin = 2 * time.Second
	// keysAtOnce is how many leases are renewed, or budgets seeded, by one script, and some more.
	keysAtOnce = 500
)

// queue is settlements in their order.
type queue struct {
	mu      sync.Mutex
	waiting []*settlement
	number  int64
	dropped int
	wake    chan struct{}
}

func (q *queue) add(s *settlement) {
	if len(s.call.keys) == 0 {
		return
	}
	q.mu.Lock()
	if len(q.waiting) >= maxWaiting {
		if s.cost > 0 {
			q.dropped++
		}
	} else {
		q.number++
		s.number = q.number
		q.waiting = append(q.waiting, s)
	}
	q.mu.Unlock()
	q.signal()
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// first returns the settlements that are next, without taking them.
func (q *queue) first() []*settlement {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting[:min(len(q.waiting), atOnce)]
}

// drop takes the first n.
func (q *queue) drop(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	clear(q.waiting[:n])
	q.waiting = q.waiting[n:]
	if len(q.waiting) == 0 {
		q.waiting = nil
	}
}

// lostError reports the settlements that were never sent to the server.
func (q *queue) lostError() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	lost := q.dropped
	for _, s := range q.waiting {
		if s.cost > 0 {
			lost++
		}
	}
	if lost == 0 {
		return nil
	}
	return fmt.Errorf("limit: the shared store did not receive what %d requests spent; the ledger has it", lost)
}

// run settles and renews until Close.
func (s *Store) run(ctx context.Context) {
	defer close(s.ended)
	renew, probe := time.NewTicker(s.config.Lease/3), time.NewTicker(probeEvery)
	defer renew.Stop()
	defer probe.Stop()
	for {
		select {
		case <-s.queue.wake:
			if !s.unavailable.Load() {
				s.flush(ctx)
			}
		case <-renew.C:
			if !s.unavailable.Load() {
				s.renew(ctx)
			}
		case <-probe.C:
			if s.unavailable.Load() && s.flush(ctx) && s.probe(ctx) && s.restore(ctx) {
				s.found()
			}
		case <-s.closing:
			ctx, cancel := context.WithTimeout(ctx, endWithin)
			s.flush(ctx)
			cancel()
			return
		}
	}
}

// probe reports whether the server counts. To settle may succeed where to reserve does not.
func (s *Store) probe(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	return s.client.probe(ctx) == nil
}

// flush settles all that waits, or reports that the server does not answer.
func (s *Store) flush(ctx context.Context) bool {
	for {
		batch := s.queue.first()
		if len(batch) == 0 {
			return true
		}
		if err := s.send(ctx, batch); err != nil {
			s.lost(err)
			return false
		}
		s.queue.drop(len(batch))
		if len(batch) < atOnce {
			return true
		}
	}
}

// send sends settlements in one round trip.
func (s *Store) send(ctx context.Context, batch []*settlement) error {
	ctx, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	err := s.pipeline(ctx, batch)
	if !unknown(err) {
		return err
	}
	// A server that was restarted knows no script; none of the batch was run, which is
	// one step.
	if err := settleScript.load(ctx, s.client); err != nil {
		return err
	}
	return s.pipeline(ctx, batch)
}

func (s *Store) pipeline(ctx context.Context, batch []*settlement) error {
	settled := s.keys.settled(s.process)
	return s.client.do(func(current redis.UniversalClient) error { //nolint:contextcheck // the commands have it; the connection is of all requests
		// All in one step: if another core loaded the script into the server in between, the server
		// would run the later ones and then ignore the earlier as already settled.
		commands, err := current.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			for _, one := range batch {
				pipe.Do(ctx, parameters("EVALSHA", settleScript.hash, append([]string{settled}, one.call.keys...), append([]any{one.number, one.id}, one.call.args...))...)
			}
			return nil
		})
		return reason(commands, err)
	})
}

// reason returns the error of the command for which the server discarded a transaction, in place of one
// that says only that it did.
func reason(commands []redis.Cmder, err error) error {
	if !redis.IsExecAbortError(err) {
		return err
	}
	for _, command := range commands {
		if own := command.Err(); own != nil && !redis.IsExecAbortError(own) {
			return own
		}
	}
	return err
}

// running is the claims whose leases are renewed.
type running struct {
	mu     sync.Mutex
	claims map[string]*call // what they hold, by their ids
}

func (r *running) add(claim *limit.Claim, holds *call) {
	if len(holds.keys) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.claims[claim.ID] = holds
}

func (r *running) remove(claim *limit.Claim) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.claims, claim.ID)
}

// renew renews all leases. It is called by the goroutine that sends settlements: a claim that is renewed is not settled yet.
func (s *Store) renew(ctx context.Context) bool {
	s.running.mu.Lock()
	calls := slices.Collect(maps.Values(s.running.claims))
	s.running.mu.Unlock()
	return s.inTurn(ctx, renewScript, s.config.Lease.Microseconds(), slices.Values(calls))
}

// inTurn runs a script for many calls that have their first argument in common. It reports whether the server answered.
func (s *Store) inTurn(ctx context.Context, script *script, first any, calls iter.Seq[*call]) bool {
	all := &call{args: []any{first}}
	send := func() bool {
		ctx, cancel := context.WithTimeout(ctx, s.config.Timeout)
		defer cancel()
		if _, err := script.run(ctx, s.client, all.keys, all.args...); err != nil {
			s.lost(err)
			return false
		}
		all.keys, all.args = all.keys[:0], all.args[:1]
		return true
	}
	for c := range calls {
		all.key(c.keys...)
		all.arg(c.args...)
		if len(all.keys) >= keysAtOnce && !send() {
			return false
		}
	}
	return len(all.keys) == 0 || send()
}
