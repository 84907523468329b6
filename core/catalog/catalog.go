// Package catalog knows what models accept: how much they take and produce, which parameters
// they refuse, how they are asked to think. Requests that are translated for a model are made
// to fit it; what that loses is named.
//
// What ships is models.yaml. A file of the operator's comes ahead of it, member by member.
//
// It must not import routes, upstreams or configuration but for core/config/strict.
package catalog

import (
	"cmp"
	_ "embed"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/setting"
	"github.com/genway/genway/core/config/strict"
	"github.com/genway/genway/core/glob"
)

// Catalog is what is known of models. It is safe for concurrent use. A nil one knows nothing.
type Catalog struct {
	rows []Row // never changed
	// behind returns the rows behind them, which are read when the first model is looked up; nil
	// is none.
	behind func() []Row
	found  memory
}

//go:embed models.yaml
var shipped []byte

// Shipped returns the catalogue that ships with the program. It is read when the first model is
// looked up: a program that translates nothing starts without it.
var Shipped = sync.OnceValue(func() *Catalog { return &Catalog{behind: shippedRows} })

var shippedRows = sync.OnceValue(func() []Row {
	c, err := Parse("models.yaml", shipped)
	if err != nil {
		panic(err) // a test reads it
	}
	return c.rows
})

// file is a whole file.
type file struct {
	Models []Row `yaml:"models"`
}

// Load reads and checks a file, YAML or JSON, and puts its rows ahead of those that ship.
// What is wrong with it is a *strict.Error, which says where.
func Load(name string) (*Catalog, error) {
	text, err := os.ReadFile(name) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, fmt.Errorf("catalog: %w", err)
	}
	c, err := Parse(name, text)
	if err != nil {
		return nil, err
	}
	return &Catalog{rows: c.rows, behind: shippedRows}, nil
}

// Parse reads the text of a file, whose name is for errors. What ships is not in it.
func Parse(name string, text []byte) (*Catalog, error) {
	body, err := strict.Parse(name, text)
	if err != nil {
		return nil, err
	}
	if body == nil {
		return nil, &strict.Error{File: name, Text: "there are no models in it"}
	}
	var f file
	if err := strict.Decode(name, body, &f); err != nil {
		return nil, err
	}
	if len(f.Models) == 0 {
		return nil, &strict.Error{File: name, Text: "there are no models in it"}
	}
	for i := range f.Models {
		if err := f.Models[i].validate(fmt.Sprintf("$.models[%d]", i)); err != nil {
			return nil, strict.Locate(name, body, err)
		}
	}
	return &Catalog{rows: f.Models}, nil
}

// Len is how many rows there are.
func (c *Catalog) Len() int { return len(c.rows) + len(c.rest()) }

// rest are the rows behind the catalogue's own.
func (c *Catalog) rest() []Row {
	if c.behind == nil {
		return nil
	}
	return c.behind()
}

var (
	// cloud is what clouds and resellers put ahead of a model's name: us.anthropic., a
	// publisher and a slash.
	cloud = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:.*/)?(?:[a-z-]+\.)?(?:anthropic|openai|google|meta|mistral|amazon|deepseek)\.`)
	})
	// minor is the dot of a version, which the vendor of messages writes as a dash.
	minor = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(claude-(?:[a-z]+-)?[0-9]+)\.([0-9])`) })
)

// Plain returns the name that the vendor itself has for a model, as far as it can be derived:
// us.anthropic.claude-opus-4-7-v1:0, anthropic/claude-opus-4.7 and claude-opus-4-7@20260416
// all begin with claude-opus-4-7. It is in lower case.
func Plain(model string) string {
	name := strings.ToLower(model)
	name = strings.TrimPrefix(name, cloud().FindString(name))
	name = name[strings.LastIndexByte(name, '/')+1:]
	name = minor().ReplaceAllString(name, "$1-$2")
	return name
}

// Bounds of what a catalogue remembers of the models that were looked up. Callers choose the
// names.
const (
	maxRemembered     = 1024
	maxRememberedName = 256 // bytes
)

// memory holds the rows of models that were looked up. The zero value is empty.
type memory struct {
	mu   sync.RWMutex
	rows map[string]Row
}

// Find returns what is known of a model: of each member, what the first row says that matches
// the name as it is or as Plain gives it. It is the zero Row for a model that is not known. The
// caller must not change what the row points to.
//
// Names of up to 256 bytes are remembered with their rows. A catalogue that remembers 1024 of
// them forgets them all before the next.
func (c *Catalog) Find(model string) Row {
	if c == nil {
		return Row{}
	}
	if row, ok := c.found.get(model); ok {
		return row
	}
	row := c.look(model)
	if len(model) <= maxRememberedName {
		c.found.keep(row)
	}
	return row
}

// look matches the model with all rows.
func (c *Catalog) look(model string) Row {
	var found Row
	name, plain := strings.ToLower(model), Plain(model)
	for _, rows := range [][]Row{c.rows, c.rest()} {
		for i := range rows {
			if r := &rows[i]; glob.Match(r.Model, plain) || glob.Match(r.Model, name) {
				found = found.over(*r)
			}
		}
	}
	found.Model = model
	return found
}

func (m *memory) get(model string) (Row, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	row, ok := m.rows[model]
	return row, ok
}

func (m *memory) keep(row Row) {
	row.Model = strings.Clone(row.Model) // it may be a part of a body, which it would keep in memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.rows == nil || len(m.rows) >= maxRemembered {
		m.rows = make(map[string]Row)
	}
	m.rows[row.Model] = row
}

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
	// Refuses are parameters that the model answers with an error, as overrides name them, and
	// words of Features. RefusesThinking are those that it refuses only while it thinks.
	Refuses         *[]string `yaml:"refuses,omitempty"`
	RefusesThinking *[]string `yaml:"refuses_thinking,omitempty"`
	// ThinkingTopP is the least top_p that the model takes while it thinks.
	ThinkingTopP *float64 `yaml:"thinking_top_p,omitempty"`
	// OneOf are parameters of which a request has at most one.
	OneOf *[]string `yaml:"one_of,omitempty"`
	// Thinking are the forms in which the model is asked to think: words of Forms. An empty
	// list is a model that does not think.
	Thinking *[]string `yaml:"thinking,omitempty"`
	// Thinks is when a model thinks that can: a word of Times.
	Thinks string `yaml:"thinks,omitempty"`
	// Efforts are the words that the model takes for how much to think, ascending. Not to
	// think is none of them: Thinks says whether a model takes that.
	Efforts []string `yaml:"efforts,omitempty"`
	// MinBudget and MaxBudget bound a budget that is not 0, in tokens.
	MinBudget *int64 `yaml:"min_budget,omitempty"`
	MaxBudget *int64 `yaml:"max_budget,omitempty"`
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

// When a model thinks.
const (
	// Asked is a model that thinks if it is asked to.
	Asked = "asked"
	// Default is a model that thinks unless it is asked not to.
	Default = "default"
	// Always is a model that cannot be asked not to think.
	Always = "always"
)

// Times are when models think.
func Times() []string { return []string{Asked, Default, Always} }

// What a model may refuse beside parameters.
const (
	// ForcedToolChoice is a choice of tools that demands a call.
	ForcedToolChoice = "forced_tool_choice"
	// Prefill is a conversation that ends with the beginning of the answer.
	Prefill = "prefill"
	// JSONWithTools is an answer in JSON together with function tools.
	JSONWithTools = "json_with_tools"
)

// Features are what a row may name in Refuses and RefusesThinking beside parameters.
func Features() []string { return []string{ForcedToolChoice, Prefill, JSONWithTools} }

// Refusable are the parameters that a row may name in Refuses, RefusesThinking and OneOf.
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
	}{{"context", r.Context}, {"max_output", r.MaxOutput}, {"min_budget", r.MinBudget}, {"max_budget", r.MaxBudget}} {
		if n.value != nil && *n.value < 1 {
			return strict.Wrong(at+"."+n.key, "expected at least 1 token, got %d", *n.value)
		}
	}
	switch least, most := r.MinBudget, r.MaxBudget; {
	case least != nil && most != nil && *least > *most:
		return strict.Wrong(at+".min_budget", "%d is more than max_budget, which is %d", *least, *most)
	case r.ThinkingTopP != nil && !(*r.ThinkingTopP >= 0 && *r.ThinkingTopP <= 1):
		return strict.Wrong(at+".thinking_top_p", "expected 0 to 1, got %v", *r.ThinkingTopP)
	}
	var thinks []string
	if r.Thinks != "" {
		thinks = []string{r.Thinks}
	}
	refused := slices.Concat(Refusable(), Features())
	for _, l := range []struct {
		key          string
		words, known []string
	}{
		{"input", r.Input, Modalities()}, {"output", r.Output, Modalities()},
		{"refuses", listOf(r.Refuses), refused}, {"refuses_thinking", listOf(r.RefusesThinking), refused}, {"one_of", listOf(r.OneOf), Refusable()},
		{"thinking", listOf(r.Thinking), Forms()}, {"thinks", thinks, Times()}, {"efforts", r.Efforts, codec.Efforts()},
	} {
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
	r.RefusesThinking, r.OneOf = either(r.RefusesThinking, other.RefusesThinking), either(r.OneOf, other.OneOf)
	r.ThinkingTopP = either(r.ThinkingTopP, other.ThinkingTopP)
	r.MinBudget, r.MaxBudget = either(r.MinBudget, other.MinBudget), either(r.MaxBudget, other.MaxBudget)
	r.Thinks = cmp.Or(r.Thinks, other.Thinks)
	r.Tools, r.StructuredOutput = either(r.Tools, other.Tools), either(r.StructuredOutput, other.StructuredOutput)
	if r.Efforts == nil {
		r.Efforts = other.Efforts
	}
	if r.Input == nil {
		r.Input = other.Input
	}
	if r.Output == nil {
		r.Output = other.Output
	}
	r.Price = cmp.Or(r.Price, other.Price)
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
