package price

import (
	"bufio"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/genway/genway/core/ledger"
)

// Write writes a catalogue file, a line for each row.
func Write(w io.Writer, rows []Row) error {
	out := bufio.NewWriter(w)
	if _, err := out.WriteString("prices:\n"); err != nil {
		return err
	}
	for _, row := range rows {
		if _, err := out.WriteString("  - " + row.String() + "\n"); err != nil {
			return err
		}
	}
	return out.Flush()
}

// String is the row as a file may have it, on one line. It spells what the row says and
// nothing else, always in the same way.
func (r Row) String() string {
	pairs := []string{"model: " + word(r.Model)}
	if r.Upstream != "" {
		pairs = append(pairs, "upstream: "+word(r.Upstream))
	}
	if !r.From.IsZero() {
		pairs = append(pairs, "from: "+r.From.String())
	}
	for _, term := range [][2]string{{"service_tier", r.ServiceTier}, {"speed", r.Speed}, {"inference_geo", r.InferenceGeo}} {
		if term[1] != "" {
			pairs = append(pairs, term[0]+": "+word(term[1]))
		}
	}
	pairs = append(pairs, r.pairs()...)
	if r.Image != nil {
		pairs = append(pairs, "image: "+r.Image.String())
	}
	pairs = list(pairs, "images", r.Images, func(i ImageRow) []string {
		var p []string
		if i.Size != "" {
			p = append(p, "size: "+word(i.Size))
		}
		if i.Quality != "" {
			p = append(p, "quality: "+word(i.Quality))
		}
		return append(p, "price: "+i.Price.String())
	})
	pairs = list(pairs, "tiers", r.Tiers, func(t TierRow) []string {
		return append([]string{"above: " + strconv.FormatInt(t.Above, 10)}, t.pairs()...)
	})
	if len(r.PerCall) > 0 {
		var calls []string
		for _, tool := range slices.Sorted(maps.Keys(r.PerCall)) {
			calls = append(calls, word(tool)+": "+r.PerCall[tool].String())
		}
		pairs = append(pairs, "per_call: {"+strings.Join(calls, ", ")+"}")
	}
	return "{" + strings.Join(pairs, ", ") + "}"
}

// pairs are the classes that have a price.
func (c *Classes) pairs() []string {
	var pairs []string
	for _, k := range ledger.Kinds {
		if d := *c.at(k); d != nil {
			pairs = append(pairs, k.Price+": "+d.String())
		}
	}
	return pairs
}

func list[T any](pairs []string, key string, of []T, pairsOf func(T) []string) []string {
	if len(of) == 0 {
		return pairs
	}
	var items []string
	for _, t := range of {
		items = append(items, "{"+strings.Join(pairsOf(t), ", ")+"}")
	}
	return append(pairs, key+": ["+strings.Join(items, ", ")+"]")
}

// plain are words that YAML takes for a text without quotes.
var plain = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._/-]*$`)

// word is a text as YAML spells it; JSON's quotes are YAML's.
func word(s string) string {
	switch strings.ToLower(s) {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n":
	default:
		if plain.MatchString(s) {
			return s
		}
	}
	return strconv.Quote(s)
}
