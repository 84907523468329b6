// Package limittest is the test suite that every limit.Store passes: what is admitted, held, spent and returned is the same in
// every store, for one core and for several that count together.
package limittest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/genway/genway/core/limit"
)

// Config configures a store as a core does.
type Config struct {
	// Process is the core's name in the ledger.
	Process string
	// Spent is the ledger.
	Spent limit.Spent
	// Clock is the core's.
	Clock func() time.Time
}

// Store is the store of one core. The suite closes it.
type Store struct {
	limit.Store
	// Settled waits until all that was settled is counted; nil for a store that counts at once.
	Settled func()
}

// Run runs the suite with so many cores. site is called for each test; what it returns opens the store of one more core, which
// counts together with those that it has opened before.
func Run(t *testing.T, cores int, site func(t *testing.T) func(Config) Store) {
	t.Helper()
	for name, test := range map[string]func(*Site){
		"each limit admits what it has":                       eachLimit,
		"all limits are taken or none":                        allOrNone,
		"what can never be admitted takes nothing":            impossible,
		"a budget admits what it has, however many come":      parallel,
		"what is held, extended and settled counts for all":   settled,
		"a request takes what is left, however many come":     upTo,
		"an owner's keys spend its budget together":           owners,
		"a budget that is removed and set again":              removed,
		"a limit counts the requests that it was there for":   set,
		"a request over midnight is of the day it began in":   midnight,
		"a core that starts goes on from what the ledger has": starts,
	} {
		t.Run(name, func(t *testing.T) {
			test(NewSite(t, cores, site(t)))
		})
	}
}

// T is what the suite takes of a test: *testing.T and *rapid.T have it.
type T interface {
	Helper()
	Cleanup(fn func())
	Error(args ...any)
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// Site is cores, their clocks and their ledger.
type Site struct {
	T

	Cores []*Core
	open  func(Config) Store
	books books
}

// Core is one core.
type Core struct {
	*limit.Limiter
	Store

	site    *Site
	process string
	clock   atomic.Int64
}

// NewSite starts cores.
func NewSite(t T, cores int, open func(Config) Store) *Site {
	s := &Site{T: t, open: open}
	for range cores {
		s.Start()
	}
	t.Cleanup(func() {
		for _, c := range s.Cores {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return s
}

// Start starts one more core. It is the last of the site.
func (s *Site) Start() *Core {
	c := &Core{site: s, process: fmt.Sprint("process ", len(s.Cores))}
	c.clock.Store(time.Date(2026, 10, 31, 23, 59, 0, 0, time.UTC).UnixNano())
	c.Store = s.open(Config{Process: c.process, Spent: s.books.spent, Clock: func() time.Time { return time.Unix(0, c.clock.Load()).UTC() }})
	c.Limiter = limit.New(c.Store.Store, limit.Rules{})
	s.Cores = append(s.Cores, c)
	return c
}

// Settled waits until all that was settled is counted.
func (s *Site) Settled() {
	for _, c := range s.Cores {
		c.settled()
	}
}

// other is the last core, which is the first one too where there is one alone.
func (s *Site) other() *Core { return s.Cores[len(s.Cores)-1] }

// Request is a request that was admitted.
type Request struct {
	*limit.Reservation
	// Standing is where its caller stood.
	Standing limit.Standing

	core   *Core
	who    limit.Who
	start  time.Time
	booked bool
}

// key is the caller of most tests.
func key(l limit.Limits) limit.Who {
	return limit.Who{KeyID: "key_a", Owner: "team", Model: "m", Limits: l}
}

// month is a budget of the month.
func month(amount int64) limit.Limits {
	return limit.Limits{Budgets: []limit.Budget{{Amount: amount, Period: limit.Month}}}
}

// Ask has a core admit a request, or returns its refusal.
func (c *Core) Ask(who limit.Who, most limit.Amount) (*Request, *limit.Refusal) {
	c.site.Helper()
	r := &Request{Reservation: c.Prepare(who), core: c, who: who, start: time.Unix(0, c.clock.Load())}
	standing, err := r.Reserve(context.Background(), most)
	r.Standing = standing
	refusal, refused := errors.AsType[*limit.Refusal](err)
	if err != nil && !refused {
		c.site.Fatal(err)
	}
	return r, refusal
}

// admit has a core admit a request that must be.
func (c *Core) admit(who limit.Who, most limit.Amount) *Request {
	c.site.Helper()
	r, refusal := c.Ask(who, most)
	if refusal != nil {
		c.site.Fatalf("%s refuses %+v: %+v", c.process, most, *refusal)
	}
	return r
}

// refuse has a core refuse a request.
func (c *Core) refuse(who limit.Who, most limit.Amount, metric limit.Metric, held bool) {
	c.site.Helper()
	switch r, refusal := c.Ask(who, most); {
	case refusal == nil:
		c.site.Errorf("%s admits %+v, which the limit of %s does not have", c.process, most, metric)
		r.End(limit.Amount{})
	case refusal.Metric == metric && refusal.Never: // it is more than the whole budget
	case refusal.Metric != metric || refusal.Held != held || refusal.After <= 0:
		c.site.Errorf("%s refuses %+v by %+v, want %s, held: %v", c.process, most, *refusal, metric, held)
	}
}

// End settles a request, also in the ledger, and waits until that is counted.
func (r *Request) End(actual limit.Amount) {
	r.Settle(actual)
	r.Book(actual)
	r.core.settled()
}

// Book has the ledger know what a request cost, once.
func (r *Request) Book(actual limit.Amount) {
	if !r.booked {
		r.core.site.books.add(r.start, limit.Spend{Process: r.core.process, KeyID: r.who.KeyID, Owner: r.who.Owner, Cost: actual.Cost})
	}
	r.booked = true
}

// spend has a core serve a request.
func (c *Core) spend(who limit.Who, cost int64) {
	c.site.Helper()
	c.admit(who, limit.Amount{Cost: 1}).End(limit.Amount{Cost: cost})
}

// left checks what a core knows to be left of a caller's budget.
func (c *Core) left(who limit.Who, left int64, held bool) {
	c.site.Helper()
	c.refuse(who, limit.Amount{Cost: left + 1}, limit.Money, held)
	if left > 0 {
		c.admit(who, limit.Amount{Cost: left}).End(limit.Amount{})
	}
}

// books are a ledger.
type books struct {
	mu   sync.Mutex
	rows []row
}

type row struct {
	limit.Spend

	start time.Time
}

func (b *books) add(start time.Time, s limit.Spend) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rows = append(b.rows, row{s, start})
}

func (b *books) spent(_ context.Context, since time.Time, keyID, owner string) ([]limit.Spend, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []limit.Spend
	for _, r := range b.rows {
		if !r.start.Before(since) && (keyID == "" && owner == "" || keyID != "" && r.KeyID == keyID || keyID == "" && r.Owner == owner) {
			all = append(all, r.Spend)
		}
	}
	return all, nil
}

func eachLimit(s *Site) {
	// So little of a rate that nothing comes back meanwhile.
	figures := [limit.Money + 1]int64{limit.Concurrent: 4, limit.Money: 4}
	for m := range limit.Money + 1 {
		who := limit.Who{KeyID: m.String()}
		var most limit.Amount
		if part := most.Part(m); part != nil {
			*part = 1
		}
		figure := max(figures[m], 1)
		if m == limit.Money {
			who.Limits = month(figure)
		} else {
			*who.Limits.Figure(m) = figure
		}
		var last *Request
		for i := range int(figure) {
			last = s.Cores[i%len(s.Cores)].admit(who, most)
		}
		for _, core := range s.Cores {
			core.refuse(who, most, m, m == limit.Money)
		}
		if m == limit.Requests {
			continue // it is taken, whatever becomes of the request
		}
		last.End(limit.Amount{})
		last.core.settled()
		s.Cores[0].admit(who, most)
	}
}

func allOrNone(s *Site) {
	for _, c := range s.Cores {
		c.Swap(limit.Rules{Models: []limit.Rule{{Pattern: "*", Limits: limit.Limits{Concurrent: 1}}}})
	}
	who := key(limit.Limits{RequestsPerMinute: 2, TokensPerMinute: 100, Budgets: []limit.Budget{{Amount: 10, Period: limit.Day}}})
	most := limit.Amount{Tokens: 50, Cost: 5}
	first := s.Cores[0].admit(who, most)
	for range 10 {
		s.other().refuse(who, most, limit.Concurrent, false)
	}
	first.End(most)
	s.other().admit(who, most) // nothing was taken by those that were refused
}

func impossible(s *Site) {
	who := key(limit.Limits{RequestsPerMinute: 1, TokensPerMinute: 4, Budgets: month(10).Budgets})
	for most, metric := range map[limit.Amount]limit.Metric{
		{Tokens: limit.MaxTokens + 1}:          limit.Tokens,
		{Tokens: limit.MaxTokens + 1, Cost: 1}: limit.Tokens,
		{Cost: 11}:                             limit.Money,
	} {
		for _, c := range s.Cores {
			if r, refusal := c.Ask(who, most); refusal == nil || !refusal.Never || refusal.Metric != metric || refusal.After != 0 {
				s.Errorf("%+v: %+v", most, refusal)
				r.Settle(limit.Amount{})
			}
		}
	}
	s.other().admit(who, limit.Amount{Tokens: 4, Cost: 10}).End(limit.Amount{})
}

func parallel(s *Site) {
	const k, cost = 137, 1_000_003
	who := key(month(k * cost))
	var admitted atomic.Int64
	requests := make(chan *Request, 1000)
	var group sync.WaitGroup
	for i := range 1000 {
		group.Go(func() {
			r, refusal := s.Cores[i%len(s.Cores)].Ask(who, limit.Amount{Cost: cost})
			switch {
			case refusal == nil:
				admitted.Add(1)
				requests <- r
			case refusal.Metric != limit.Money || !refusal.Held:
				s.Errorf("%+v", refusal)
			}
		})
	}
	group.Wait()
	close(requests)
	if admitted.Load() != k {
		s.Fatalf("%d are admitted, want %d", admitted.Load(), k)
	}
	for r := range requests {
		r.End(limit.Amount{Cost: cost / 2})
	}
	for _, c := range s.Cores {
		c.left(who, k*(cost-cost/2), false)
	}
}

func settled(s *Site) {
	who := key(month(1000))
	r := s.Cores[0].admit(who, limit.Amount{Cost: 100})
	s.other().left(who, 900, true)
	r.Extend(limit.Amount{Cost: 500})
	r.core.settled()
	s.other().left(who, 400, true)
	r.End(limit.Amount{Cost: 700})
	r.Settle(limit.Amount{Cost: 200}) // the first one counts
	r.core.settled()
	s.other().left(who, 300, false)
	s.other().spend(who, 400) // more than was held
	for _, c := range s.Cores {
		c.left(who, 0, false)
	}
}

// A request that would take more than is left holds what is left; the next is refused. What many hold at once is no more
// than the budget.
func upTo(s *Site) {
	who := limit.Who{KeyID: "key_a", Owner: "team", Limits: limit.Limits{Budgets: []limit.Budget{{Amount: 500, Period: limit.Day}, {Amount: 1000, Period: limit.Month}}}}
	take := func(core *Core, least, most int64) (int64, *Request) {
		r := &Request{Reservation: core.Prepare(who), core: core, who: who, start: time.Unix(0, core.clock.Load())}
		got, _, err := r.ReserveUpTo(context.Background(), limit.Amount{Cost: least}, most)
		if refusal, refused := errors.AsType[*limit.Refusal](err); refused && refusal.Metric == limit.Money {
			return -1, r
		} else if err != nil {
			s.Fatal(err)
		}
		return got, r
	}
	for _, c := range []struct{ least, most, got int64 }{
		{0, 0, 0}, {100, 0, 100}, {100, 100, 100}, {100, 300, 300}, {100, 1 << 62, 500}, {500, 501, 500}, {501, 502, -1}, {0, 1 << 53, 500}, {-1, -1, 0},
	} {
		got, r := take(s.Cores[0], c.least, c.most)
		if got != c.got {
			s.Errorf("%+v: %d", c, got)
		}
		if got >= 0 {
			s.other().left(who, 500-got, got > 0)
			r.End(limit.Amount{})
		}
	}
	_, first := take(s.Cores[0], 10, 400)
	if got, _ := take(s.other(), 101, 400); got != -1 {
		s.Errorf("%d are held beside 400 of 500", got)
	}
	got, second := take(s.other(), 100, 400)
	if got != 100 {
		s.Errorf("%d are held beside 400 of 500, want the rest", got)
	}
	first.End(limit.Amount{Cost: 50})
	second.End(limit.Amount{Cost: 100})
	s.other().left(who, 350, false)
	var held atomic.Int64
	var group sync.WaitGroup
	for i := range 100 {
		group.Go(func() {
			if got, _ := take(s.Cores[i%len(s.Cores)], 10, 33); got > 0 {
				held.Add(got)
			}
		})
	}
	group.Wait()
	if held.Load() != 350 {
		s.Errorf("all hold %d, want what is left", held.Load())
	}
}

// settled waits until all that was settled is counted.
func (s Store) settled() {
	if s.Settled != nil {
		s.Settled()
	}
}

func owners(s *Site) {
	for _, c := range s.Cores {
		c.Swap(limit.Rules{Owners: []limit.Rule{{Pattern: "te*", Limits: month(100)}}})
	}
	a, b := key(limit.Limits{}), key(limit.Limits{})
	b.KeyID = "key_b"
	s.Cores[0].spend(a, 30)
	s.other().spend(b, 30)
	for _, who := range []limit.Who{a, b} {
		s.Cores[0].left(who, 40, false)
		s.other().left(who, 40, false)
	}
	b.Owner = "others"
	s.other().admit(b, limit.Amount{Cost: 41})
}

// What is spent without a budget counts as soon as there is one, wherever it was spent.
func removed(s *Site) {
	who, without := key(month(1000)), key(limit.Limits{})
	spent := int64(250)
	s.Cores[0].spend(who, spent)
	s.other().left(who, 750, false)
	for _, c := range s.Cores {
		c.spend(without, 1000)
		spent += 1000
	}
	for _, c := range s.Cores {
		c.left(who, 0, false)
		c.left(key(month(spent+7)), 7, false)
		c.left(key(limit.Limits{Budgets: []limit.Budget{{Amount: spent + 7, Period: limit.Day}}}), 7, false)
	}
	// It is removed while a request holds some of it.
	r := s.Cores[0].admit(key(month(spent+7)), limit.Amount{Cost: 5})
	s.other().spend(without, 1)
	s.other().left(key(month(spent+7)), 1, true)
	r.End(limit.Amount{Cost: 3})
	s.Cores[0].left(key(month(spent+7)), 3, false)
}

func set(s *Site) {
	day := limit.Limits{Concurrent: 9, Budgets: []limit.Budget{{Amount: 1000, Period: limit.Day}}}
	before := []*Request{s.Cores[0].admit(key(limit.Limits{}), limit.Amount{Cost: 1}), s.other().admit(key(day), limit.Amount{Cost: 50})}
	who := key(limit.Limits{Concurrent: 2, Budgets: month(100).Budgets})
	after := s.Cores[0].admit(who, limit.Amount{Cost: 100})
	s.other().refuse(who, limit.Amount{}, limit.Concurrent, false)
	after.End(limit.Amount{})
	for _, r := range before {
		r.End(limit.Amount{Cost: 20})
	}
	s.other().left(who, 60, false)
}

func midnight(s *Site) {
	who := key(limit.Limits{Budgets: []limit.Budget{{Amount: 100, Period: limit.Day}, {Amount: 200, Period: limit.Month}}})
	r := s.Cores[0].admit(who, limit.Amount{Cost: 60})
	s.other().left(who, 40, true)
	late := s.Cores[0]
	late.clock.Add(int64(2 * time.Minute))
	late.left(who, 100, false)
	r.Extend(limit.Amount{Cost: 10})
	late.left(who, 100, false)
	r.End(limit.Amount{Cost: 90})
	late.left(who, 100, false)
	if early := s.other(); early != late {
		early.left(who, 10, false)
	}
	s.Start().left(who, 10, false)
	next := s.Start()
	next.clock.Add(int64(2 * time.Minute))
	next.left(who, 100, false)
}

func starts(s *Site) {
	who := key(month(100))
	began := time.Unix(0, s.Cores[0].clock.Load())
	before := limit.Spend{Process: "before", KeyID: who.KeyID, Owner: who.Owner, Cost: 70}
	s.books.add(began, before)
	s.books.add(began, limit.Spend{Process: "before", KeyID: "key_b", Owner: "team", Cost: 1})
	s.Start().left(who, 30, false)
	s.other().spend(who, 10)
	s.Start().left(who, 20, false)
	// Of a core that was killed, the ledger knows more than the limits.
	before.Cost = 15
	s.books.add(began, before)
	s.Start().left(who, 5, false)
	s.other().spend(who, 5)
	s.Start().left(who, 0, false)
}
