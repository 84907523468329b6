// Package amount is the arithmetic of tokens, images and nano-dollars. It saturates: a
// result that an int64 cannot hold is the largest int64, and none is below 0. So a figure
// that a caller or an upstream chose cannot turn into a small or negative one and switch
// a limit off.
//
// Estimates, limits, prices and the sums of the ledger use it in place of +, - and *.
// It must import only the standard library.
package amount

import (
	"math"
	"math/bits"
)

const (
	// Max is where sums and products saturate.
	Max = math.MaxInt64
	// Exact is the largest amount of one request, and of one figure in a store: 2^53-1,
	// which floating-point numbers (Lua's, JavaScript's) hold exactly. As money it is
	// nine million dollars, more than a budget can be.
	Exact = 1<<53 - 1
)

// Of returns n as an amount: a number below 0 is 0.
func Of(n int64) int64 { return max(n, 0) }

// Bound returns n as an amount that is exact in every store: 0 to Exact.
func Bound(n int64) int64 { return min(max(n, 0), Exact) }

// Sum adds amounts.
func Sum(amounts ...int64) int64 {
	sum := int64(0)
	for _, n := range amounts {
		if n = Of(n); n > Max-sum {
			return Max
		}
		sum += n
	}
	return sum
}

// Less takes b from a; 0 where b is more.
func Less(a, b int64) int64 { return max(Of(a)-Of(b), 0) }

// Times multiplies two amounts.
func Times(a, b int64) int64 {
	high, low := bits.Mul64(uint64(Of(a)), uint64(Of(b)))
	if high != 0 || low > Max {
		return Max
	}
	return int64(low)
}
