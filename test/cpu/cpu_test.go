package cpu_test

import (
	"runtime"
	"testing"

	"github.com/genway/genway/test/cpu"
)

// failing is a test that may fail.
type failing struct {
	testing.TB

	failed bool
}

func (f *failing) Helper()               {}
func (f *failing) Errorf(string, ...any) { f.failed = true }

func TestLinear(t *testing.T) {
	for name, c := range map[string]struct {
		steps func(n int) int
		fails bool
	}{
		"linear": {func(n int) int { return n * 10_000 }, false},
		"square": {func(n int) int { return n * n }, true},
		"little": {func(int) int { return 1 }, false},
	} {
		f := &failing{TB: t}
		cpu.Linear(f, 40_000, func(n int) func() {
			return func() {
				sum := 0
				for i := range c.steps(n) {
					sum ^= i
				}
				runtime.KeepAlive(sum)
			}
		})
		if f.failed != c.fails {
			t.Errorf("%s: failed: %t", name, f.failed)
		}
	}
}
