// Package foreign makes rows of a price catalogue from the catalogues of others: LiteLLM's
// model_prices_and_context_window.json and models.dev's api.json. What it does not take
// over is in its Report, by name: a price that is dropped in silence is a bill that is
// wrong.
//
// It reads bytes that it is given and nothing else, and must not import anything of the
// core but core/price.
package foreign

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/genway/genway/core/price"
	"github.com/go-json-experiment/json/jsontext"
)

// Options say what to take over.
type Options struct {
	// Providers are those whose rows are taken; none is all of them.
	Providers []Provider
	// From is the day the rows are valid from; the zero day is ever since.
	From price.Day
}

// Provider is one of a catalogue's providers, by its name there.
type Provider struct {
	Name string
	// Upstream is what the rows are for; empty is any.
	Upstream string
}

// chosen returns the upstream of a provider's rows; false if they are not wanted.
func (o Options) chosen(provider string) (upstream string, ok bool) {
	for _, p := range o.Providers {
		if p.Name == provider {
			return p.Upstream, true
		}
	}
	return "", len(o.Providers) == 0
}

// Report is what was not taken over.
type Report struct {
	// Skipped are the rows, by the reason.
	Skipped map[string][]string
	// Left are the rows of which a member was left out or changed, by what was done.
	Left map[string][]string
}

func (r *Report) skipf(row, format string, args ...any) {
	note(&r.Skipped, row, format, args)
}

func (r *Report) leavef(row, format string, args ...any) {
	note(&r.Left, row, format, args)
}

func note(of *map[string][]string, row, format string, args []any) {
	if *of == nil {
		*of = map[string][]string{}
	}
	what := fmt.Sprintf(format, args...)
	(*of)[what] = append((*of)[what], row)
}

// Lines give the report, a line for each reason with the number of rows and the first
// most names of them; all below 0.
func (r *Report) Lines(most int) []string {
	var lines []string
	for _, of := range []struct {
		title string
		rows  map[string][]string
	}{{"not taken", r.Skipped}, {"in part", r.Left}} {
		for _, what := range slices.Sorted(maps.Keys(of.rows)) {
			names := slices.Compact(slices.Sorted(slices.Values(of.rows[what])))
			shown, more := names, ""
			if most >= 0 && len(names) > most {
				shown, more = names[:most], ", …"
			}
			lines = append(lines, fmt.Sprintf("%s, %d: %s (%s%s)", of.title, len(names), what, strings.Join(shown, ", "), more))
		}
	}
	return lines
}

// orFree is 0 for a price that is missing where the other one is there.
func orFree(d, other *price.Dollars) *price.Dollars {
	if d == nil && other != nil {
		return new(price.Dollars)
	}
	return d
}

// source is a row on its way from another catalogue.
type source struct {
	name   string // as the other catalogue has it
	row    price.Row
	report *Report
	// served are the sources of requests that are not served as is standard, by the terms: priority, fast+us.
	served map[string]*source
	// malformed is set where a price was there and could not be read.
	malformed bool
}

// tiers and fast are how vendors serve for other prices, in the words of price.Row.ServiceTier and Speed.
var tiers = []string{"flex", "priority", "ultrafast"}

const fast = "fast"

// servedOn returns the source of requests that are served on a row's terms; it is made where there is none. What it leaves
// out costs what it does in s.
func (s *source) servedOn(terms price.Row) *source {
	words := slices.DeleteFunc([]string{terms.ServiceTier, terms.Speed, terms.InferenceGeo}, func(word string) bool { return word == "" })
	if len(words) == 0 {
		return s
	}
	on := strings.Join(words, "+")
	if s.served[on] == nil {
		if s.served == nil {
			s.served = map[string]*source{}
		}
		terms.Model, terms.Upstream, terms.From = s.row.Model, s.row.Upstream, s.row.From
		s.served[on] = &source{name: s.name + "+" + on, report: s.report, row: terms}
	}
	return s.served[on]
}

// perCall sets the price of a call of a hosted tool, by the name that usage reports it by.
func (s *source) perCall(tool string, each *price.Dollars) {
	if each == nil {
		return
	}
	if s.row.PerCall == nil {
		s.row.PerCall = map[string]price.Dollars{}
	}
	s.row.PerCall[tool] = *each
}

// whole returns s and the complete sources of its other terms. Terms without a price of their own, and those with one that
// cannot be read, have no row: their requests are unpriced.
func (s *source) whole() []*source {
	all := []*source{s}
	for _, on := range slices.Sorted(maps.Keys(s.served)) {
		t := s.served[on]
		t.row.Tiers = slices.DeleteFunc(t.row.Tiers, emptyTier)
		switch {
		case t.malformed:
			s.report.skipf(t.name, "a price of it cannot be read")
			continue
		case t.row.Classes == price.Classes{} && len(t.row.Tiers) == 0:
			continue
		}
		inherited := inherit(&t.row.Classes, &s.row.Classes)
		for _, base := range s.row.Tiers {
			inherited = inherit(&t.tier(base.Above).Classes, &base.Classes) || inherited
		}
		if inherited {
			s.report.leavef(t.name, "classes without a price of their own have that of the standard row")
		}
		t.row.Image, t.row.Images, t.row.PerCall = s.row.Image, s.row.Images, s.row.PerCall
		all = append(all, t)
	}
	return all
}

// inherit fills the classes that have no price from others, and reports whether it filled one.
func inherit(to, from *price.Classes) (inherited bool) {
	theirs := classesOf(from)
	for member, class := range classesOf(to) {
		if *class == nil && *theirs[member] != nil {
			*class, inherited = *theirs[member], true
		}
	}
	return inherited
}

func emptyTier(t price.TierRow) bool { return t.Classes == price.Classes{} }

// dollars reads an amount times ten to the shift; nil where there is none. It says what
// was rounded, and that what is no price is left out.
func (s *source) dollars(member string, value jsontext.Value, shift int) *price.Dollars {
	text := string(value)
	switch value.Kind() {
	case 'n':
		return nil
	case '"':
		unquoted, err := jsontext.AppendUnquote(nil, value)
		if err != nil {
			s.malformed = true
			s.report.leavef(s.name, "%s is no price", member)
			return nil
		}
		text = string(unquoted)
	}
	d, exact, err := price.Scale(text, shift)
	if err != nil {
		s.malformed = true
		s.report.leavef(s.name, "%s: %v", member, err)
		return nil
	}
	if !exact {
		s.report.leavef(s.name, "%s is rounded to the nano-dollar", member)
	}
	return &d
}

// tier returns the row's tier above so many tokens; it is made where there is none.
func (s *source) tier(above int64) *price.TierRow {
	i, found := slices.BinarySearchFunc(s.row.Tiers, above, func(t price.TierRow, above int64) int {
		return int(max(-1, min(1, t.Above-above)))
	})
	if !found {
		s.row.Tiers = slices.Insert(s.row.Tiers, i, price.TierRow{Above: above})
	}
	return &s.row.Tiers[i]
}

// purpose is what a row is for; the standard terms precede others.
func purpose(r price.Row) string {
	return strings.Join([]string{r.Upstream, r.Model, r.ServiceTier, r.Speed, r.InferenceGeo}, "\x00")
}

// finish returns the rows that a catalogue may have together, in order. Rows for the same
// upstream, model and terms are one if they say the same; if not, they are an error, since
// it is not known which is meant.
func finish(sources []*source, report *Report) ([]price.Row, error) {
	var all []*source
	for _, s := range sources {
		all = append(all, s.whole()...)
	}
	slices.SortStableFunc(all, func(a, b *source) int { return strings.Compare(purpose(a.row), purpose(b.row)) })
	var rows []price.Row
	var last *source
	for _, s := range all {
		s.row.Tiers = slices.DeleteFunc(s.row.Tiers, emptyTier)
		if s.row.Output == nil && s.row.OutputImage != nil {
			// A model that answers only with images.
			s.row.Output = s.row.OutputImage
		}
		if s.row.Image != nil || len(s.row.Images) > 0 {
			s.row.Input, s.row.Output = orFree(s.row.Input, s.row.Output), orFree(s.row.Output, s.row.Input)
		}
		if err := s.row.Validate(); err != nil {
			report.skipf(s.name, "%v", err)
			continue
		}
		if strings.Contains(s.row.Model, "*") {
			report.skipf(s.name, "its name would be a glob")
			continue
		}
		if last != nil && purpose(last.row) == purpose(s.row) {
			if last.row.String() != s.row.String() {
				return nil, fmt.Errorf("%s and %s have different prices and would both be for model %q; choose one provider, or give each an upstream: --provider NAME=UPSTREAM", last.name, s.name, s.row.Model)
			}
			continue
		}
		rows, last = append(rows, s.row), s
	}
	return rows, nil
}
