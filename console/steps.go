package console

import (
	"cmp"
	"html/template"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/genway/genway/console/chart"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// steps is what was used in each hour or day of a period.
type steps struct {
	title string // of the dimension that the parts are of
	// unit is hour or day, since and names are when each begins.
	unit  string
	since time.Time
	names []string
	// sums has the usage of each step, and parts the same by the values of the dimension.
	sums  []*adminv1.UsageRow
	parts []map[string]*adminv1.UsageRow
	// firstEvents has the first events of the whole period.
	firstEvents *adminv1.FirstEvents
}

// steps asks for the steps of a period. They have no parts where the rows are times, nor by keys, which are too many for a
// report by steps; nor where another dimension has as many values.
func (c *call) steps(q usageQuery) (steps, error) {
	s := steps{title: usageBy[q.by].title, unit: "day", since: q.since}
	every, layout := day, time.DateOnly
	if q.step() == adminv1.Dimension_DIMENSION_HOUR {
		s.unit, every, layout = "hour", time.Hour, hourLayout
	}
	by := []adminv1.Dimension{q.step()}
	if !q.timed() && q.dimension() != adminv1.Dimension_DIMENSION_KEY {
		by = append(by, q.dimension())
	}
	report, err := c.totalled(q.since, q.until, by...)
	if len(by) > 1 && status.Code(err) == codes.InvalidArgument { // more rows than a report may have
		report, err = c.totalled(q.since, q.until, q.step())
	}
	if err != nil {
		return s, err
	}
	s.firstEvents = report.GetTotal().GetFirstEvents()
	at := map[string]int{}
	for t := q.since; t.Before(q.until); t = t.Add(every) {
		name := t.Format(layout)
		at[name] = len(s.names)
		s.names = append(s.names, name)
		s.sums = append(s.sums, &adminv1.UsageRow{})
		s.parts = append(s.parts, map[string]*adminv1.UsageRow{})
	}
	for _, r := range report.GetRows() {
		i, known := at[r.GetValues()[0]]
		if !known {
			continue // an answer of more than was asked for
		}
		add(s.sums[i], r)
		if len(r.GetValues()) > 1 {
			s.parts[i][r.GetValues()[1]] = r
		}
	}
	return s, nil
}

// stack is a chart whose bars have a part for each value of a dimension.
type stack struct {
	Title  string
	Chart  template.HTML
	Legend []legendEntry
}

// legendEntry explains a shade of a chart.
type legendEntry struct {
	Shade       int
	Name, Total string
}

// otherParts is the name of the parts that have no shade of their own.
const otherParts = "others"

// stackedFigures are what stacks are drawn of.
var stackedFigures = []func(*adminv1.UsageRow) int64{(*adminv1.UsageRow).GetRequests, (*adminv1.UsageRow).GetFailed, tokens, (*adminv1.UsageRow).GetCostNanoDollars}

// tokens are those in and out.
func tokens(r *adminv1.UsageRow) int64 { return r.GetInputTokens() + r.GetOutputTokens() }

// sum adds a figure up by the values of the dimension.
func (s steps) sum(figure func(*adminv1.UsageRow) int64) (of map[string]int64, all int64) {
	of = map[string]int64{}
	for _, parts := range s.parts {
		for name, r := range parts {
			of[name] += figure(r)
			all += figure(r)
		}
	}
	return of, all
}

// ranked are the values of the dimension in the order of their shades, which are the same in all charts: first what
// has the greatest share of any figure.
func (s steps) ranked() []string {
	shares := map[string]float64{}
	for _, figure := range stackedFigures {
		sums, all := s.sum(figure)
		for name, sum := range sums {
			shares[name] = max(shares[name], float64(sum)/float64(max(all, 1)))
		}
	}
	return slices.SortedFunc(maps.Keys(shares), func(a, b string) int {
		return cmp.Or(cmp.Compare(shares[b], shares[a]), cmp.Compare(a, b))
	})
}

// stack draws a figure of each step. The values of the dimension that are ranked last share one part.
func (s steps) stack(title string, figure func(*adminv1.UsageRow) int64, format func(int64) string) stack {
	bars := s.bars(title, func(v float64) string { return format(int64(v)) })
	rest := make([]float64, len(s.names))
	for i, r := range s.sums {
		rest[i] = float64(figure(r))
	}
	names := s.ranked()
	if len(names) == 0 {
		bars.Series = []chart.Series{{Values: rest}}
		return drawn(bars, nil)
	}
	bars.Title += " and " + strings.ToLower(s.title)
	sums, others := s.sum(figure)
	shown := names
	if len(names) > chart.SeriesShades {
		shown = names[:chart.SeriesShades-1]
	}
	var legend []legendEntry
	for shade, name := range shown {
		series := chart.Series{Name: cmp.Or(name, "–"), Values: make([]float64, len(s.names))}
		for i, parts := range s.parts {
			series.Values[i] = float64(figure(parts[name]))
			rest[i] -= series.Values[i]
		}
		bars.Series = append(bars.Series, series)
		others -= sums[name]
		if sums[name] != 0 {
			legend = append(legend, legendEntry{shade, series.Name, format(sums[name])})
		}
	}
	if len(shown) < len(names) {
		bars.Series = append(bars.Series, chart.Series{Name: otherParts, Values: rest})
		legend = append(legend, legendEntry{len(shown), otherParts, format(others)})
	}
	return drawn(bars, legend)
}

func drawn(bars chart.Bars, legend []legendEntry) stack {
	return stack{bars.Title, template.HTML(bars.SVG()), legend} //nolint:gosec // package chart escapes its texts
}

// bars is a chart of the steps that has no values.
func (s steps) bars(title string, format func(float64) string) chart.Bars {
	b := chart.Bars{Title: title + ", by " + s.unit, Format: format}
	b.Description = "A bar for each " + s.unit + " of UTC from " + s.since.Format(time.DateOnly) + ". The page Usage has the same figures in a table."
	for _, name := range s.names {
		b.Labels = append(b.Labels, name[len("2006-"):])
	}
	return b
}
