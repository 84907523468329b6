package price

import (
	"math/bits"

	"github.com/genway/genway/core/amount"
	"github.com/genway/genway/core/ledger"
)

// million is how many tokens a rate is for.
const million = 1_000_000

// Rates are prices by class, in nano-dollars per million tokens; 0 is free. They are
// final: a class without a price of its own has got that of the class it is part of.
type Rates struct {
	Input, Output            int64
	CacheRead, CacheWrite    int64
	CacheWrite1h             int64 // of what is kept an hour, part of the written
	Thinking                 int64
	InputImage, InputAudio   int64
	OutputImage, OutputAudio int64
}

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
	// Rates are those of requests that no tier is for.
	Rates
	// Image is nano-dollars for each image made.
	Image int64
	// Tiers are in ascending order of their bounds.
	Tiers []Tier
	// Variants are the images of a size or a quality that cost other than Image.
	Variants []Variant
}

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
	left := max(u.Input, 0)
	for _, part := range []struct{ tokens, rate int64 }{
		{u.CacheRead, r.CacheRead},
		{min(u.CacheWrite1h, u.CacheWrite), r.CacheWrite1h},
		{u.CacheWrite - max(min(u.CacheWrite1h, u.CacheWrite), 0), r.CacheWrite},
		{u.InputAudio, r.InputAudio},
		{u.InputImage, r.InputImage},
		{left, r.Input},
	} {
		left -= sum.add(min(max(part.tokens, 0), left), part.rate)
	}
	left = max(u.Output, 0)
	for _, part := range []struct{ tokens, rate int64 }{
		{u.OutputAudio, r.OutputAudio},
		{u.OutputImage, r.OutputImage},
		{u.Thinking, r.Thinking},
		{left, r.Output},
	} {
		left -= sum.add(min(max(part.tokens, 0), left), part.rate)
	}
	return amount.Bound(amount.Sum(sum.nearest(), amount.Times(u.Images, p.Image)))
}

// Most is an upper bound of Cost, in nano-dollars, for usage of at most so many input
// and output tokens of any class, up to amount.Exact. Images are for MostImages.
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

// MostImages is an upper bound of what n images cost, of any size and quality.
func (p Price) MostImages(n int64) int64 {
	most := p.Image
	for _, v := range p.Variants {
		most = max(most, v.Image)
	}
	return amount.Bound(amount.Times(n, most))
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

// ByName gives the rates that are not free of a request with so many tokens of input, by the
// names of a price list.
func (p Price) ByName(input int64) map[string]int64 {
	r := p.rates(input)
	named := map[string]int64{}
	for name, rate := range map[string]int64{
		"input": r.Input, "output": r.Output, "cache_read": r.CacheRead, "cache_write": r.CacheWrite, "cache_write_1h": r.CacheWrite1h,
		"thinking": r.Thinking, "input_image": r.InputImage, "input_audio": r.InputAudio, "output_image": r.OutputImage,
		"output_audio": r.OutputAudio, "image": p.Image,
	} {
		if rate > 0 {
			named[name] = rate
		}
	}
	return named
}

// most is the dearest input and the dearest output, rounded up.
func (r Rates) most(input, output int64) int64 {
	var sum total
	sum.add(input, max(r.Input, r.CacheRead, r.CacheWrite, r.CacheWrite1h, r.InputImage, r.InputAudio))
	sum.add(output, max(r.Output, r.Thinking, r.OutputImage, r.OutputAudio))
	return sum.up()
}

// total is a sum of tokens times rates, in nano-dollars per million tokens, of 128 bits:
// the terms of a request cannot exceed it.
type total struct{ high, low uint64 }

// add adds a term and gives its tokens. Neither factor may be below 0.
func (t *total) add(tokens, rate int64) int64 {
	high, low := bits.Mul64(uint64(tokens), uint64(max(rate, 0)))
	var carry uint64
	t.low, carry = bits.Add64(t.low, low, 0)
	t.high, _ = bits.Add64(t.high, high, carry)
	return tokens
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

// Named gives the classes in the order of a file.
func (r Rates) Named() []NamedRate {
	return []NamedRate{
		{"input", r.Input}, {"output", r.Output}, {"cache_read", r.CacheRead}, {"cache_write", r.CacheWrite},
		{"cache_write_1h", r.CacheWrite1h}, {"thinking", r.Thinking}, {"input_image", r.InputImage},
		{"input_audio", r.InputAudio}, {"output_image", r.OutputImage}, {"output_audio", r.OutputAudio},
	}
}
