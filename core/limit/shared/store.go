// Package shared implements limit.Store on Redis or Valkey, for cores that count limits together.
// A claim is taken by one script, from all its limits or from none; each
// question is one round trip, and by the server's clock, so that cores need not agree on
// the time but for the day. A core holds claims by leases: the leases of a core that
// died come back.
//
// What was spent of a budget is kept by process, as a sum that only grows. Each report of a process is the whole sum, and the
// ledger, which has the same sums, is one more reporter: the larger one counts. So no report counts twice, whatever the server
// has lost and in whichever order they come.
//
// While the server does not answer, a policy decides: each core admits a share of every
// limit by its own count, or nothing.
//
// It must not import anything of ours but core/limit, core/amount and its own endpoint.
package shared

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/genway/genway/core/limit"
	"github.com/genway/genway/core/limit/shared/endpoint"
)

// Config configures a Store. Only URL must be set.
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
	// Otherwise a caller that disconnects during the call would leave its claim in the store.
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

// lost records that the server does not answer, and reports it once to the log and to the hook.
func (s *Store) lost(err error) {
	if s.unavailable.Load() {
		return
	}
	now := time.Now()
	s.lostAt.Store(&now) // before others may read it
	if !s.unavailable.CompareAndSwap(false, true) {
		return
	}
	policy := "closed: requests with limits are refused"
	if s.policy.Load().Local {
		policy = "local: each core admits its share by its own count"
	}
	s.config.Logger.Error("the shared store of limits does not answer", "policy", policy, "error", err)
	s.report(true)
	s.queue.signal()
}

// found records that the server answers again.
func (s *Store) found() {
	if s.unavailable.CompareAndSwap(true, false) {
		s.config.Logger.Info("the shared store of limits answers again")
		s.report(false)
	}
}

func (s *Store) report(unavailable bool) {
	if s.config.OnUnavailable != nil {
		s.config.OnUnavailable(unavailable)
	}
}

// reserveLocally admits by this core's own count, if the policy permits it.
func (s *Store) reserveLocally(ctx context.Context, claim *limit.Claim) (limit.Standing, error) {
	s.assume(claim)
	policy := s.policy.Load()
	if !policy.Local {
		return limit.Standing{}, limit.ErrUnavailable
	}
	claim.Local = true
	full := claim.Subjects
	own := make([]limit.Subject, len(full))
	for i := range full {
		own[i] = full[i]
		own[i].Bounds = s.share(&full[i], policy.Share, claim)
	}
	claim.Subjects = own
	standing, err := s.local.Reserve(ctx, claim)
	if r, ok := errors.AsType[*limit.Refusal](err); ok {
		nameWhole(r, full)
	}
	return standing, err
}

// nameWhole has a refusal by a share name the whole limit too: the caller knows no shares.
// A request that is too large only for the share may be admitted when the server is back.
func nameWhole(r *limit.Refusal, full []limit.Subject) {
	if r.Never && r.Metric != limit.Money {
		return // it is no limit of the subject's
	}
	for i := range full {
		if full[i].Scope != r.Scope {
			continue
		}
		whole := full[i].Figure(r.Metric, r.Period)
		if whole > r.Limit {
			r.Share, r.Limit = r.Limit, whole
			if r.Never && r.Asked <= whole {
				r.Never, r.After = false, time.Second
			}
		}
		return
	}
}

// share is this core's share of a subject's bounds. Of a budget it is the share of what
// was left when the server answered last.
func (s *Store) share(b *limit.Subject, share float64, claim *limit.Claim) limit.Bounds {
	part := func(n int64) int64 {
		if n == 0 {
			return 0
		}
		return max(int64(math.Floor(float64(n)*share)), 1)
	}
	var bounds limit.Bounds
	for m, most := range b.Figures {
		bounds.Figures[m] = part(most)
	}
	for p, most := range b.Budgets {
		if most > 0 {
			known := s.known.count(budget{b.Scope, b.ID, p, claim.Starts[p]})
			bounds.Budgets[p] = max(min(known, most)+int64(float64(max(most-known, 0))*share), 1)
		}
	}
	return bounds
}

// Peek asks the server what the claim's subjects use of their rates and places, on all cores
// together. Where it does not answer, the error wraps limit.ErrUnavailable, whatever the policy.
func (s *Store) Peek(ctx context.Context, claim *limit.Claim) ([]limit.Use, error) {
	rates := limit.Claim{Subjects: make([]limit.Subject, len(claim.Subjects))}
	c := &call{}
	for i := range claim.Subjects {
		r := &rates.Subjects[i]
		*r = claim.Subjects[i]
		r.Budgets = [2]int64{}
		for m := range limit.Concurrent {
			if r.Figures[m] > 0 {
				c.key(s.keys.rate(m, r))
				c.arg("rate")
			}
		}
		if r.Figures[limit.Concurrent] > 0 {
			c.key(s.keys.running(r))
			c.arg("many")
		}
	}
	uses := make([]limit.Use, len(rates.Subjects))
	if len(c.keys) == 0 {
		return uses, nil
	}
	if s.unavailable.Load() {
		return nil, limit.ErrUnavailable
	}
	within, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	raw, err := peekScript.run(within, s.client, c.keys, c.args...)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, errors.Join(limit.ErrUnavailable, fmt.Errorf("peek: %w", err))
	}
	a, err := read(raw, &rates)
	if err != nil {
		return nil, errors.Join(limit.ErrUnavailable, err)
	}
	for i := range uses {
		uses[i] = a.states[i].Use(&rates.Subjects[i], a.now)
	}
	return uses, nil
}
