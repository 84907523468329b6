package amount_test

import (
	"math"
	"math/big"
	"testing"

	"github.com/genway/genway/core/amount"
	"pgregory.net/rapid"
)

// figures are those at which arithmetic goes wrong, and any other.
var figures = rapid.OneOf(
	rapid.SampledFrom([]int64{math.MinInt64, math.MinInt64 + 1, -1 << 53, -1, 0, 1, 2, 4, 1 << 32, 1<<53 - 1, 1 << 53, 1<<53 + 1,
		5e15, 1 << 61, 1 << 62, 9223371487098961920, math.MaxInt64 - 1, math.MaxInt64}),
	rapid.Int64(),
)

// exactly is a result of numbers of any size as an amount.
func exactly(n *big.Int) int64 {
	switch {
	case n.Sign() < 0:
		return 0
	case !n.IsInt64():
		return math.MaxInt64
	}
	return n.Int64()
}

// Every operation is the integers' operation, cut to 0 and to the largest int64.
func TestSaturates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := figures.Draw(t, "a"), figures.Draw(t, "b"), figures.Draw(t, "c")
		x, y, z := big.NewInt(max(a, 0)), big.NewInt(max(b, 0)), big.NewInt(max(c, 0))
		for name, is := range map[string][2]int64{
			"sum of two":   {amount.Sum(a, b), exactly(new(big.Int).Add(x, y))},
			"sum of three": {amount.Sum(a, b, c), exactly(new(big.Int).Add(new(big.Int).Add(x, y), z))},
			"difference":   {amount.Less(a, b), exactly(new(big.Int).Sub(x, y))},
			"product":      {amount.Times(a, b), exactly(new(big.Int).Mul(x, y))},
			"of":           {amount.Of(a), x.Int64()},
			"bound":        {amount.Bound(a), min(x.Int64(), 1<<53-1)},
		} {
			if is[0] != is[1] {
				t.Errorf("%s of %d, %d, %d is %d, want %d", name, a, b, c, is[0], is[1])
			}
		}
		if f := float64(amount.Bound(a)); int64(f) != amount.Bound(a) {
			t.Errorf("%d is not exact as a floating-point number", amount.Bound(a))
		}
	})
}

func TestAllocations(t *testing.T) {
	if got := testing.AllocsPerRun(100, func() {
		if amount.Sum(amount.Times(3, 4), amount.Less(5, 4), 7) != 20 {
			t.Fatal("wrong")
		}
	}); got != 0 {
		t.Errorf("%v allocations", got)
	}
}
