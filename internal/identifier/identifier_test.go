package identifier_test

import (
	"regexp"
	"testing"

	"github.com/genway/genway/internal/identifier"
)

func TestNew(t *testing.T) {
	shape, seen := regexp.MustCompile(`^req_[0-9a-f]{32}$`), map[string]bool{}
	for range 1000 {
		id := identifier.New("req_")
		if !shape.MatchString(id) || seen[id] {
			t.Fatalf("%s, after %d others", id, len(seen))
		}
		seen[id] = true
	}
	if n := testing.AllocsPerRun(100, func() { identifier.New("req_") }); n > 1 {
		t.Errorf("%v allocations, want 1", n)
	}
}
