package limit

// minute is the time of every rate, in microseconds: the finest time all stores have.
const minute = 60_000_000

// Meter is how much of a rate is used: the generic cell rate algorithm (ITU-T I.371),
// in integers. Its one figure is the moment at which the rate would be unused again;
// taking n of a rate of r a minute moves it n/r minutes on, and n may be taken as long
// as that moment is within a minute from now. So r may be taken at once, and r more in
// each minute.
//
// Times are microseconds since 1970. The zero value is an unused rate.
type Meter struct {
	// Free is that moment, and Part what it lacks, in 1/rate of a microsecond: rates
	// that do not divide a minute are exact too.
	Free, Part int64
	// Returned is how far Free was ever moved back by what was returned.
	Returned int64
}

// Mark is where a taking stands in a meter.
type Mark struct{ Free, Returned int64 }

// span is how long n of a rate take: whole microseconds, and parts of 1/rate.
func span(n, rate int64) (whole, part int64) {
	whole, part = n/rate*minute, n%rate*minute
	return whole + part/rate, part % rate
}

// after is the meter once n more are taken.
func (m Meter) after(n, rate, now int64) Meter {
	if m.Free < now {
		m.Free, m.Part = now, 0
	}
	if m.Part >= rate { // of a rate that was higher
		m.Part = 0
	}
	whole, part := span(n, rate)
	m.Free, m.Part = m.Free+whole, m.Part+part
	if m.Part >= rate {
		m.Free, m.Part = m.Free+1, m.Part-rate
	}
	return m
}

// wait is how long it is until the meter may be as it is, rounded up; 0 is now.
func (m Meter) wait(now int64) int64 {
	over := m.Free - now - minute
	if m.Part > 0 {
		over++
	}
	return max(over, 0)
}

// mark is where the last taking stands.
func (m Meter) mark() Mark { return Mark{Free: m.Free, Returned: m.Returned} }

// back returns n of a taking, as far as they are not over: what stood before now has
// passed, and is not had twice. Others that were returned since may have moved the
// taking itself forward, at most by all of them.
func (m Meter) back(n, rate int64, at Mark, now int64) Meter {
	whole, _ := span(n, rate)
	moved := m.Returned - at.Returned
	if moved < 0 { // a meter that was forgotten in between
		return m
	}
	whole = max(min(whole, at.Free-moved-now), 0)
	m.Free, m.Returned = m.Free-whole, m.Returned+whole
	return m
}

// settle is the meter once a request took actual of it, and not what it holds.
func (m Meter) settle(hold Hold, actual, rate, now int64) Meter {
	if actual < hold.Tokens {
		return m.back(min(hold.Tokens-actual, hold.Last), rate, hold.Mark, now)
	}
	return m.after(actual-hold.Tokens, rate, now)
}

// Left is how many may be taken now.
func (m Meter) Left(rate, now int64) int64 {
	free, part := m.Free, m.Part
	if free < now {
		free, part = now, 0
	}
	// At most a minute by Most, which an int64 holds.
	return max(((now+minute-free)*rate-part)/minute, 0)
}
