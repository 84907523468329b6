package price

import (
	"fmt"
	"os"

	"github.com/genway/genway/core/config/strict"
)

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
