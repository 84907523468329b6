package price_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/price"
)

// large is a catalogue of the size of the public ones.
func large() string {
	var text strings.Builder
	text.WriteString("prices:\n")
	for i := range 3000 {
		fmt.Fprintf(&text, "  - {model: model-%d, input: 2.5, output: 10, cache_read: 0.25, tiers: [{above: 200000, input: 5}]}\n", i)
	}
	text.WriteString("  - {model: \"model-*\", input: 1, output: 2}\n")
	return text.String()
}

func BenchmarkParse(b *testing.B) {
	text := []byte(large())
	for b.Loop() {
		if _, err := price.Parse("f", text); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSettle is what a price costs a request: finding it and reckoning by it.
func BenchmarkSettle(b *testing.B) {
	c, err := price.Parse("f", []byte(large()))
	if err != nil {
		b.Fatal(err)
	}
	now := time.Now()
	used := ledger.Usage{Input: 300_000, Output: 500, CacheRead: 1000, Thinking: 100}
	models := []string{"model-7-2026-01-01", "model-7", "fast"}
	b.ReportAllocs()
	for b.Loop() {
		p, ok := c.FindFirst(price.Query{Upstream: "openai", Models: models, At: now})
		if !ok || p.Cost(used) == 0 {
			b.Fatal(p)
		}
	}
}
