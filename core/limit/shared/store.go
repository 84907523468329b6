package shared

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/genway/genway/core/limit"
	"github.com/genway/genway/core/limit/shared/endpoint"
)

// Config is what a Store is made of. Only URL must be set.
type Config struct {
	// URL is the server's, as package endpoint reads it: redis://HOST:PORT/DB, rediss://,
	// redis+sentinel://, redis+cluster://, unix:///PATH.
	URL string
	// Prefix begins all names. Default genway.
	Prefix string
	// Timeout bounds each question. Default 100 ms.
	Timeout time.Duration
	// Lease is how long what a core holds stays held after its last renewal. Default 30 s; it is
	// renewed three times as often.
	Lease time.Duration
	// Policy says what becomes of requests while the server does not answer. Default
	// Closed.
	Policy Policy
	// Process is the name under which Spent reports what this process has spent. Default: one of its own.
	Process string
	// Spent reports what was spent, from a ledger that the cores share; nil is nothing.
	Spent limit.Spent
	// OnUnavailable, if set, is called when the server stops answering and when it answers again.
	OnUnavailable func(unavailable bool)
	// Logger gets one line at each of these. Default: none.
	Logger *slog.Logger
	// Clock is time.Now unless set. Days and months begin by it.
	Clock func() time.Time
}

// Policy is what becomes of requests while the server does not answer.
type Policy struct {
	// Local admits by this core's own count, up to Share of every limit: 0 to 1. A
	// limit of at least one request a minute, or at once, stays.
	Local bool
	Share float64
}

const (
	defaultTimeout = 100 * time.Millisecond
	defaultLease   = 30 * time.Second
)

// Store is a limit.Store. One goroutine of its own settles and renews.
type Store struct {
	config      Config
	keys        keys
	client      *client
	local       *limit.Memory
	known       *known
	fills       limit.Fills
	process     string
	claims      atomic.Int64
	unavailable atomic.Bool
	lostAt      atomic.Pointer[time.Time] // when the server last stopped answering
	policy      atomic.Pointer[Policy]
	calendar    struct {
		sync.Mutex
		limit.Calendar
	}
	running running
	queue   queue
	closing chan struct{}
	ended   chan struct{}
}

var _ limit.Store = (*Store)(nil)

// Start makes a store. The server need not answer yet: then the policy holds at once.
func Start(ctx context.Context, config Config) (*Store, error) {
	server, err := endpoint.Parse(config.URL)
	if err != nil {
		return nil, fmt.Errorf("limit: the URL of the shared store: %w", err)
	}
	config.Timeout = cmp.Or(config.Timeout, defaultTimeout)
	config.Lease = cmp.Or(config.Lease, defaultLease)
	config.Logger = cmp.Or(config.Logger, slog.New(slog.DiscardHandler))
	if config.Clock == nil {
		config.Clock = time.Now
	}
	names := keys{cmp.Or(config.Prefix, "genway")}
	client, err := newClient(server, config.Timeout, names.probe())
	if err != nil {
		return nil, fmt.Errorf("limit: the URL of the shared store: %w", err)
	}
	s := &Store{
		config: config, keys: names, client: client,
		local: limit.NewMemory(config.Clock), process: strings.ToLower(rand.Text()[:12]),
		running: running{claims: map[string]*call{}},
		queue:   queue{wake: make(chan struct{}, 1)}, closing: make(chan struct{}), ended: make(chan struct{}),
	}
	s.known = newKnown(s.local)
	s.config.Process = cmp.Or(config.Process, s.process)
	s.policy.Store(&config.Policy)
	if err := s.begin(ctx); err != nil {
		return nil, errors.Join(err, s.client.close())
	}
	go s.run(context.WithoutCancel(ctx))
	return s, nil
}

// SetPolicy replaces the policy.
func (s *Store) SetPolicy(p Policy) { s.policy.Store(&p) }

// Unavailable reports whether the server does not answer.
func (s *Store) Unavailable() bool { return s.unavailable.Load() }

// Reserve takes the claim, or returns a *limit.Refusal. While the server does not answer,
// the policy decides; the error then wraps limit.ErrUnavailable.
func (s *Store) Reserve(ctx context.Context, claim *limit.Claim) (limit.Standing, error) {
	wall := s.config.Clock()
	s.calendar.Lock()
	claim.Starts = s.calendar.Starts(wall)
	s.calendar.Unlock()
	if !bounded(claim) { // what it spends counts all the same
		return limit.Standing{}, nil
	}
	claim.ID = s.process + "-" + strconv.FormatInt(s.claims.Add(1), 36)
	if s.unavailable.Load() {
		return s.reserveLocally(ctx, claim)
	}
	answer, err := s.ask(ctx, claim, wall)
	if err != nil {
		if !errors.Is(err, errLedger) {
			s.lost(err)
		}
		// It may have been taken all the same.
		s.queue.add(&settlement{id: claim.ID, call: s.keys.settling(claim, limit.Amount{}, s.spend(claim, 0))})
		claim.ID += "a"
		return s.reserveLocally(ctx, claim)
	}
	states := make([]*limit.State, len(claim.Subjects))
	for i := range states {
		states[i] = &answer.states[i]
		s.fills.Note(&claim.Subjects[i], claim.Starts, [2]int64{states[i].Money[0].Spent, states[i].Money[1].Spent})
	}
	if answer.word == "no" {
		if refusal := claim.Refused(states, wall, answer.now); refusal != nil {
			return refusal.Standing, refusal
		}
		return limit.Standing{}, &limit.Refusal{Scope: claim.Subjects[0].Scope, Metric: limit.Concurrent, After: time.Second}
	}
	claim.Grant(states)
	for i := range claim.Subjects {
		b := &claim.Subjects[i]
		claim.Holds[i].Note(b, states[i], claim)
		s.learn(b, states[i], claim)
	}
	s.running.add(claim, s.keys.renewing(claim, wall))
	return claim.Standing(states, answer.now), nil
}

// ask runs the reserving script. Where the server does not know what was spent, ask seeds that
// first.
func (s *Store) ask(ctx context.Context, claim *limit.Claim, wall time.Time) (*answer, error) {
	// Otherwise a caller that disconnects during the call would leave a claim behind.
	ctx = context.WithoutCancel(ctx)
	c := s.keys.reserving(claim, s.config.Lease, wall)
	for seeded := false; ; seeded = true {
		within, cancel := context.WithTimeout(ctx, s.config.Timeout)
		raw, err := reserveScript.run(within, s.client, c.keys, c.args...)
		cancel()
		if err != nil {
			return nil, err
		}
		a, err := read(raw, claim)
		if err != nil || a.word != "seed" {
			return a, err
		}
		if seeded {
			return nil, errors.New("limit: the shared store does not keep what was seeded")
		}
		if err := s.seed(ctx, claim, a.states[:], wall); err != nil {
			return nil, err
		}
	}
}

// Extend takes more for a claim that runs.
func (s *Store) Extend(claim *limit.Claim, more limit.Amount) {
	if claim.Local {
		s.local.Extend(claim, more)
		return
	}
	for i := range claim.Subjects {
		claim.Holds[i].Extend(more)
	}
	claim.Extend(more.Cost)
	now := s.config.Clock()
	s.running.add(claim, s.keys.renewing(claim, now))
	s.queue.add(&settlement{id: claim.ID, call: s.keys.extending(claim, more, s.config.Lease, now)})
}

// Settle puts what a request took in place of what it claimed, as soon as the server
// answers.
func (s *Store) Settle(claim *limit.Claim, actual limit.Amount) {
	s.running.remove(claim)
	by := s.spend(claim, actual.Cost)
	if claim.Local {
		s.local.Settle(claim, actual)
	}
	settled := &settlement{id: claim.ID, call: s.keys.settling(claim, actual, by)}
	if budgeted(claim) {
		settled.cost = actual.Cost
	}
	s.queue.add(settled)
}

// Close settles what is left, for two seconds at most, and ends the connections.
func (s *Store) Close() error {
	close(s.closing)
	<-s.ended
	return errors.Join(s.queue.lostError(), s.client.close())
}
