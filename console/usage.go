package console

import (
	"cmp"
	"html/template"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/genway/genway/console/chart"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// choice is one value of a filter, as a link.
type choice struct {
	Value, Title, Link string
	Current            bool
}

// usageBy are what usage is shown by.
var usageBy = []struct {
	value, title string
	dimension    adminv1.Dimension
}{
	{"key", "Key", adminv1.Dimension_DIMENSION_KEY},
	{"owner", "Owner", adminv1.Dimension_DIMENSION_OWNER},
	{"model", "Model asked", adminv1.Dimension_DIMENSION_MODEL},
	{"served", "Model served", adminv1.Dimension_DIMENSION_SERVED_MODEL},
	{"upstream", "Upstream", adminv1.Dimension_DIMENSION_UPSTREAM},
	{"protocol", "Protocol", adminv1.Dimension_DIMENSION_PROTOCOL},
	{"day", "Day", adminv1.Dimension_DIMENSION_DAY},
}

// usagePeriods are how far back usage goes, in whole days of UTC with today.
var usagePeriods = []struct {
	value, title string
	days         int
}{{"1d", "Today", 1}, {"7d", "7 days", 7}, {"30d", "30 days", 30}, {"90d", "90 days", 90}}

// usageRow is a row and what it was in the period before.
type usageRow struct {
	Name, Link string
	*adminv1.UsageRow
	Before *adminv1.UsageRow
}

type usagePage struct {
	By, Periods []choice
	Heading     string
	Rows        []usageRow
	Total, Past *adminv1.UsageRow
	Since       time.Time
	Chart       template.HTML
	Days        []usageRow
	CSV         string
}

// usageQuery is what the URL asks for.
type usageQuery struct {
	by, period   int
	since, until time.Time
}

func (c *call) usageQuery() usageQuery {
	q := usageQuery{by: 2, period: 1}
	for i, b := range usageBy {
		if b.value == c.r.FormValue("by") {
			q.by = i
		}
	}
	for i, p := range usagePeriods {
		if p.value == c.r.FormValue("period") {
			q.period = i
		}
	}
	q.until = c.console.config.Clock().UTC().Truncate(24*time.Hour).AddDate(0, 0, 1)
	q.since = q.until.AddDate(0, 0, -usagePeriods[q.period].days)
	return q
}

// usage asks for a report.
func (c *call) usage(since, until time.Time, by adminv1.Dimension) ([]*adminv1.UsageRow, error) {
	resp, err := c.admin.GetUsage(c.ctx, &adminv1.GetUsageRequest{
		By: []adminv1.Dimension{by}, Since: timestamppb.New(since), Until: timestamppb.New(until),
	})
	return resp.GetRows(), err
}

// mostUsageRows is how many rows a page shows; the CSV has all.
const mostUsageRows = 100

func showUsage(c *call) error {
	q := c.usageQuery()
	rows, err := c.usageRows(q)
	if err != nil {
		return err
	}
	days, err := c.usage(q.since, q.until, adminv1.Dimension_DIMENSION_DAY)
	if err != nil {
		return err
	}
	link := func(by, period string) string { return "?" + url.Values{"by": {by}, "period": {period}}.Encode() }
	by, period := usageBy[q.by], usagePeriods[q.period]
	p := usagePage{Heading: by.title, Rows: rows, Since: q.since, Total: &adminv1.UsageRow{}, Past: &adminv1.UsageRow{}, CSV: "/usage.csv" + link(by.value, period.value)}
	for i, b := range usageBy {
		p.By = append(p.By, choice{b.value, b.title, link(b.value, period.value), i == q.by})
	}
	for i, t := range usagePeriods {
		p.Periods = append(p.Periods, choice{t.value, t.title, link(by.value, t.value), i == q.period})
	}
	for _, r := range rows {
		add(p.Total, r.UsageRow)
		add(p.Past, r.Before)
	}
	if len(p.Rows) > mostUsageRows {
		p.Rows = p.Rows[:mostUsageRows]
	}
	p.Chart, p.Days = daysChart(q, days)
	c.show(200, "usage.html", "Usage", p)
	return nil
}

// usageRows gives the rows of a report, the most expensive first, with those of the period before.
func (c *call) usageRows(q usageQuery) ([]usageRow, error) {
	by := usageBy[q.by]
	now, err := c.usage(q.since, q.until, by.dimension)
	if err != nil {
		return nil, err
	}
	before, err := c.usage(q.since.Add(-q.until.Sub(q.since)), q.since, by.dimension)
	if err != nil {
		return nil, err
	}
	past := map[string]*adminv1.UsageRow{}
	for _, r := range before {
		past[r.GetValues()[0]] = r
	}
	rows := make([]usageRow, len(now))
	for i, r := range now {
		rows[i] = usageRow{Name: r.GetValues()[0], UsageRow: r, Before: past[r.GetValues()[0]]}
		if rows[i].Before == nil {
			rows[i].Before = &adminv1.UsageRow{}
		}
		if by.value == "key" {
			rows[i].Link = "/keys/" + url.PathEscape(rows[i].Name)
		}
	}
	if by.value != "day" {
		slices.SortStableFunc(rows, func(a, b usageRow) int {
			return cmp.Or(cmp.Compare(b.GetCostNanoDollars(), a.GetCostNanoDollars()), cmp.Compare(b.GetRequests(), a.GetRequests()))
		})
	}
	return rows, nil
}

func add(to, r *adminv1.UsageRow) {
	to.Requests += r.GetRequests()
	to.Failed += r.GetFailed()
	to.Cancelled += r.GetCancelled()
	to.Interrupted += r.GetInterrupted()
	to.InputTokens += r.GetInputTokens()
	to.OutputTokens += r.GetOutputTokens()
	to.CacheReadTokens += r.GetCacheReadTokens()
	to.Images += r.GetImages()
	to.CostNanoDollars += r.GetCostNanoDollars()
	to.Unpriced += r.GetUnpriced()
}

// daysChart draws what each day cost, or its requests where nothing had a price.
func daysChart(q usageQuery, rows []*adminv1.UsageRow) (template.HTML, []usageRow) {
	of := map[string]*adminv1.UsageRow{}
	priced := false
	for _, r := range rows {
		of[r.GetValues()[0]] = r
		priced = priced || r.GetCostNanoDollars() > 0
	}
	bars := chart.Bars{Title: "Requests a day", Format: func(v float64) string { return count(int64(v)) }}
	if priced {
		bars.Title, bars.Format = "Cost a day", func(v float64) string { return money(int64(v)) }
	}
	bars.Description = "A bar for each day of UTC from " + q.since.Format(time.DateOnly) + ". The table of days below has the same figures."
	var days []usageRow
	for day := q.since; day.Before(q.until); day = day.AddDate(0, 0, 1) {
		name := day.Format(time.DateOnly)
		r := of[name]
		if r == nil {
			r = &adminv1.UsageRow{}
		}
		days = append(days, usageRow{Name: name, UsageRow: r})
		bars.Labels = append(bars.Labels, name[5:])
		if priced {
			bars.Values = append(bars.Values, float64(r.GetCostNanoDollars()))
		} else {
			bars.Values = append(bars.Values, float64(r.GetRequests()))
		}
	}
	return template.HTML(bars.SVG()), days //nolint:gosec // package chart escapes its texts
}

func usageCSV(c *call) error {
	q := c.usageQuery()
	rows, err := c.usageRows(q)
	if err != nil {
		return err
	}
	figures := (&adminv1.UsageRow{}).ProtoReflect().Descriptor().Fields()
	head := []string{usageBy[q.by].value}
	for i := range figures.Len() {
		if f := figures.Get(i); f.Kind() == protoreflect.Int64Kind {
			head = append(head, string(f.Name()))
		}
	}
	table := [][]string{append(head, "cost_nano_dollars_before")}
	for _, r := range rows {
		row := []string{r.Name}
		for i := range figures.Len() {
			if f := figures.Get(i); f.Kind() == protoreflect.Int64Kind {
				row = append(row, strconv.FormatInt(r.ProtoReflect().Get(f).Int(), 10))
			}
		}
		table = append(table, append(row, strconv.FormatInt(r.Before.GetCostNanoDollars(), 10)))
	}
	return c.writeCSV("genway-usage.csv", table)
}
