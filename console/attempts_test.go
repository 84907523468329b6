package console

import (
	"strconv"
	"testing"
	"time"
)

// An attempt is used once, and forged attempts do not prevent others from signing in: the table
// is bounded, and has room for a new one always.
func TestAttempts(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	a := &attempts{clock: func() time.Time { return now }, ends: map[string]time.Time{}}
	first := now.Add(time.Minute)
	if !a.use("first", first) || a.use("first", first) {
		t.Error("an attempt is not used once")
	}
	for i := range 2 * maxAttempts {
		if !a.use(strconv.Itoa(i), now.Add(10*time.Minute)) {
			t.Fatalf("after %d attempts there is no room", i)
		}
	}
	if len(a.ends) > maxAttempts {
		t.Errorf("%d attempts are remembered", len(a.ends))
	}
	if a.use(strconv.Itoa(2*maxAttempts-1), now.Add(10*time.Minute)) {
		t.Error("an attempt is used twice")
	}
	now = now.Add(11 * time.Minute)
	if !a.use("later", now.Add(time.Minute)) || len(a.ends) != 1 || len(a.order) != 1 {
		t.Errorf("%d attempts are remembered, of which one is good", len(a.ends))
	}
}
