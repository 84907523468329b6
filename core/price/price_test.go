package price_test

import (
	"math"
	"math/big"
	"testing"

	"github.com/genway/genway/core/amount"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/price"
	"pgregory.net/rapid"
)

// rates draws prices of every class up to a thousand dollars a million tokens.
func rates(t *rapid.T) price.Rates {
	draw := rapid.OneOf(rapid.Int64Range(0, 1_000_000_000_000), rapid.Int64Range(0, 3))
	one := func(class string) int64 { return draw.Draw(t, class) }
	var r price.Rates
	for _, k := range ledger.Kinds {
		if k.Price != "" {
			*r.At(k) = one(k.Name)
		}
	}
	return r
}

// tiered draws a price with up to two tiers.
func tiered(t *rapid.T) price.Price {
	p := price.Price{Rates: rates(t), Image: rapid.Int64Range(0, 1e9).Draw(t, "image")}
	above := int64(0)
	for range rapid.IntRange(0, 2).Draw(t, "tiers") {
		above += rapid.Int64Range(1, 300_000).Draw(t, "above")
		p.Tiers = append(p.Tiers, price.Tier{Above: above, Rates: rates(t)})
	}
	return p
}

// usage draws what adds up: parts are no more than the whole.
func usage(t *rapid.T) ledger.Usage {
	u := ledger.Usage{Input: rapid.Int64Range(0, 1_000_000).Draw(t, "in"), Output: rapid.Int64Range(0, 200_000).Draw(t, "out"),
		Images: rapid.Int64Range(0, 10).Draw(t, "images")}
	part := func(name string, left *int64) int64 {
		n := rapid.Int64Range(0, *left).Draw(t, name)
		*left -= n
		return n
	}
	in, out := u.Input, u.Output
	u.CacheRead, u.CacheWrite, u.InputAudio, u.InputImage = part("read", &in), part("write", &in), part("audio", &in), part("image", &in)
	u.OutputAudio, u.OutputImage, u.Thinking = part("out audio", &out), part("out image", &out), part("thinking", &out)
	written := u.CacheWrite
	u.CacheWrite30m, u.CacheWrite1h, u.CacheWrite12h = part("30m", &written), part("1h", &written), part("12h", &written)
	return u
}

// The cost is the sum of the classes, reckoned here with numbers of any size, rounded
// once.
func TestCostIsTheSumOfTheClasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, u := tiered(t), usage(t)
		r := p.Rates
		for _, tier := range p.Tiers {
			if u.Input > tier.Above {
				r = tier.Rates
			}
		}
		sum := big.NewInt(500_000)
		for _, c := range [][2]int64{
			{u.Input - u.CacheRead - u.CacheWrite - u.InputAudio - u.InputImage, r.Input}, {u.CacheRead, r.CacheRead},
			{u.CacheWrite - u.CacheWrite30m - u.CacheWrite1h - u.CacheWrite12h, r.CacheWrite}, {u.CacheWrite30m, r.CacheWrite30m},
			{u.CacheWrite1h, r.CacheWrite1h}, {u.CacheWrite12h, r.CacheWrite12h}, {u.InputAudio, r.InputAudio},
			{u.InputImage, r.InputImage}, {u.Output - u.OutputAudio - u.OutputImage - u.Thinking, r.Output},
			{u.OutputAudio, r.OutputAudio}, {u.OutputImage, r.OutputImage}, {u.Thinking, r.Thinking},
		} {
			sum.Add(sum, new(big.Int).Mul(big.NewInt(c[0]), big.NewInt(c[1])))
		}
		want := new(big.Int).Quo(sum, big.NewInt(1_000_000))
		want.Add(want, big.NewInt(u.Images*p.Image))
		if got := p.Cost(u); got != want.Int64() {
			t.Fatalf("%d, want %d", got, want)
		}
	})
}

// What is within the estimate costs no more than the estimate, whatever its classes,
// also where an upstream counts a token in two parts.
func TestMostIsABound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := tiered(t)
		any64 := rapid.Int64Range(-5, 1_000_000)
		var u ledger.Usage
		for _, k := range ledger.Kinds {
			if k.Price != "" {
				*u.At(k) = any64.Draw(t, k.Name)
			}
		}
		most := p.Most(u.Input+rapid.Int64Range(0, 300_000).Draw(t, "more in"), u.Output+rapid.Int64Range(0, 9).Draw(t, "more out"))
		if cost := p.Cost(u); cost > most || cost < 0 {
			t.Fatalf("cost %d, most %d", cost, most)
		}
	})
}

// The bound is met by what is all of the dearest class, whichever that is, and of the
// dearest tier.
func TestMostIsTheDearestClass(t *testing.T) {
	const n = 1000
	for _, dear := range ledger.Kinds {
		if dear.Price == "" {
			continue
		}
		var p price.Price
		for _, k := range ledger.Kinds {
			*p.At(k) = 1e6
		}
		*p.At(dear) = 5e6
		name, used := dear.Name, ledger.Usage{}
		for k := dear; k != nil; k = k.Whole {
			*used.At(k) = n
		}
		if cost, most := p.Cost(used), p.Most(used.Input, used.Output); cost != 5*n || most != cost {
			t.Errorf("%s: cost %d, most %d", name, cost, most)
		}
		tiered := price.Price{Rates: price.Rates{Input: 1, Output: 1}, Tiers: []price.Tier{{Above: n - 1, Rates: p.Rates}}}
		if used := used; used.Input > 0 {
			if cost, most := tiered.Cost(used), tiered.Most(used.Input, used.Output); cost != 5*n || most != cost {
				t.Errorf("%s, in a tier: cost %d, most %d", name, cost, most)
			}
		}
	}
}

// One token more of any class never costs less, as long as the tier stays.
func TestCostIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, u := price.Price{Rates: rates(t)}, usage(t)
		before := p.Cost(u)
		class := rapid.SampledFrom([]struct {
			whole, part *int64
		}{
			{&u.Input, &u.CacheRead}, {&u.Input, &u.CacheWrite}, {&u.Input, &u.InputAudio}, {&u.Input, &u.InputImage}, {&u.Input, nil},
			{&u.Output, &u.OutputAudio}, {&u.Output, &u.OutputImage}, {&u.Output, &u.Thinking}, {&u.Output, nil}, {&u.Images, nil},
		}).Draw(t, "class")
		*class.whole++
		if class.part != nil {
			*class.part++
		}
		if after := p.Cost(u); after < before {
			t.Fatalf("%d, one token less %d", after, before)
		}
	})
}

func TestCost(t *testing.T) {
	// $3 in, $15 out, $0.30 read, $3.75 and $6 written; above 200k twice as much.
	rates := price.Rates{Input: 3e9, Output: 15e9, CacheRead: 3e8, CacheWrite: 375e7, CacheWrite1h: 6e9, Thinking: 15e9,
		InputImage: 3e9, InputAudio: 3e9, OutputImage: 15e9, OutputAudio: 15e9}
	double := price.Rates{Input: 6e9, Output: 225e8, CacheRead: 6e8, CacheWrite: 75e8, CacheWrite1h: 12e9, Thinking: 225e8}
	p := price.Price{Rates: rates, Tiers: []price.Tier{{Above: 200_000, Rates: double}}}
	for _, c := range []struct {
		name string
		of   price.Price
		used ledger.Usage
		want int64
	}{
		{"nothing", p, ledger.Usage{}, 0},
		{"one token in", p, ledger.Usage{Input: 1}, 3000},
		{"each class", p, ledger.Usage{Input: 1000, Output: 100, CacheRead: 500, CacheWrite: 300, CacheWrite1h: 100, Thinking: 40},
			200*3000 + 500*300 + 200*3750 + 100*6000 + 100*15000},
		{"up to the tier", p, ledger.Usage{Input: 200_000}, 200_000 * 3000},
		{"beyond it, all of it", p, ledger.Usage{Input: 200_001, Output: 1}, 200_001*6000 + 22500},
		{"halves go up", price.Price{Rates: price.Rates{Input: 500_000}}, ledger.Usage{Input: 1}, 1},
		{"less than half goes down", price.Price{Rates: price.Rates{Input: 499_999}}, ledger.Usage{Input: 1}, 0},
		{"rounded once, not by class", price.Price{Rates: price.Rates{Input: 400_000, Output: 400_000}}, ledger.Usage{Input: 1, Output: 1}, 1},
		{"counted twice, paid once", p, ledger.Usage{Input: 100, CacheRead: 100, InputImage: 100}, 100 * 300},
		{"images", price.Price{Image: 40_000_000}, ledger.Usage{Images: 3}, 120_000_000},
		{"too much", price.Price{Rates: price.Rates{Input: math.MaxInt64}}, ledger.Usage{Input: math.MaxInt64, Output: 1}, amount.Exact},
		{"too many images", price.Price{Image: math.MaxInt64}, ledger.Usage{Images: 2}, amount.Exact},
		{"too much together", price.Price{Rates: price.Rates{Input: math.MaxInt64}, Image: math.MaxInt64}, ledger.Usage{Input: 1_000_000, Images: 1}, amount.Exact},
		{"below nothing", p, ledger.Usage{Input: math.MinInt64, Output: -1, CacheRead: -1, Images: -1}, 0},
	} {
		if got := c.of.Cost(c.used); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestImages(t *testing.T) {
	p := price.Price{ID: "i", Image: 40, Variants: []price.Variant{{Quality: "hd", Image: 80}, {Size: "1024x1792", Quality: "hd", Image: 120}, {Size: "256x256", Image: 16}}}
	for _, c := range []struct {
		size, quality string
		want          int64
		id            string
	}{
		{"1024x1024", "standard", 40, "i"}, {"", "", 40, "i"}, {"1024x1024", "hd", 80, "i//hd"},
		{"1024x1792", "hd", 120, "i/1024x1792/hd"}, {"256x256", "", 16, "i/256x256/"},
	} {
		got := p.ForImage(c.size, c.quality)
		if cost := got.Cost(ledger.Usage{Images: 2}); cost != 2*c.want || got.ID != c.id || cost > p.MaxImages(2) {
			t.Errorf("%s %s: %d as %s", c.size, c.quality, cost, got.ID)
		}
	}
}
