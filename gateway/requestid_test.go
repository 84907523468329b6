package gateway

import (
	"regexp"
	"testing"
)

func TestRequestIDs(t *testing.T) {
	shape, seen := regexp.MustCompile(`^req_[a-z2-7]{26}$`), map[string]bool{}
	for range 1000 {
		id := newRequestID()
		if !shape.MatchString(id) || seen[id] {
			t.Fatalf("%s, after %d others", id, len(seen))
		}
		seen[id] = true
	}
}
