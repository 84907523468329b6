// Package price computes what a request costs: a Catalogue of dated rows, by upstream and
// model, read from a file of the operator's, and the arithmetic of one row.
//
// Money is integer nano-dollars: no floating-point number touches it. A row's rates are
// nano-dollars per million tokens, which spells $0.000000001 per million exactly; a
// request's cost is rounded once, to the nearest nano-dollar.
//
// The package must not import the packages that charge by it: it knows core/ledger for
// what was used, and nothing else of the core.
package price

import (
	"fmt"
	"math/big"
	"math/bits"
	"regexp"
	"strconv"
	"strings"

	"github.com/genway/genway/core/amount"
	"github.com/genway/genway/core/ledger"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// million is how many tokens a rate is for.
const million = 1_000_000

// Rates are prices by kind, in nano-dollars per million tokens; 0 is free. They are
// final: a kind without a price of its own has the price of its whole. Images and calls of tools have
// their prices elsewhere.
type Rates ledger.Quantities[int64]

// At is the rate of a kind.
func (r *Rates) At(k *ledger.Kind) *int64 { return (*ledger.Quantities[int64])(r).At(k) }

// Tier is the rates of requests with a large input.
type Tier struct {
	// Above is the input, in tokens, beyond which the whole request has these rates.
	Above int64
	Rates
}

// Price is one row of a catalogue, or one made by hand. It is not to be changed.
type Price struct {
	// ID names the row and its figures: they do not change without it.
	ID string
	// Rates are the rates of requests that no tier is for.
	Rates
	// Image is nano-dollars for each image made, or NoPrice.
	Image int64
	// Tiers are in ascending order of their bounds.
	Tiers []Tier
	// Variants are the images of a size or a quality that cost other than Image.
	Variants []Variant
	// PerCall is nano-dollars for each call of a hosted tool, by the tool's name.
	PerCall map[string]int64
}

// NoPrice is the price of an image that has none.
const NoPrice = -1

// Variant is what an image of a size, a quality or both costs.
type Variant struct {
	Size, Quality string // empty is any
	Image         int64  // nano-dollars
}

// Cost is what was used times its price, in nano-dollars: the exact sum of all classes,
// rounded to the nearest, halves up. What is more than amount.Exact (nine million dollars)
// is amount.Exact, so that a thousand rows of it still have a sum. Figures below 0 are 0.
//
// Each token is paid once. The parts of the input are taken from it in this order: cache
// reads, cache writes, audio, images, and what is left is plain; so an upstream that
// counts a cached image in two parts is not paid twice. The parts of the output are
// audio, images, thinking.
func (p Price) Cost(u ledger.Usage) int64 {
	r := p.rates(u.Input)
	var sum total
	for _, k := range ledger.Kinds {
		if k.Price != "" && k.Whole == nil {
			r.pay(&sum, &u, k, amount.Max)
		}
	}
	return amount.Bound(amount.Sum(sum.nearest(), amount.Times(u.Images, p.Image)))
}

// pay adds what a kind and its parts cost, of which no more than most tokens are left to be paid. It returns
// the tokens.
func (r *Rates) pay(to *total, u *ledger.Usage, k *ledger.Kind, most int64) int64 {
	tokens := min(max(*u.At(k), 0), most)
	if tokens == 0 {
		return 0
	}
	left := tokens
	for _, part := range k.Parts {
		left -= r.pay(to, u, part, left)
	}
	to.add(left, *r.At(k))
	return tokens
}

// Charge sets what a charge costs by this price, and whether something of it has no price.
func (p Price) Charge(c *ledger.Charge) {
	c.Price, c.Cost = p.ID, p.Cost(c.Usage)
	c.Unpriced = c.Unpriced || c.Usage.Images > 0 && p.Image == NoPrice
	for tool, calls := range c.Calls {
		each, priced := p.PerCall[tool]
		c.Cost = amount.Sum(c.Cost, amount.Times(calls, each))
		c.Unpriced = c.Unpriced || calls > 0 && !priced
	}
	c.Cost = amount.Bound(c.Cost)
}

// Most is an upper bound of Cost, in nano-dollars, for usage of at most so many input
// and output tokens of any class, up to amount.Exact. Images are for MaxImages.
func (p Price) Most(inputTokens, outputTokens int64) int64 {
	inputTokens, outputTokens = max(inputTokens, 0), max(outputTokens, 0)
	most := p.most(inputTokens, outputTokens)
	for _, t := range p.Tiers {
		if inputTokens > t.Above {
			most = max(most, t.most(inputTokens, outputTokens))
		}
	}
	return most
}

// MaxImages is an upper bound of what n images cost, of any size and quality.
func (p Price) MaxImages(n int64) int64 {
	most := p.Image
	for _, v := range p.Variants {
		most = max(most, v.Image)
	}
	return amount.Bound(amount.Times(n, most))
}

// Call is what a call of a hosted tool costs, by the tool's type: the price of web_search is for web_search_20250305, too. 0 is
// free, or not known.
func (p Price) Call(kind string) int64 {
	best, each := "", int64(0)
	for tool, price := range p.PerCall {
		if (kind == tool || strings.HasPrefix(kind, tool+"_")) && len(tool) > len(best) {
			best, each = tool, price
		}
	}
	return each
}

// ForImage is the price of images of a size and a quality: the variant that fits and
// says most decides. It is named in the ID.
func (p Price) ForImage(size, quality string) Price {
	best, id := -1, p.ID
	for _, v := range p.Variants {
		if fits, says := v.fits(size, quality); fits && says > best {
			best, p.Image, p.ID = says, v.Image, v.id(id)
		}
	}
	return p
}

// id is the variant's ID in the row of an ID.
func (v Variant) id(row string) string { return row + "/" + v.Size + "/" + v.Quality }

func (v Variant) fits(size, quality string) (fits bool, says int) {
	if v.Size != "" {
		says++
	}
	if v.Quality != "" {
		says++
	}
	return (v.Size == "" || v.Size == size) && (v.Quality == "" || v.Quality == quality), says
}

// rates are those for an input of so many tokens.
func (p Price) rates(input int64) Rates {
	r := p.Rates
	for _, t := range p.Tiers {
		if input > t.Above {
			r = t.Rates
		}
	}
	return r
}

// ByName returns the rates that are not free of a request with so many tokens of input, by the
// names of a price list.
func (p Price) ByName(input int64) map[string]int64 {
	named, rates := map[string]int64{}, p.rates(input)
	for _, r := range append(rates.Named(), NamedRate{"image", p.Image}) {
		if r.Nanos > 0 {
			named[r.Name] = r.Nanos
		}
	}
	for tool, each := range p.PerCall {
		named["per_call."+tool] = each
	}
	return named
}

// most is the dearest input and the dearest output, rounded up.
func (r *Rates) most(input, output int64) int64 {
	var dearest Rates
	for _, k := range ledger.Kinds {
		whole := k
		for whole.Whole != nil {
			whole = whole.Whole
		}
		to := dearest.At(whole)
		*to = max(*to, *r.At(k))
	}
	var sum total
	sum.add(input, dearest.Input)
	sum.add(output, dearest.Output)
	return sum.up()
}

// total is a sum of tokens times rates, in nano-dollars per million tokens, of 128 bits:
// the terms of a request cannot exceed it.
type total struct{ high, low uint64 }

// add adds a term. tokens may not be below 0.
func (t *total) add(tokens, rate int64) {
	high, low := bits.Mul64(uint64(tokens), uint64(max(rate, 0)))
	var carry uint64
	t.low, carry = bits.Add64(t.low, low, 0)
	t.high, _ = bits.Add64(t.high, high, carry)
}

// nearest is the sum in nano-dollars, halves up.
func (t *total) nearest() int64 { return t.rounded(million / 2) }

// up is the sum in nano-dollars, rounded up.
func (t *total) up() int64 { return t.rounded(million - 1) }

func (t *total) rounded(bias uint64) int64 {
	low, carry := bits.Add64(t.low, bias, 0)
	high := t.high + carry
	if high >= million {
		return amount.Exact
	}
	quotient, _ := bits.Div64(high, low, million)
	return int64(min(quotient, amount.Exact))
}

// NamedRate is the price of one class.
type NamedRate struct {
	// Name is the class's key in a file: cache_read.
	Name string
	// Nanos are nano-dollars per million tokens.
	Nanos int64
}

// Named returns the rates in the order of a file.
func (r *Rates) Named() []NamedRate {
	var named []NamedRate
	for _, k := range ledger.Kinds {
		if k.Price != "" {
			named = append(named, NamedRate{k.Price, *r.At(k)})
		}
	}
	return named
}

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
