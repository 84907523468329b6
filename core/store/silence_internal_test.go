package store

import (
	"testing"
	"time"
)

func TestStatementTimeout(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": 0, "0": 0, "60s": time.Minute, "1500": 1500 * time.Millisecond, "2min": 2 * time.Minute, "1 h": time.Hour, "'1d'": 24 * time.Hour,
		"250us": 250 * time.Microsecond, "1.5s": 1500 * time.Millisecond, "-1": 0, "soon": 0, "9999999999d": 0, "100000000d": 0,
	} {
		if got := statementTimeout(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
