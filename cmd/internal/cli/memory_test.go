package cli

import "testing"

// The heap grows to the same size whatever is alive, until what is alive is half of it.
func TestPercentFor(t *testing.T) {
	for _, c := range []struct {
		live, roots uint64
		want        int
	}{
		{0, 0, 800}, {1 << 20, 0, 800}, {4 << 20, 0, 700}, {4 << 20, 4 << 20, 350}, {8 << 20, 0, 300},
		{8 << 20, 64 << 20, 33}, {16 << 20, 0, 100}, {64 << 20, 0, 100}, {60 << 20, 30 << 20, 66},
	} {
		if got := percentFor(c.live, c.roots); got != c.want {
			t.Errorf("%d and %d MiB: %d%%, want %d%%", c.live>>20, c.roots>>20, got, c.want)
		}
	}
}
