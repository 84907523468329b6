package catalog

import (
	_ "embed"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"

	"github.com/genway/genway/core/config/strict"
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
