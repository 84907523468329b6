package price

import (
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// Dollars is an amount as a file spells it, kept in nano-dollars.
type Dollars int64

// dollar is a dollar in nano-dollars.
const dollar = 1_000_000_000

// maxDollars bounds what a million tokens or an image may cost: what is above is a slip.
const maxDollars = 1_000_000

var decimal = regexp.MustCompile(`^(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$`)

// ParseDollars reads a decimal number of dollars, by its digits and not by way of a
// floating-point number: 2.50, 1e-3. What is finer than a nano-dollar, below 0 or above
// a million is an error.
func ParseDollars(text string) (Dollars, error) {
	d, exact, err := Scale(text, 0)
	if err == nil && !exact {
		err = fmt.Errorf("%q is finer than a nano-dollar, $0.000000001", text)
	}
	return d, err
}

// Scale reads a decimal number of dollars times ten to the shift: with 6, a price per
// token is one per million of them. What is finer than a nano-dollar is rounded to the
// nearest, halves up, and not exact.
func Scale(text string, shift int) (d Dollars, exact bool, err error) {
	m := decimal.FindStringSubmatch(text)
	if m == nil {
		return 0, false, fmt.Errorf("%q is no price; write dollars, as in 2.50", text)
	}
	exponent := 0
	if m[3] != "" {
		if exponent, err = strconv.Atoi(m[3]); err != nil {
			return 0, false, fmt.Errorf("%q is no price: %w", text, err)
		}
	}
	number, ok := new(big.Int).SetString(m[1]+m[2], 10)
	if !ok {
		return 0, false, fmt.Errorf("%q is no price", text)
	}
	exponent += shift + 9 - len(m[2])
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(exponent, -exponent))), nil)
	rest := new(big.Int)
	if exponent >= 0 {
		number.Mul(number, power)
	} else {
		number.QuoRem(number, power, rest)
	}
	exact = rest.Sign() == 0
	if rest.Lsh(rest, 1).Cmp(power) >= 0 && !exact {
		number.Add(number, big.NewInt(1))
	}
	if number.Cmp(big.NewInt(maxDollars*dollar)) > 0 {
		return 0, false, fmt.Errorf("%q is more than a price can be, %d dollars", text, maxDollars)
	}
	return Dollars(number.Int64()), exact, nil
}

// String writes the digits it takes: 2.5, 0.000000001.
func (d Dollars) String() string {
	text := fmt.Sprintf("%d.%09d", int64(d)/dollar, int64(d)%dollar)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// UnmarshalYAML reads an amount by the digits in the file, quoted or not.
func (d *Dollars) UnmarshalYAML(node ast.Node) error {
	text := node.GetToken().Value
	parsed, err := ParseDollars(strings.ReplaceAll(text, "_", ""))
	if err != nil {
		return &yaml.SyntaxError{Token: node.GetToken(), Message: err.Error()}
	}
	*d = parsed
	return nil
}
