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

	"github.com/genway/genway/cmd/internal/cli"
	"github.com/genway/genway/core/catalog"
	"github.com/genway/genway/core/config"
	"github.com/genway/genway/core/glob"
	"github.com/genway/genway/core/price"
	"github.com/genway/genway/core/price/foreign"
)

type modelsCommand struct {
	List   listModels   `cmd:"" default:"withargs" help:"List the models of the routes, with their targets and capabilities."`
	Import importModels `cmd:"" help:"Convert LiteLLM's or models.dev's catalogue to a file of model capabilities on standard output. Standard error lists the models that are left out."`
}

type listModels struct {
	Config string `env:"GENWAY_CONFIG" placeholder:"FILE" required:"" help:"The configuration file."`
}

// Run prints a line for each target of each route. Nothing is called: of an upstream that is
// asked for its models, the pattern of the route is printed for them.
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

type pricesCommand struct {
	Check  checkPrices  `cmd:"" help:"Validate a file of prices as the server does, and list its errors."`
	Show   showPrice    `cmd:"" help:"Print what a model costs, and the row of the file that sets it."`
	Import importPrices `cmd:"" help:"Convert LiteLLM's or models.dev's catalogue to a file of prices on standard output. Standard error lists the rows that are left out."`
}

type checkPrices struct {
	File string `arg:"" help:"The file of prices."`
}

// Run reads the file.
func (c *checkPrices) Run(_ context.Context, stdout io.Writer) error {
	catalogue, err := price.Load(c.File)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%s is good: %d prices\n", c.File, catalogue.Len())
	return err
}

type showPrice struct {
	File     string `name:"prices" required:"" env:"GENWAY_PRICES" placeholder:"FILE" help:"The file of prices."`
	Upstream string `placeholder:"NAME" help:"Name of the upstream. Without it, only prices that are valid for any upstream."`
	At       moment `placeholder:"TIME" help:"Day of the price: 2026-01-31, or 30d ago. Default: today."`
	Model    string `arg:"" help:"The model, as the upstream or the caller names it."`
}

// Run prints the effective price of each class, for the input of each tier.
func (c *showPrice) Run(_ context.Context, stdout io.Writer) error {
	catalogue, err := price.Load(c.File)
	if err != nil {
		return err
	}
	at := c.At.Time
	if at.IsZero() {
		at = time.Now()
	}
	p, ok := catalogue.Find(c.Upstream, c.Model, at)
	if !ok {
		return fmt.Errorf("%s has no price for %s at %s on %s", c.File, c.Model, dash(c.Upstream), at.UTC().Format(time.DateOnly))
	}
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "PRICE\t%s\n", p.ID)
	tiers := append([]price.Tier{{Rates: p.Rates}}, p.Tiers...)
	fmt.Fprint(table, "$ PER MILLION")
	for _, t := range tiers {
		if t.Above > 0 {
			fmt.Fprintf(table, "\tABOVE %d", t.Above)
		} else {
			fmt.Fprint(table, "\tTOKENS")
		}
	}
	fmt.Fprintln(table)
	for i, class := range tiers[0].Named() {
		fmt.Fprint(table, strings.ReplaceAll(class.Name, "_", " "))
		for _, t := range tiers {
			fmt.Fprint(table, "\t", price.Dollars(t.Named()[i].Nanos))
		}
		fmt.Fprintln(table)
	}
	if p.Image > 0 || len(p.Variants) > 0 {
		fmt.Fprintf(table, "an image\t%s\n", price.Dollars(p.Image))
	}
	for _, v := range p.Variants {
		fmt.Fprintf(table, "an image %s\t%s\n", strings.TrimSpace(v.Size+" "+v.Quality), price.Dollars(v.Image))
	}
	return table.Flush()
}

type importPrices struct {
	Format   string   `required:"" enum:"litellm,models.dev" placeholder:"FORMAT" help:"litellm (model_prices_and_context_window.json) or models.dev (api.json)."`
	Provider []string `placeholder:"NAME[=UPSTREAM]" help:"Only the rows of that provider; may be repeated. A row becomes a price of the given upstream, or of any upstream if none is given."`
	From     string   `placeholder:"DAY" help:"The day the prices are valid from: 2026-01-31."`
	All      bool     `help:"List every row that is left out, instead of the first three."`
	File     string   `arg:"" help:"The catalogue. It is not fetched."`

	stderr io.Writer // os.Stderr unless a test sets it
}

// named is how many rows a line of the report names.
const named = 3

// Run prints the file, and on standard error what is not in it.
func (c *importPrices) Run(_ context.Context, stdout io.Writer) error {
	var options foreign.Options
	for _, p := range c.Provider {
		name, upstream, given := strings.Cut(p, "=")
		if name == "" || given && upstream == "" {
			return cli.UsageError{Err: fmt.Errorf("--provider %s: write NAME or NAME=UPSTREAM", p)}
		}
		options.Providers = append(options.Providers, foreign.Provider{Name: name, Upstream: upstream})
	}
	if c.From != "" {
		var err error
		if options.From, err = price.ParseDay(c.From); err != nil {
			return cli.UsageError{Err: fmt.Errorf("--from: %w", err)}
		}
	}
	text, err := os.ReadFile(c.File)
	if err != nil {
		return err
	}
	read := map[string]func([]byte, foreign.Options) ([]price.Row, *foreign.Report, error){"litellm": foreign.LiteLLM, "models.dev": foreign.ModelsDev}[c.Format]
	rows, report, err := read(text, options)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	if len(rows) == 0 {
		return fmt.Errorf("%s: there are no prices in it%s", c.File, map[bool]string{true: " of these providers"}[len(options.Providers) > 0])
	}
	stderr := c.stderr
	if stderr == nil {
		stderr = os.Stderr
	}
	most := named
	if c.All {
		most = -1
	}
	for _, line := range report.Lines(most) {
		fmt.Fprintln(stderr, line)
	}
	fmt.Fprintf(stderr, "%d prices\n", len(rows))
	return price.Write(stdout, rows)
}
