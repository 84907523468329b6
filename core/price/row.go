package price

import (
	"fmt"
	"time"

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
	// Classes are the prices of tokens. Input and output are required unless images
	// have a price.
	Classes `yaml:",inline"`
	// Image is dollars for each image made.
	Image *Dollars `yaml:"image,omitempty"`
	// Images are images that cost other than Image.
	Images []ImageRow `yaml:"images,omitempty"`
	// Tiers are the prices of requests with a large input, in ascending order.
	Tiers []TierRow `yaml:"tiers,omitempty"`
}

// Classes are dollars per million tokens. A class without one costs what the class it
// is part of does; 0 is free.
type Classes struct {
	Input        *Dollars `yaml:"input,omitempty"`
	Output       *Dollars `yaml:"output,omitempty"`
	CacheRead    *Dollars `yaml:"cache_read,omitempty"`
	CacheWrite   *Dollars `yaml:"cache_write,omitempty"`
	CacheWrite1h *Dollars `yaml:"cache_write_1h,omitempty"`
	Thinking     *Dollars `yaml:"thinking,omitempty"`
	InputImage   *Dollars `yaml:"input_image,omitempty"`
	InputAudio   *Dollars `yaml:"input_audio,omitempty"`
	OutputImage  *Dollars `yaml:"output_image,omitempty"`
	OutputAudio  *Dollars `yaml:"output_audio,omitempty"`
}

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

// fields are the classes in their order in a file, each with its key.
func (c *Classes) fields() []classField {
	return []classField{
		{"input", &c.Input}, {"output", &c.Output}, {"cache_read", &c.CacheRead}, {"cache_write", &c.CacheWrite},
		{"cache_write_1h", &c.CacheWrite1h}, {"thinking", &c.Thinking}, {"input_image", &c.InputImage},
		{"input_audio", &c.InputAudio}, {"output_image", &c.OutputImage}, {"output_audio", &c.OutputAudio},
	}
}

type classField struct {
	key   string
	value **Dollars
}

// over gives the classes with those of below where they have none.
func (c *Classes) over(below Classes) Classes {
	sum := *c
	under := below.fields()
	for i, f := range sum.fields() {
		if *f.value == nil {
			*f.value = *under[i].value
		}
	}
	return sum
}

// rates gives each class its price, or that of the class it is part of.
func (c *Classes) rates() Rates {
	var r Rates
	for _, f := range []struct {
		to   *int64
		from []*Dollars
	}{
		{&r.Input, []*Dollars{c.Input}},
		{&r.Output, []*Dollars{c.Output}},
		{&r.CacheRead, []*Dollars{c.CacheRead, c.Input}},
		{&r.CacheWrite, []*Dollars{c.CacheWrite, c.Input}},
		{&r.CacheWrite1h, []*Dollars{c.CacheWrite1h, c.CacheWrite, c.Input}},
		{&r.Thinking, []*Dollars{c.Thinking, c.Output}},
		{&r.InputImage, []*Dollars{c.InputImage, c.Input}},
		{&r.InputAudio, []*Dollars{c.InputAudio, c.Input}},
		{&r.OutputImage, []*Dollars{c.OutputImage, c.Output}},
		{&r.OutputAudio, []*Dollars{c.OutputAudio, c.Output}},
	} {
		for _, d := range f.from {
			if d != nil {
				*f.to = int64(*d)
				break
			}
		}
	}
	return r
}
