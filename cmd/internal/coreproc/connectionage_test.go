package coreproc

import (
	"testing"
	"time"
)

func TestConnectionAge(t *testing.T) {
	for _, c := range []struct {
		address   string
		age, want time.Duration
	}{
		{"127.0.0.1:9090", 25 * time.Second, 25 * time.Second},
		{"127.0.0.1:9090", 0, 0},
		{"unix:/s", 25 * time.Second, 0},
	} {
		if got := (CoreFlags{GRPC: c.address, MaxAge: c.age}).connectionAge(); got != c.want {
			t.Errorf("%s, %v: %v", c.address, c.age, got)
		}
	}
}
