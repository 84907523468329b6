package price_test

import (
	"fmt"
	"math/big"
	"testing"

	"github.com/genway/genway/core/price"
	"pgregory.net/rapid"
)

func TestParseDollars(t *testing.T) {
	for text, want := range map[string]price.Dollars{
		"0": 0, "0.000000001": 1, "2.50": 2_500_000_000, "1000000": 1e15, "1e-9": 1, "1.5E+3": 1_500_000_000_000,
		"0.10": 100_000_000, "000.3": 300_000_000, "0.30000000000000": 300_000_000,
	} {
		if got, err := price.ParseDollars(text); err != nil || got != want {
			t.Errorf("%s: %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", ".5", "5.", "-1", "+1", "1,5", "$1", "0x1", "1e", "1e9999", "NaN", "1000000.000000001", "1e-10", " 1"} {
		if got, err := price.ParseDollars(text); err == nil {
			t.Errorf("%q: %d", text, got)
		}
	}
}

// A price a token is one a million tokens by its digits: 7.5e-08 is 0.075, where floating
// point has 0.07500000000000001.
func TestScale(t *testing.T) {
	for text, want := range map[string]string{"7.5e-08": "0.075", "0.0000025": "2.5", "3e-06": "3", "1.9e-8": "0.019"} {
		if got, exact, err := price.Scale(text, 6); err != nil || !exact || got.String() != want {
			t.Errorf("%s: %s, %t, %v, want %s", text, got, exact, err, want)
		}
	}
	for text, want := range map[string]price.Dollars{"1.0000000000000002e-06": 1_000_000_000, "5e-16": 1, "4.9e-16": 0} {
		if got, exact, err := price.Scale(text, 6); err != nil || exact || got != want {
			t.Errorf("%s: %d, %t, %v, want %d", text, got, exact, err, want)
		}
	}
}

// Digits mean what they mean to arithmetic of any size, and what is written is read as
// it was.
func TestDollarsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := fmt.Sprintf("%s.%se%d", rapid.StringMatching(`\d{1,5}`).Draw(t, "whole"), rapid.StringMatching(`\d{1,12}`).Draw(t, "part"), rapid.IntRange(-12, 1).Draw(t, "exponent"))
		want, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatal(text)
		}
		want.Mul(want, big.NewRat(1_000_000_000, 1))
		got, exact, err := price.Scale(text, 0)
		if err != nil {
			t.Fatal(err)
		}
		off := new(big.Rat).Sub(want, new(big.Rat).SetInt64(int64(got)))
		if exact != (off.Sign() == 0) || off.Abs(off).Cmp(big.NewRat(1, 2)) > 0 {
			t.Fatalf("%s is read as %d, %s off", text, got, off)
		}
		if again, err := price.ParseDollars(got.String()); err != nil || again != got {
			t.Fatalf("%d is written %s and read %d, %v", got, got, again, err)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(catalogue))
	f.Add([]byte(`{"prices": [{"model": "a", "input": 1e-3, "output": 2}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := price.Parse("f", text)
		if (c == nil) == (err == nil) {
			t.Errorf("%v, %v", c, err)
		}
	})
}
