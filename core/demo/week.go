package demo

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// hours are when somebody works.
type hours int

const (
	always hours = iota
	office
	evening
	night
)

// load is how busy the hours are at a time, from 0 to about 1.
func (h hours) load(at time.Time) float64 {
	hour := float64(at.Hour()) + .5
	bell := func(middle, width float64) float64 { d := (hour - middle) / width; return math.Exp(-d * d / 2) }
	weekend := at.Weekday() == time.Saturday || at.Weekday() == time.Sunday
	switch h {
	case office:
		if weekend {
			return .06 + .05*bell(14, 4)
		}
		return .02 + .9*bell(10, 1.7) + bell(14.7, 2)
	case evening:
		load := .08 + .35*bell(12.5, 2) + bell(19.5, 2.4)
		if weekend {
			load *= 1.4
		}
		return load
	case night:
		return bell(2.5, .8)
	case always:
	}
	if weekend {
		return .35 + .15*bell(14, 5)
	}
	return .35 + .5*bell(13.5, 4.5)
}

// spread says how many of n requests are in each hour of a week, whose sum is n.
func spread(w Week) []int {
	from := w.End.Add(-time.Duration(w.Days) * day)
	sums := make([]float64, w.Days*24)
	total := 0.
	for i := range sums {
		for j := range habits {
			total += habits[j].share * habits[j].hours.load(from.Add(time.Duration(i)*time.Hour))
		}
		sums[i] = total
	}
	counts := make([]int, len(sums))
	done := 0
	for i, sum := range sums {
		until := int(math.Round(sum / total * float64(w.Requests)))
		counts[i], done = until-done, until
	}
	return counts
}

// starts gives the starts of n requests within an hour, in their order.
func starts(chance *rand.Rand, hour time.Time, n int) []time.Time {
	list := make([]time.Time, n)
	for i := range list {
		list[i] = hour.Add(time.Duration(chance.Int64N(int64(time.Hour/time.Microsecond))) * time.Microsecond)
	}
	slices.SortFunc(list, time.Time.Compare)
	return list
}

// trouble is what an upstream suffers from for a while.
type trouble struct {
	upstream     string
	from, until  time.Time
	part         float64 // of its requests
	kind, reason string
	status       int
	took         time.Duration
}

// kill is the moment at which a core was killed: what was in flight then was interrupted.
type events struct {
	troubles []trouble
	kill     time.Time
}

// eventsOf are the troubles of a week, as parts of it, and those that there always are.
func eventsOf(w Week) events {
	length := time.Duration(w.Days) * day
	at := func(part float64) time.Time { return w.End.Add(-length).Add(time.Duration(part * float64(length))) }
	e := events{kill: at(.43)}
	outage, limits := at(.64), at(.36)
	e.troubles = []trouble{
		{"openai", outage, outage.Add(48 * time.Minute), .82, "unavailable", "UPSTREAM_UNREACHABLE", 503, 340 * time.Millisecond},
		{"azure", outage.Add(20 * time.Minute), outage.Add(29 * time.Minute), .6, "rate_limited", "rate_limit_exceeded", 429, 60 * time.Millisecond},
		{"anthropic", limits, limits.Add(3 * time.Hour), .22, "rate_limited", "rate_limit_error", 429, 85 * time.Millisecond},
		{"local", at(.81), at(.83), .5, "timeout", "DEADLINE_EXCEEDED", 0, 30 * time.Second},
	}
	for _, upstream := range []string{"openai", "azure", "anthropic", "bedrock", "gemini", "local"} {
		e.troubles = append(e.troubles, trouble{upstream, time.Time{}, w.End, .004, "overloaded", "overloaded_error", 529, 120 * time.Millisecond})
	}
	return e
}

// hits gives the trouble that a request at an upstream meets; nil for none.
func (e *events) hits(chance *rand.Rand, upstream string, at time.Time) *trouble {
	for i := range e.troubles {
		t := &e.troubles[i]
		if t.upstream == upstream && !at.Before(t.from) && at.Before(t.until) && chance.Float64() < t.part {
			return t
		}
	}
	return nil
}
