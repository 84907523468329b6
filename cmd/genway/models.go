package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/genway/genway/core/catalog"
	"github.com/genway/genway/core/config"
	"github.com/genway/genway/core/glob"
	"github.com/genway/genway/core/price"
)

type modelsCommand struct {
	List   listModels   `cmd:"" default:"withargs" help:"List the models of the routes, with their targets and capabilities."`
	Import importModels `cmd:"" help:"Convert LiteLLM's or models.dev's catalogue to a file of model capabilities on standard output. Standard error lists the models that are left out."`
}

type listModels struct {
	Config string `env:"GENWAY_CONFIG" placeholder:"FILE" required:"" help:"The configuration file."`
}

// Run prints a line for each target of each route. Nothing is called: of an upstream that is
// asked for its models, the pattern of the route stands for them.
func (c *listModels) Run(_ context.Context, stdout io.Writer) error {
	read, err := config.Load(c.Config, os.LookupEnv)
	if err != nil {
		return mistakes(c.Config, err)
	}
	known := catalog.Shipped()
	if read.Catalog != "" {
		if known, err = catalog.Load(read.Catalog); err != nil {
			return err
		}
	}
	var prices *price.Catalogue
	if read.Prices != "" {
		if prices, err = price.Load(read.Prices); err != nil {
			return err
		}
	}
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "MODEL\tUPSTREAM\tMODEL THERE\tCONTEXT\tOUTPUT\tREADS\tWRITES\tREFUSES\tTHINKING\tTOOLS\tSCHEMAS\tPRICE")
	for _, r := range read.Routes {
		for _, t := range slices.Concat(r.Targets, r.Fallback) {
			for _, name := range led(r, read.Upstreams[t.Upstream]) {
				there := cmp.Or(t.Model, name)
				row := known.Find(there)
				fmt.Fprintln(table, strings.Join([]string{
					name, t.Upstream, there, count(row.Context), count(row.MaxOutput), joined(row.Input), joined(row.Output),
					listOr(row.Refuses), listOr(row.Thinking), yes(row.Tools), yes(row.StructuredOutput), priced(prices, t.Upstream, cmp.Or(row.Price, there)),
				}, "\t"))
			}
		}
	}
	return table.Flush()
}

// led returns the names that a route leads to an upstream by: of a pattern those that the
// upstream is listed with, or the pattern itself.
func led(r config.Route, u config.Upstream) []string {
	if !glob.Is(r.Model) {
		return []string{r.Model}
	}
	var names []string
	for _, name := range u.Models.Names {
		if glob.Match(r.Model, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return []string{r.Model}
	}
	return names
}

const notKnown = "?"

func count(n *int64) string {
	if n == nil {
		return notKnown
	}
	return strconv.FormatInt(*n, 10)
}

func joined(words []string) string { return cmp.Or(strings.Join(words, ","), notKnown) }

func listOr(words *[]string) string {
	if words == nil {
		return notKnown
	}
	return cmp.Or(strings.Join(*words, ","), "none")
}

func yes(b *bool) string {
	if b == nil {
		return notKnown
	}
	return map[bool]string{true: "yes", false: "no"}[*b]
}

func priced(prices *price.Catalogue, upstream, model string) string {
	if prices == nil {
		return notKnown
	}
	p, ok := prices.Find(upstream, model, time.Now())
	if !ok {
		return "none"
	}
	return p.ID
}

type importModels struct {
	Format   string   `required:"" enum:"litellm,models.dev" placeholder:"FORMAT" help:"litellm (model_prices_and_context_window.json) or models.dev (api.json)."`
	Provider []string `placeholder:"NAME" help:"Only the models of that provider; may be repeated. Of two models with the same name the first is taken."`
	All      bool     `help:"List every model that is left out, instead of the first three."`
	File     string   `arg:"" help:"The catalogue. It is not fetched."`

	stderr io.Writer // os.Stderr unless a test sets it
}

// Run prints the file, and on standard error what is not in it.
func (c *importModels) Run(_ context.Context, stdout io.Writer) error {
	text, err := os.ReadFile(c.File)
	if err != nil {
		return err
	}
	read := map[string]func([]byte, []string) (*catalog.Import, error){"litellm": catalog.LiteLLM, "models.dev": catalog.ModelsDev}[c.Format]
	found, err := read(text, c.Provider)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	if len(found.Rows) == 0 {
		return errors.New(c.File + ": there are no models in it" + map[bool]string{true: " of these providers"}[len(c.Provider) > 0])
	}
	stderr := c.stderr
	if stderr == nil {
		stderr = os.Stderr
	}
	for _, why := range slices.Sorted(maps.Keys(found.Skipped)) {
		names, more := found.Skipped[why], ""
		if !c.All && len(names) > named {
			names, more = names[:named], ", …"
		}
		fmt.Fprintf(stderr, "not taken, %s: %d (%s%s)\n", why, len(found.Skipped[why]), strings.Join(names, ", "), more)
	}
	fmt.Fprintf(stderr, "%d models\n", len(found.Rows))
	return catalog.Write(stdout, found.Rows)
}
