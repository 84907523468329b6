package price

import (
	"fmt"
	"time"

	"github.com/genway/genway/core/ledger"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

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

// over returns the classes with those of below where they have none.
func (c *Classes) over(below Classes) Classes {
	sum := *c
	for _, k := range ledger.Kinds {
		if to := sum.at(k); *to == nil {
			*to = *below.at(k)
		}
	}
	return sum
}

// rates gives each class its price, or that of the class it is part of.
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
