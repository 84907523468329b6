package schema

import (
	"errors"
	"math/big"
)

// admits reports whether r is on the right side of b: sign is 1 for a lower bound, -1
// for an upper one.
func (b bound) admits(r *big.Rat, sign int) bool {
	if b.value == nil {
		return true
	}
	side := r.Cmp(b.value) * sign
	return side > 0 || side == 0 && !b.open
}

// stricter returns the narrower of two bounds of the same side.
func stricter(a, b bound, sign int) bound {
	switch {
	case b.value == nil:
		return a
	case a.value == nil || b.value.Cmp(a.value)*sign > 0:
		return b
	case b.value.Cmp(a.value) == 0:
		return bound{a.value, a.open || b.open}
	}
	return a
}

func quotient(a, b *big.Rat) *big.Rat { return new(big.Rat).Quo(a, b) }

// commonMultiple is the least positive number that is an integer multiple of both,
// or nil where it is too large to be of use. Nil stands for no restriction.
func commonMultiple(a, b *big.Rat) (*big.Rat, error) {
	if a == nil || b == nil {
		if a == nil {
			a = b
		}
		return a, nil
	}
	x := new(big.Int).Mul(a.Num(), b.Denom())
	y := new(big.Int).Mul(b.Num(), a.Denom())
	gcd := new(big.Int).GCD(nil, nil, x, y)
	x.Mul(x, y.Quo(y, gcd))
	if x.BitLen() > maxBits {
		return nil, errors.New("the values of multipleOf have no common multiple of a reasonable size")
	}
	return new(big.Rat).SetFrac(x, new(big.Int).Mul(a.Denom(), b.Denom())), nil
}

// number makes the wish-th number (from 1) of those g allows, counting from the lower
// bound, or from the upper one if that is all there is, or else from the step itself.
// Whole asks for an integer, otherwise a fraction is preferred.
func (g *goal) number(whole bool, wish int64) (*value, error) {
	step := g.multiple
	if whole {
		var err error
		if step, err = commonMultiple(step, big.NewRat(1, 1)); err != nil {
			return nil, err
		}
	}
	if step == nil {
		return g.fraction(wish)
	}
	first, last := firstMultiple(g.lower, step), lastMultiple(g.upper, step)
	k := big.NewInt(wish)
	one := big.NewInt(1)
	switch {
	case first != nil && last != nil:
		span := new(big.Int).Sub(last, first)
		if span.Sign() < 0 {
			return nil, errors.New("no number is within minimum and maximum and a multiple of multipleOf")
		}
		// A wish that is itself within the range is the plainest choice.
		if k.Cmp(first) < 0 || k.Cmp(last) > 0 {
			k.Sub(k, one)
			k.Mod(k, span.Add(span, one)).Add(k, first)
		}
	case first != nil && k.Cmp(first) < 0:
		k.Add(k, first).Sub(k, one)
	case last != nil && k.Cmp(last) > 0:
		k.Sub(last, k).Add(k, one)
	}
	return numberValue(new(big.Rat).Mul(new(big.Rat).SetInt(k), step)), nil
}

// fraction makes a number that is no integer if it can: a half above the lower bound
// or below the upper one, or the point that far into a narrow range.
func (g *goal) fraction(wish int64) (*value, error) {
	half := new(big.Rat).Add(big.NewRat(wish, 1), big.NewRat(-1, 2))
	low, high := g.lower.value, g.upper.value
	switch {
	case low == nil && high == nil:
		return numberValue(half), nil
	case low != nil && high == nil:
		return numberValue(half.Add(half, new(big.Rat).SetInt(floor(low))).Add(half, big.NewRat(1, 1))), nil
	case low == nil:
		return numberValue(half.Sub(new(big.Rat).SetInt(floor(high)), half)), nil
	}
	width := new(big.Rat).Sub(high, low)
	switch {
	case width.Sign() < 0 || width.Sign() == 0 && (g.lower.open || g.upper.open):
		return nil, errors.New("no number is within minimum and maximum")
	case width.Sign() == 0:
		return numberValue(low), nil
	}
	// 1/2, 1/4, 3/4, 1/8, ... of the width: finite decimals all, and inside.
	parts := int64(2)
	for wish > parts/2 && parts < 1<<20 {
		wish -= parts / 2
		parts *= 2
	}
	at := big.NewRat((2*wish-1)%parts, parts)
	return numberValue(at.Mul(at, width).Add(at, low)), nil
}

func floor(r *big.Rat) *big.Int {
	// Euclidean division with a positive denominator rounds down.
	return new(big.Int).Div(r.Num(), r.Denom())
}

// firstMultiple is the k of the first k*step that b, a lower bound, admits.
func firstMultiple(b bound, step *big.Rat) *big.Int {
	if b.value == nil {
		return nil
	}
	q := quotient(b.value, step)
	k := floor(q)
	if !q.IsInt() || b.open {
		k.Add(k, big.NewInt(1))
	}
	return k
}

// lastMultiple is the k of the last k*step that b, an upper bound, admits.
func lastMultiple(b bound, step *big.Rat) *big.Int {
	if b.value == nil {
		return nil
	}
	q := quotient(b.value, step)
	k := floor(q)
	if q.IsInt() && b.open {
		k.Sub(k, big.NewInt(1))
	}
	return k
}
