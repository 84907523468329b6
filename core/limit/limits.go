// Package limit enforces rate, concurrency and budget limits on keys, on their owners and on models. Limits
// (limits.go) declares each kind of limit once: what it is called everywhere, what it counts and how it is refused.
//
// A Limiter finds the limits of a request and asks a Store to reserve what it may take: Memory counts in this process,
// package core/limit/shared in a Redis that several cores share. core/limit/limittest tests both.
//
// It must not import anything of ours but core/amount and core/glob, since core/keys builds on its types.
package limit

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/genway/genway/core/amount"
)

// Limits are the limits of a key, an owner or a model. The zero value bounds nothing. All but Budgets are figures, one
// of each kind in Kinds; 0 is no bound.
type Limits struct {
	// RequestsPerMinute is how many requests may begin at once, and how many more in
	// each minute from then on, evenly: after the n-th at once, one each 60/n seconds.
	RequestsPerMinute int64 `json:"requests_per_minute,omitzero" yaml:"requests_per_minute,omitempty" jsonschema:"minimum=0" jsonschema_description:"Requests a minute; without it, no bound."`
	// TokensPerMinute bounds the tokens in the same way, in and out together.
	TokensPerMinute int64 `json:"tokens_per_minute,omitzero" yaml:"tokens_per_minute,omitempty" jsonschema:"minimum=0" jsonschema_description:"Tokens a minute, in and out together; without it, no bound."`
	// Concurrent is how many requests may run at once.
	Concurrent int64 `json:"concurrent,omitzero" yaml:"concurrent,omitempty" jsonschema:"minimum=0" jsonschema_description:"Requests at once; without it, no bound."`
	// Budgets bound what is spent, at most one for each period. The configuration writes them as texts.
	Budgets []Budget `json:"budgets,omitzero" yaml:"-" jsonschema:"-"`
}

// Budget is money that may be spent within each period of time.
type Budget struct {
	// Amount is in nano-dollars: 1e9 is a dollar. Above 0.
	Amount int64 `json:"amount"`
	// Period is the calendar period of the budget, which is reset when it ends.
	Period Period `json:"period"`
}

// Amount is what a request takes.
type Amount struct {
	// Tokens are those in and out together.
	Tokens int64
	// Cost is in nano-dollars.
	Cost int64
}

// Metric is what a limit counts.
type Metric uint8

// The metrics. Rates come first: Requests, of which each request takes one, and rates of which it takes a part of its
// Amount, which is reserved and settled. Concurrent is held while a request runs. Money has a figure for each period.
const (
	Requests Metric = iota
	Tokens
	Concurrent
	Money
)

// rates is the number of rates; those from Tokens on are settled.
const rates = Concurrent

// Kind is a kind of limit with one figure, as all that handles limits reads it.
type Kind struct {
	// Name is its member in the configuration, in the Admin API and in stored keys. Flags have - for _.
	Name string
	// Counts names the metric in refusals, metrics, headers and the shared store.
	Counts string
	// Words follow its figure in sentences, Short in lists, Unit in google.rpc.QuotaFailure.
	Words, Short, Unit string
	// Reason is the reason of its refusals.
	Reason string
	// Means says what it bounds, in docs/access.md.
	Means string
}

// Kinds are all kinds but budgets, by their metrics.
var Kinds = [Money]Kind{
	Requests: {
		Name: "requests_per_minute", Counts: "requests", Words: "requests a minute", Short: "requests/min", Unit: "requests/minute",
		Reason: "REQUESTS_PER_MINUTE", Means: "requests that begin",
	},
	Tokens: {
		Name: "tokens_per_minute", Counts: "tokens", Words: "tokens a minute", Short: "tokens/min", Unit: "tokens/minute",
		Reason: "TOKENS_PER_MINUTE", Means: "tokens, in and out together",
	},
	Concurrent: {
		Name: "concurrent", Counts: "concurrent", Words: "requests at once", Short: "at once", Unit: "requests",
		Reason: "CONCURRENT_REQUESTS", Means: "requests that run at the same time",
	},
}

// Figure is where limits have the figure of a metric; nil for Money.
func (l *Limits) Figure(metric Metric) *int64 {
	switch metric {
	case Requests:
		return &l.RequestsPerMinute
	case Tokens:
		return &l.TokensPerMinute
	case Concurrent:
		return &l.Concurrent
	case Money:
	}
	return nil
}

// Part is where an amount has what is taken of a metric; nil if each request takes one.
func (a *Amount) Part(metric Metric) *int64 {
	switch metric {
	case Tokens:
		return &a.Tokens
	case Money:
		return &a.Cost
	case Requests, Concurrent:
	}
	return nil
}

// Of is what a request takes of a metric, as stores count it: exact in all of them, and never below 0.
func (a *Amount) Of(metric Metric) int64 {
	if part := a.Part(metric); part != nil {
		return amount.Bound(*part)
	}
	return 1
}

// bounded is the amount with its money as stores count it: exact in all of them, and never below 0.
func (a *Amount) bounded() Amount {
	bounded := *a
	bounded.Cost = amount.Bound(a.Cost)
	return bounded
}

// Weighed reports whether requests take a part of the metric's rate that is reserved and settled.
func (m Metric) Weighed() bool { return m >= Tokens && m < rates }

// String is the metric as refusals, metrics and shared stores name it.
func (m Metric) String() string {
	if m < Money {
		return Kinds[m].Counts
	}
	return "budget"
}

// Name is the limit of the metric as the Admin API names it.
func (m Metric) Name() string {
	if m < Money {
		return Kinds[m].Name
	}
	return m.String()
}

// MaxFigure is the largest figure of a limit a minute, and of requests at once.
const MaxFigure = 1_000_000_000

// MaxTokens is the largest number of tokens that a request may claim, in and out and of
// all its candidates together, where tokens a minute are limited. It is far above what a
// model reads and writes; a request that claims more is refused and takes nothing.
const MaxTokens = 100_000_000

// Any reports whether anything is bounded.
func (l *Limits) Any() bool {
	bounds := len(l.Budgets) > 0
	for m := range Money {
		bounds = bounds || *l.Figure(m) != 0
	}
	return bounds
}

// Check calls wrong with each member at fault and the reason: figures below 0 or above MaxFigure, and budgets of no amount, of
// an unknown period or of one period twice.
func (l *Limits) Check(wrong func(member, reason string)) {
	for m, kind := range Kinds {
		if n := *l.Figure(Metric(m)); n < 0 || n > MaxFigure {
			wrong(kind.Name, fmt.Sprintf("expected 0 to %d, got %d", MaxFigure, n))
		}
	}
	if err := checkBudgets(l.Budgets); err != nil {
		wrong("budgets", err.Error())
	}
}

func checkBudgets(budgets []Budget) error {
	for i, b := range budgets {
		switch {
		case b.Amount <= 0 || b.Amount > maxDollars*Dollar:
			return fmt.Errorf("a budget is above 0 and at most %d dollars", maxDollars)
		case !slices.Contains(Periods, b.Period):
			return fmt.Errorf("%q is no period of a budget; one of day, month", b.Period)
		case slices.ContainsFunc(budgets[:i], func(o Budget) bool { return o.Period == b.Period }):
			return errors.New("two budgets for one " + string(b.Period))
		}
	}
	return nil
}

// Dollar is a dollar in the unit of all money here, the nano-dollar.
const Dollar = 1_000_000_000

// maxDollars keeps every amount exact in all stores: one of them calculates in
// floating point, which holds integers up to 2^53.
const maxDollars = 9_000_000

// ParseMoney reads dollars: digits, and up to nine more after a point: "12.50". The
// result is in nano-dollars.
func ParseMoney(text string) (int64, error) {
	whole, part, pointed := strings.Cut(text, ".")
	if !digits(whole) || pointed && (!digits(part) || len(part) > 9) {
		return 0, fmt.Errorf("%q is no amount; write dollars, as in 12.50", text)
	}
	dollars, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || dollars > maxDollars {
		return 0, fmt.Errorf("%q is more than a budget can be, %d dollars", text, maxDollars)
	}
	nanos, err := strconv.ParseInt((part + "000000000")[:9], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no amount: %w", text, err)
	}
	return dollars*Dollar + nanos, nil
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// FormatMoney writes nano-dollars as dollars, with two digits after the point or as
// many as it takes: 12.50, 0.000012.
func FormatMoney(nanos int64) string {
	sign := ""
	if nanos < 0 {
		sign, nanos = "-", -nanos
	}
	part := fmt.Sprintf("%09d", nanos%Dollar)
	for len(part) > 2 && part[len(part)-1] == '0' {
		part = part[:len(part)-1]
	}
	return fmt.Sprintf("%s%d.%s", sign, nanos/Dollar, part)
}

// ParseBudget reads a budget as it is written: 12.50/month.
func ParseBudget(text string) (Budget, error) {
	amount, period, ok := strings.Cut(text, "/")
	if !ok || Period(period) != Day && Period(period) != Month {
		return Budget{}, fmt.Errorf("%q is no budget; write dollars and a period, as in 12.50/month or 1/day", text)
	}
	nanos, err := ParseMoney(amount)
	if err != nil {
		return Budget{}, err
	}
	if nanos == 0 {
		return Budget{}, fmt.Errorf("%q: a budget is above 0", text)
	}
	return Budget{Amount: nanos, Period: Period(period)}, nil
}

// String writes the budget as ParseBudget reads it.
func (b Budget) String() string { return FormatMoney(b.Amount) + "/" + string(b.Period) }

// Period is a period of UTC's calendar.
type Period string

// The periods.
const (
	Day   Period = "day"
	Month Period = "month"
)

// Periods are all there are.
var Periods = []Period{Day, Month}

// Start is when the period that holds t began.
func (p Period) Start(t time.Time) time.Time {
	t = t.UTC()
	day := t.Day()
	if p == Month {
		day = 1
	}
	return time.Date(t.Year(), t.Month(), day, 0, 0, 0, 0, time.UTC)
}

// End is the first moment after the period that holds t.
func (p Period) End(t time.Time) time.Time {
	start := p.Start(t)
	if p == Month {
		return start.AddDate(0, 1, 0)
	}
	return start.AddDate(0, 0, 1)
}

// Calendar knows which day and month it is, without asking the calendar each time. They
// never run backwards, as the wall clock may. It is for one goroutine at a time.
type Calendar struct {
	starts [2]int64
	next   int64
}

// Starts are the beginnings of the day and the month of now, in seconds since 1970.
func (c *Calendar) Starts(now time.Time) [2]int64 {
	if now.Unix() >= c.next {
		c.starts = [2]int64{dayBudget: Day.Start(now).Unix(), monthBudget: Month.Start(now).Unix()}
		c.next = Day.End(now).Unix()
	}
	return c.starts
}
