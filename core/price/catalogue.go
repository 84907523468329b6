package price

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/genway/genway/core/config/strict"
	"github.com/genway/genway/core/glob"
	"github.com/genway/genway/core/ledger"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// Catalogue is the prices of one file. It does not change, is safe for concurrent use,
// and a nil one finds nothing.
type Catalogue struct {
	names map[scope]history // of rows whose model is a name
	globs map[scope]*globs  // of the others, by the rest of the scope
	ids   map[string]Price
	wild  []ledger.Terms // the terms of rows that have any
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
	// Models are the names of the model, the most particular first: the one in the upstream's answer, the
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
// these the rows of the terms before the rows of any terms, and the models' names in their order. Of the rows of a model the
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

// Row is one price as a file has it. Its tags are the file's keys.
type Row struct {
	// Model is a name or a glob: * is any run of characters. Required.
	Model string `yaml:"model"`
	// Upstream is the name of the one it is for; empty is any.
	Upstream string `yaml:"upstream,omitempty"`
	// From is the day, of UTC, its requests begin on at the earliest; the zero day is
	// ever since.
	From Day `yaml:"from,omitempty"`
	// ServiceTier, Speed and InferenceGeo are what the price is for requests of that were so served, in the vendors' words; empty
	// is the vendor's standard, * is any.
	ServiceTier  string `yaml:"service_tier,omitempty"`
	Speed        string `yaml:"speed,omitempty"`
	InferenceGeo string `yaml:"inference_geo,omitempty"`
	// Classes are the prices of tokens. Input and output are required unless images
	// have a price.
	Classes `yaml:",inline"`
	// Image is dollars for each image made.
	Image *Dollars `yaml:"image,omitempty"`
	// Images are images that cost other than Image.
	Images []ImageRow `yaml:"images,omitempty"`
	// Tiers are the prices of requests with a large input, in ascending order.
	Tiers []TierRow `yaml:"tiers,omitempty"`
	// PerCall is dollars for each call of a hosted tool, by the tool's name: web_search.
	PerCall map[string]Dollars `yaml:"per_call,omitempty"`
}

// terms are how requests are served that the row is for.
func (r Row) terms() ledger.Terms { return ledger.NewTerms(r.ServiceTier, r.Speed, r.InferenceGeo) }

// Classes are dollars per million tokens, by the keys of ledger.Kinds. A class without one costs what
// the class it is part of does; 0 is free.
type Classes ledger.Quantities[*Dollars]

// at is the price of a kind.
func (c *Classes) at(k *ledger.Kind) **Dollars { return (*ledger.Quantities[*Dollars])(c).At(k) }

// ImageRow is the price of images of a size, a quality or both.
type ImageRow struct {
	Size    string   `yaml:"size,omitempty"`
	Quality string   `yaml:"quality,omitempty"`
	Price   *Dollars `yaml:"price"`
}

// TierRow is the price of requests whose input is above so many tokens. A class it
// leaves out costs what it does below.
type TierRow struct {
	Above   int64 `yaml:"above"`
	Classes `yaml:",inline"`
}

// Day is a day of UTC.
type Day struct{ time.Time }

// UnmarshalYAML reads a day as 2006-01-02.
func (d *Day) UnmarshalYAML(node ast.Node) error {
	text := node.GetToken().Value
	day, err := ParseDay(text)
	if err != nil {
		return &yaml.SyntaxError{Token: node.GetToken(), Message: err.Error()}
	}
	*d = day
	return nil
}

// ParseDay reads a day as 2006-01-02.
func ParseDay(text string) (Day, error) {
	t, err := time.ParseInLocation(time.DateOnly, text, time.UTC)
	if err != nil {
		return Day{}, fmt.Errorf("%q is no day; write it as 2026-01-31", text)
	}
	return Day{t}, nil
}

func (d Day) String() string { return d.Format(time.DateOnly) }

// over returns the classes, from below where they are missing.
func (c *Classes) over(below Classes) Classes {
	sum := *c
	for _, k := range ledger.Kinds {
		if to := sum.at(k); *to == nil {
			*to = *below.at(k)
		}
	}
	return sum
}

// rates sets the price of each class, or the price of the class it is part of.
func (c *Classes) rates() Rates {
	var r Rates
	for _, k := range ledger.Kinds { // a whole precedes its parts
		switch d := *c.at(k); {
		case d != nil:
			*r.At(k) = int64(*d)
		case k.Whole != nil:
			*r.At(k) = *r.At(k.Whole)
		}
	}
	return r
}

// file is a whole file.
type file struct {
	Prices []Row `yaml:"prices"`
}

// Load reads and checks a catalogue, YAML or JSON. What is wrong with it is a
// *strict.Error, which says where.
func Load(name string) (*Catalogue, error) {
	text, err := os.ReadFile(name) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, fmt.Errorf("prices: %w", err)
	}
	return Parse(name, text)
}

// Parse is Load of a text; name is the file's, for errors.
func Parse(name string, text []byte) (*Catalogue, error) {
	body, err := strict.Parse(name, text)
	if err != nil {
		return nil, err
	}
	if body == nil {
		return nil, &strict.Error{File: name, Text: "there are no prices in it"}
	}
	var f file
	if err := strict.Decode(name, body, &f); err != nil {
		return nil, err
	}
	if len(f.Prices) == 0 {
		return nil, &strict.Error{File: name, Text: "there are no prices in it"}
	}
	for i, row := range f.Prices {
		if err := row.validate(fmt.Sprintf("$.prices[%d]", i)); err != nil {
			return nil, strict.Locate(name, body, err)
		}
	}
	catalogue, err := New(f.Prices)
	if err != nil {
		return nil, strict.Locate(name, body, err)
	}
	return catalogue, nil
}

// maxName bounds the names in a row, in bytes, so that the ledger keeps an ID whole.
const maxName = 100

// Validate demands what Parse does of a row.
func (r Row) Validate() error { return r.validate("the row") }

// validate demands that a row says what its requests cost, and no more than it can mean.
func (r Row) validate(at string) error {
	switch {
	case r.Model == "":
		return strict.Wrong(at, `model is missing: a name or a glob, "*" for all`)
	case len(r.Model) > maxName:
		return strict.Wrong(at+".model", "it has %d bytes; at most %d fit", len(r.Model), maxName)
	case len(r.Upstream) > maxName:
		return strict.Wrong(at+".upstream", "it has %d bytes; at most %d fit", len(r.Upstream), maxName)
	case len(r.key()) > 2*maxName:
		return strict.Wrong(at, "upstream, model and how they are served have %d bytes; at most %d fit", len(r.key()), 2*maxName)
	case r.Input == nil && (r.Output != nil || r.Image == nil && len(r.Images) == 0):
		return strict.Wrong(at, "input is missing: dollars per million tokens, 0 for none")
	case r.Output == nil && r.Input != nil:
		return strict.Wrong(at, "output is missing: dollars per million tokens, 0 for none")
	}
	for i, image := range r.Images {
		here := fmt.Sprintf("%s.images[%d]", at, i)
		switch {
		case image.Price == nil:
			return strict.Wrong(here, "price is missing: dollars an image")
		case image.Size == "" && image.Quality == "":
			return strict.Wrong(here, "it has neither size nor quality; the price of all images is the row's image")
		case len(image.Size)+len(image.Quality) > maxName/4:
			return strict.Wrong(here, "size and quality have more than %d bytes", maxName/4)
		}
		for _, earlier := range r.Images[:i] {
			if earlier.Size == image.Size && earlier.Quality == image.Quality {
				return strict.Wrong(here, "this size and quality has a price already")
			}
		}
	}
	for tool := range r.PerCall {
		if tool == "" || len(tool) > maxName {
			return strict.Wrong(at+".per_call", "%q is no name of a tool, as web_search is", tool)
		}
	}
	below := int64(0)
	for i, tier := range r.Tiers {
		here := fmt.Sprintf("%s.tiers[%d]", at, i)
		switch {
		case r.Input == nil:
			return strict.Wrong(here, "a row whose tokens have no price has no tiers")
		case tier.Above <= below:
			return strict.Wrong(here, "above: expected more than %d tokens, got %d", below, tier.Above)
		case tier.Classes == Classes{}:
			return strict.Wrong(here, "it changes no price")
		}
		below = tier.Above
	}
	return nil
}
