package price

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/genway/genway/core/config/strict"
	"github.com/genway/genway/core/glob"
	"github.com/genway/genway/core/ledger"
)

// Catalogue is the prices of one file. It does not change, is safe for concurrent use,
// and a nil one finds nothing.
type Catalogue struct {
	names map[scope]history // of rows whose model is a name
	globs map[scope]*globs  // of the others, by the rest of the scope
	ids   map[string]Price
	wild  []ledger.Terms // those of rows that have any
}

// scope is what the rows of a history have in common.
type scope struct {
	upstream, model string
	terms           ledger.Terms
}

// anyTerm is a term of rows for all of them.
const anyTerm = "*"

// history is the rows of a scope, the latest first.
type history []dated

type dated struct {
	from  time.Time
	price Price
}

// globs are the rows of an upstream that are for more than one model, the most particular
// first.
type globs struct {
	rows  []row
	index *glob.Index
}

type row struct {
	pattern string
	history history
}

// New makes a catalogue of rows that Parse would take. Rows of the same upstream, model
// and day are an error with the place of the second, $.prices[1].
func New(rows []Row) (*Catalogue, error) {
	c := &Catalogue{names: map[scope]history{}, globs: map[scope]*globs{}, ids: map[string]Price{}}
	for i, row := range rows {
		p := row.price()
		key := scope{row.Upstream, row.Model, row.terms()}
		if slices.Contains(key.terms.Words(), anyTerm) && !slices.Contains(c.wild, key.terms) {
			c.wild = append(c.wild, key.terms)
		}
		if slices.ContainsFunc(c.names[key], func(d dated) bool { return d.from.Equal(row.From.Time) }) {
			return nil, strict.Wrong(fmt.Sprintf("$.prices[%d]", i), "%s has a price from that day already", row.name())
		}
		c.names[key] = append(c.names[key], dated{row.From.Time, p})
		c.ids[p.ID] = p
	}
	for key, h := range c.names {
		slices.SortFunc(h, func(a, b dated) int { return b.from.Compare(a.from) })
		if glob.Is(key.model) {
			of := scope{upstream: key.upstream, terms: key.terms}
			g := c.globs[of]
			if g == nil {
				g = &globs{}
				c.globs[of] = g
			}
			g.rows = append(g.rows, row{key.model, h})
			delete(c.names, key)
		}
	}
	for _, g := range c.globs {
		slices.SortFunc(g.rows, func(a, b row) int {
			return cmp.Or(cmp.Compare(literal(b.pattern), literal(a.pattern)), strings.Compare(a.pattern, b.pattern))
		})
		patterns := make([]string, len(g.rows))
		for i := range g.rows {
			patterns[i] = g.rows[i].pattern
		}
		g.index = glob.NewIndex(patterns)
	}
	slices.SortStableFunc(c.wild, func(a, b ledger.Terms) int { return cmp.Compare(anyTerms(a), anyTerms(b)) })
	return c, nil
}

// anyTerms is how many terms are any.
func anyTerms(t ledger.Terms) (n int) {
	for _, word := range t.Words() {
		if word == anyTerm {
			n++
		}
	}
	return n
}

// literal is how many characters of a glob are no star.
func literal(pattern string) int { return len(pattern) - strings.Count(pattern, "*") }

// Query says which price is meant.
type Query struct {
	// Upstream is where the model was used; empty finds only rows that are for any.
	Upstream string
	// Models are the names of the model, the most particular first: the one the upstream gives it in its answer, the
	// one it was asked for. Empty ones are passed over.
	Models []string
	// Terms are how it was served.
	ledger.Terms
	At time.Time
}

// Find returns the price of a model at an upstream at a time, by the standard terms.
func (c *Catalogue) Find(upstream, model string, at time.Time) (Price, bool) {
	return c.FindFirst(Query{Upstream: upstream, Models: []string{model}, At: at})
}

// FindFirst returns the price that a query means. Rows of the upstream go before rows of any; within these
// names before globs, and globs with more characters before others; within
// these the rows of the terms before those of any terms, and the models' names in their order. Of the rows of a model the
// latest counts that is not after the time. A row of other terms is none: what a tier costs is not what another one does.
func (c *Catalogue) FindFirst(q Query) (Price, bool) {
	if c == nil {
		return Price{}, false
	}
	terms := append(make([]ledger.Terms, 0, 1), q.Terms)
	for _, w := range c.wild {
		if w != q.Terms && matches(w.ServiceTier, q.ServiceTier) && matches(w.Speed, q.Speed) && matches(w.InferenceGeo, q.InferenceGeo) {
			terms = append(terms, w)
		}
	}
	scopes := []string{q.Upstream, ""}
	if q.Upstream == "" {
		scopes = scopes[1:]
	}
	for _, u := range scopes {
		for _, t := range terms {
			for _, model := range q.Models {
				if p, ok := c.names[scope{u, model, t}].at(q.At); ok && model != "" {
					return p, true
				}
			}
		}
		for _, t := range terms {
			if p, ok := c.globs[scope{upstream: u, terms: t}].find(q.Models, q.At); ok {
				return p, true
			}
		}
	}
	return Price{}, false
}

func matches(row, served string) bool { return row == anyTerm || row == served }

// find returns the price of the first row that is for one of the models and has a price at that
// time. Where it is for several of them, they have the same one.
func (g *globs) find(models []string, at time.Time) (Price, bool) {
	if g == nil {
		return Price{}, false
	}
	best := -1
	for _, model := range models {
		if model == "" {
			continue
		}
		i := g.index.First(model, func(i int) bool {
			_, ok := g.rows[i].history.at(at)
			return ok
		})
		if i >= 0 && (best < 0 || i < best) {
			best = i
		}
	}
	if best < 0 {
		return Price{}, false
	}
	return g.rows[best].history.at(at)
}

// ByID returns the price with an ID, as the ledger keeps it.
func (c *Catalogue) ByID(id string) (Price, bool) {
	if c == nil {
		return Price{}, false
	}
	if p, ok := c.ids[id]; ok {
		return p, true
	}
	// The ID of a variant is its row's, and the variant.
	for start := 0; ; {
		slash := strings.IndexByte(id[start:], '/')
		if slash < 0 {
			return Price{}, false
		}
		start += slash
		if p, ok := c.ids[id[:start]]; ok {
			for _, v := range p.Variants {
				if v.id(p.ID) == id {
					p.ID, p.Image = id, v.Image
					return p, true
				}
			}
		}
		start++
	}
}

// Len is how many rows there are.
func (c *Catalogue) Len() int { return len(c.ids) }

func (h history) at(t time.Time) (Price, bool) {
	for _, d := range h {
		if !d.from.After(t) {
			return d.price, true
		}
	}
	return Price{}, false
}

// key is what a row is for, without the day: upstream:model+priority.
func (r Row) key() string {
	key := r.Model
	if r.Upstream != "" {
		key = r.Upstream + ":" + key
	}
	return strings.Join(append([]string{key}, r.terms().Words()...), "+")
}

// name is what a row is for: upstream:model@day.
func (r Row) name() string {
	name := r.key()
	if !r.From.IsZero() {
		name += "@" + r.From.String()
	}
	return name
}

// price makes the row's price. Its ID is what the row is for and a digest of what it
// says, so that an edited row has another.
func (r Row) price() Price {
	digest := sha256.Sum256([]byte(r.String()))
	p := Price{ID: r.name() + "#" + hex.EncodeToString(digest[:4]), Rates: r.rates()}
	switch {
	case r.Image != nil:
		p.Image = int64(*r.Image)
	case len(r.Images) > 0:
		p.Image = NoPrice
	}
	below := r.Classes
	for _, t := range r.Tiers {
		below = t.over(below)
		p.Tiers = append(p.Tiers, Tier{Above: t.Above, Rates: below.rates()})
	}
	for _, i := range r.Images {
		p.Variants = append(p.Variants, Variant{Size: i.Size, Quality: i.Quality, Image: int64(*i.Price)})
	}
	if len(r.PerCall) > 0 {
		p.PerCall = make(map[string]int64, len(r.PerCall))
		for tool, each := range r.PerCall {
			p.PerCall[tool] = int64(each)
		}
	}
	return p
}

// Book is the catalogue that is valid now: it may be replaced while it is read. The zero
// Book has none.
type Book struct {
	current atomic.Pointer[Catalogue]
}

// Swap puts a catalogue in place of the one there is; nil takes it away.
func (b *Book) Swap(c *Catalogue) { b.current.Store(c) }

// Find is Catalogue.Find of the current one.
func (b *Book) Find(upstream, model string, at time.Time) (Price, bool) {
	return b.current.Load().Find(upstream, model, at)
}

// ByID is Catalogue.ByID of the current one.
func (b *Book) ByID(id string) (Price, bool) { return b.current.Load().ByID(id) }

// FindFirst is Catalogue.FindFirst of the current one.
func (b *Book) FindFirst(q Query) (Price, bool) { return b.current.Load().FindFirst(q) }
