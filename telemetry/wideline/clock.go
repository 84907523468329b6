package wideline

import (
	"sync/atomic"
	"time"
)

// second is a second of a location as lines have it: 2006-01-02T15:04:05, and what follows the
// fraction, Z or the offset from UTC. Lines come many a second, so that the last one is kept.
type second struct {
	unix       int64
	in         *time.Location
	date, zone string
}

var latest atomic.Pointer[second]

func secondOf(t time.Time) *second {
	s := latest.Load()
	if s != nil && s.unix == t.Unix() && s.in == t.Location() {
		return s
	}
	s = &second{t.Unix(), t.Location(), t.Format("2006-01-02T15:04:05"), t.Format("Z07:00")}
	latest.Store(s)
	return s
}

// appendTime appends a time as slog's handlers write it: text has milliseconds, JSON has
// nanoseconds without zeros at the end.
func (e Encoding) appendTime(b []byte, t time.Time) []byte {
	s := secondOf(t)
	b = append(b, s.date...)
	if e == JSON {
		b = appendFraction(b, t.Nanosecond(), 9, true)
	} else {
		b = appendFraction(b, t.Nanosecond()/1e6, 3, false)
	}
	return append(b, s.zone...)
}

// appendFraction appends a point and the number n of so many digits. Trimmed, it has no
// zeros at its end, and is nothing for 0.
func appendFraction(b []byte, n, digits int, trimmed bool) []byte {
	if trimmed {
		if n == 0 {
			return b
		}
		for ; n%10 == 0; n /= 10 {
			digits--
		}
	}
	b = append(b, ".000000000"[:1+digits]...)
	for i := len(b) - 1; n > 0; i-- {
		b[i] += byte(n % 10)
		n /= 10
	}
	return b
}
