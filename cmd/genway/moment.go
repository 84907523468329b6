package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// moment is a point in time as a flag spells it: so long ago, a day of UTC or a time.
type moment struct{ time.Time }

// UnmarshalText reads 36h, 30d, 2026-01-31 or 2026-01-31T12:00:00Z.
func (m *moment) UnmarshalText(text []byte) error {
	s := string(text)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 && n < 1e5 {
			m.Time = time.Now().AddDate(0, 0, -n)
			return nil
		}
	}
	if ago, err := time.ParseDuration(s); err == nil && ago >= 0 {
		m.Time = time.Now().Add(-ago)
		return nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.ParseInLocation(layout, s, time.UTC); err == nil {
			m.Time = t
			return nil
		}
	}
	return fmt.Errorf("%q is no time; write 36h or 30d for so long ago, 2026-01-31 or 2026-01-31T12:00:00Z", s)
}
