package limit

import (
	"cmp"
	"math/bits"

	"github.com/genway/genway/core/amount"
)

// minute is the time of every rate, in microseconds: the finest time all stores have.
const minute = 60_000_000

// horizon is how far into the future a meter goes: a minute, and a day of debt. Debt beyond
// is forgiven, so that no figure of an answer locks a limit for longer.
const horizon = minute + 24*60*minute

// Meter is how much of a rate is used: the generic cell rate algorithm (ITU-T I.371),
// in integers. Its one figure is the moment at which the rate would be unused again;
// taking n of a rate of r a minute moves it n/r minutes on, and n may be taken as long
// as that moment is within a minute from now. So r may be taken at once, and r more in
// each minute.
//
// Times are microseconds since 1970. The zero value is an unused rate. No figure makes the
// arithmetic overflow: what is taken beyond the horizon is cut there.
type Meter struct {
	// Free is that moment, and Part what it lacks, in 1/Rate of a microsecond: rates
	// that do not divide a minute are exact too.
	Free, Part int64
	// Returned is how far Free was ever moved back by what was returned.
	Returned int64
	// Rate is what the rate was when something was last taken.
	Rate int64
}

// Mark is the position of a taking in a meter.
type Mark struct{ Free, Part, Returned int64 }

// span is (n*each + more)/rate as whole microseconds and parts of 1/rate: horizon and none
// where it is more. It has 128 bits in between.
func span(n, each, more, rate int64) (whole, part int64) {
	high, low := bits.Mul64(uint64(amount.Of(n)), uint64(each))
	low, carry := bits.Add64(low, uint64(more), 0)
	if high += carry; high >= uint64(rate) {
		return horizon, 0
	}
	quotient, rest := bits.Div64(high, low, uint64(rate))
	if quotient >= horizon {
		return horizon, 0
	}
	return int64(quotient), int64(rest)
}

// at is the meter at a time and under a rate. Where the rate has changed,
// as many are used as before.
func (m Meter) at(now, rate int64) Meter {
	if m.Free < now {
		m.Free, m.Part = now, 0
	}
	m = m.cut(now)
	if m.Rate != rate {
		used := m.Free - now
		whole, part := span(used, m.Rate, m.Part, rate)
		m.Free, m.Part = now+whole, part
		m.Returned += max(used-whole, 0)
		m.Rate = rate
	}
	return m
}

// cut forgives what is beyond the horizon.
func (m Meter) cut(now int64) Meter {
	if m.full(now) {
		m.Free, m.Part = now+horizon, 0
	}
	return m
}

// full reports whether the meter is at its horizon: what is taken of it then is cut.
func (m Meter) full(now int64) bool { return m.Free-now >= horizon }

// After is the meter once n more are taken.
func (m Meter) After(n, rate, now int64) Meter {
	m = m.at(now, rate)
	whole, part := span(n, minute, 0, rate)
	m.Free, m.Part = m.Free+whole, m.Part+part
	if m.Part >= rate {
		m.Free, m.Part = m.Free+1, m.Part-rate
	}
	return m.cut(now)
}

// Wait is how long it is until the meter may be as it is, rounded up; 0 is now.
func (m Meter) Wait(now int64) int64 {
	over := m.Free - now - minute
	if m.Part > 0 {
		over++
	}
	return max(over, 0)
}

// Back returns n of a taking, as far as they are not over: what stood before now has
// passed, and is not had twice. Others that were returned since may have moved the
// taking itself forward, at most by all of them.
func (m Meter) Back(n int64, at Mark, now int64) Meter {
	moved := m.Returned - at.Returned
	if m.Rate == 0 || moved < 0 { // it was forgotten in between
		return m
	}
	whole, part := span(n, minute, 0, m.Rate)
	room := max(at.Free-moved-now, 0)
	if whole > room || whole == room && part > at.Part {
		whole, part = room, 0
	}
	m.Free, m.Part, m.Returned = m.Free-whole, m.Part-part, m.Returned+whole
	if m.Part < 0 {
		m.Free, m.Part = m.Free-1, m.Part+m.Rate
	}
	if part > 0 {
		m.Returned++
	}
	return m
}

// settle is the meter once a request took actual of it, and not what it holds. The rate
// is the one the request was admitted under, of which a later one may have taken the place.
func (m Meter) settle(hold Hold, actual, rate, now int64) Meter {
	if actual < hold.Taken {
		return m.Back(min(hold.Taken-actual, hold.Last), hold.Mark, now)
	}
	return m.After(actual-hold.Taken, cmp.Or(m.Rate, rate), now)
}

// Left is how many may be taken now.
func (m Meter) Left(rate, now int64) int64 {
	m = m.at(now, rate)
	if m.Free-now >= minute {
		return 0
	}
	// At most a minute by MaxFigure, which an int64 holds.
	return max(((now+minute-m.Free)*rate-m.Part)/minute, 0)
}
