package catalog

import (
	"slices"
	"strings"

	"github.com/genway/genway/codec/setting"
	"github.com/genway/genway/core/config/strict"
)

// Row is what is known of the models that a pattern matches. An absent member says nothing.
type Row struct {
	// Model is a name or a glob, in lower case: * is any run of characters. It is compared
	// with the name that Plain gives.
	Model string `yaml:"model"`
	// Context is how many tokens a request and its answer have in all, MaxOutput how many an
	// answer has at most, thinking included.
	Context   *int64 `yaml:"context,omitempty"`
	MaxOutput *int64 `yaml:"max_output,omitempty"`
	// Input and Output are what the model reads and writes: words of Modalities.
	Input  []string `yaml:"input,omitempty"`
	Output []string `yaml:"output,omitempty"`
	// Refuses are parameters that the model answers with an error, as overrides name them.
	Refuses *[]string `yaml:"refuses,omitempty"`
	// Thinking are the forms in which the model is asked to think: words of Forms. An empty
	// list is a model that does not think.
	Thinking *[]string `yaml:"thinking,omitempty"`
	// Tools and StructuredOutput say whether the model takes tools and JSON schemas.
	Tools            *bool `yaml:"tools,omitempty"`
	StructuredOutput *bool `yaml:"structured_output,omitempty"`
	// Price is the model's name in the file of prices, if that is another.
	Price string `yaml:"price,omitempty"`
	// Source is the page that the row was read from, and Read when.
	Source string `yaml:"source,omitempty"`
	Read   string `yaml:"read,omitempty"`
}

// Modalities are what a model reads and writes.
func Modalities() []string { return []string{"text", "image", "audio", "video", "document"} }

// The forms in which models are asked to think.
const (
	// Budget is a number of tokens.
	Budget = "budget"
	// Effort is a word: low, medium, high.
	Effort = "effort"
	// Adaptive has the model decide, and Effort steers it.
	Adaptive = "adaptive"
)

// Forms are the forms in which models are asked to think.
func Forms() []string { return []string{Budget, Effort, Adaptive} }

// Refusable are the parameters that a row may name in Refuses.
func Refusable() []string {
	var names []string
	for _, s := range setting.Texts() {
		if s.May&setting.Refuse != 0 {
			names = append(names, s.Name())
		}
	}
	return names
}

// maxName bounds the names in a row, in bytes.
const maxName = 256

func (r Row) validate(at string) error {
	switch {
	case r.Model == "":
		return strict.Wrong(at, `model is missing: a name or a glob, "*" for all`)
	case len(r.Model) > maxName:
		return strict.Wrong(at+".model", "it has %d bytes; at most %d fit", len(r.Model), maxName)
	case r.Model != strings.ToLower(r.Model):
		return strict.Wrong(at+".model", "names are compared in lower case; write %q", strings.ToLower(r.Model))
	case len(r.Price) > maxName:
		return strict.Wrong(at+".price", "it has %d bytes; at most %d fit", len(r.Price), maxName)
	}
	for _, n := range []struct {
		key   string
		value *int64
	}{{"context", r.Context}, {"max_output", r.MaxOutput}} {
		if n.value != nil && *n.value < 1 {
			return strict.Wrong(at+"."+n.key, "expected at least 1 token, got %d", *n.value)
		}
	}
	for _, l := range []struct {
		key          string
		words, known []string
	}{{"input", r.Input, Modalities()}, {"output", r.Output, Modalities()}, {"refuses", listOf(r.Refuses), Refusable()}, {"thinking", listOf(r.Thinking), Forms()}} {
		for _, word := range l.words {
			if !slices.Contains(l.known, word) {
				return strict.Wrong(at+"."+l.key, "%q is none of %s%s", word, strings.Join(l.known, ", "), strict.Meant(word, l.known))
			}
		}
	}
	return nil
}

func listOf(list *[]string) []string {
	if list == nil {
		return nil
	}
	return *list
}

// over returns the row with what it does not say from another.
func (r Row) over(other Row) Row {
	r.Context, r.MaxOutput = either(r.Context, other.Context), either(r.MaxOutput, other.MaxOutput)
	r.Refuses, r.Thinking = either(r.Refuses, other.Refuses), either(r.Thinking, other.Thinking)
	r.Tools, r.StructuredOutput = either(r.Tools, other.Tools), either(r.StructuredOutput, other.StructuredOutput)
	if r.Input == nil {
		r.Input = other.Input
	}
	if r.Output == nil {
		r.Output = other.Output
	}
	if r.Price == "" {
		r.Price = other.Price
	}
	if r.Source == "" {
		r.Source, r.Read = other.Source, other.Read
	}
	return r
}

func either[T any](a, b *T) *T {
	if a != nil {
		return a
	}
	return b
}
