package console

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// choice is one value of a filter, as a link.
type choice struct {
	Value, Title, Link string
	Current            bool
}

// usageRow is a row and what it was in the period that it is compared with.
type usageRow struct {
	Name, Link string
	// Title is the name of the key that Name is the id of; empty for none.
	Title string
	// Search lists the row's requests; empty for rows of times, and of what has no name.
	Search string
	*adminv1.UsageRow
	Before *adminv1.UsageRow
}

type usagePage struct {
	By, Periods []choice
	// Value is what By has chosen, and Heading its title.
	Value, Heading string
	Rows           []usageRow
	Total, Past    *adminv1.UsageRow
	// Since, Last, Other and OtherLast are the first and last days of both periods; With is what was
	// chosen of the other, if it was.
	Since, Last, Other, OtherLast, With string
	// More is how many rows there are beyond those that are shown.
	More int64
	Unit string
	// Chart is what each step cost or, where nothing had a price, its requests.
	Chart stack
	Steps []usageRow
	CSV   string
}

// usage asks for a report.
func (c *call) usage(since, until time.Time, by ...adminv1.Dimension) ([]*adminv1.UsageRow, error) {
	resp, err := c.totalled(since, until, by...)
	return resp.GetRows(), err
}

// totalled asks for a report and for what its rows are together.
func (c *call) totalled(since, until time.Time, by ...adminv1.Dimension) (*adminv1.GetUsageResponse, error) {
	return c.admin.GetUsage(c.ctx, &adminv1.GetUsageRequest{
		By: by, Since: timestamppb.New(since), Until: timestamppb.New(until),
	})
}

// maxUsageRows is how many rows a page shows; the CSV has all.
const maxUsageRows = 200

func showUsage(c *call) error {
	q, err := c.usageQuery()
	if err != nil {
		return err
	}
	report, err := c.usageRows(q)
	if err != nil {
		return err
	}
	rows := report.rows
	by := usageBy[q.by]
	steps, err := c.steps(q)
	if err != nil {
		return err
	}
	p := usagePage{
		Value: by.value, Heading: by.title, Rows: rows, Total: &adminv1.UsageRow{FirstEvents: report.firstEvents}, Past: &adminv1.UsageRow{FirstEvents: report.firstEventsPast}, CSV: q.link("/usage.csv", by.value),
		Since: q.since.Format(time.DateOnly), Last: q.until.Add(-day).Format(time.DateOnly),
		Other: q.other.Format(time.DateOnly), OtherLast: q.other.Add(q.until.Sub(q.since) - day).Format(time.DateOnly), With: q.chosen.Get("with"),
	}
	for i, b := range usageBy {
		p.By = append(p.By, choice{b.value, b.title, q.link("", b.value), i == q.by})
	}
	p.Periods = q.periods()
	for _, r := range rows {
		add(p.Total, r.UsageRow)
		add(p.Past, r.Before)
	}
	if p.More = int64(max(0, len(rows)-maxUsageRows)); p.More > 0 {
		p.Rows = rows[:maxUsageRows]
	}
	p.Unit, p.Chart = steps.unit, steps.stack("Requests", (*adminv1.UsageRow).GetRequests, count)
	if p.Total.GetCostNanoDollars() > 0 {
		p.Chart = steps.stack("Cost", (*adminv1.UsageRow).GetCostNanoDollars, money)
	}
	for i, name := range steps.names {
		p.Steps = append(p.Steps, usageRow{Name: name, UsageRow: steps.sums[i]})
	}
	c.show(200, "usage.html", "Usage", p)
	return nil
}

// usageReport is the rows of a period and the times to first events that cannot be added up from them.
type usageReport struct {
	rows                         []usageRow
	firstEvents, firstEventsPast *adminv1.FirstEvents
}

// usageRows returns the rows of a report, the most expensive first or in the order of time, with those of
// the period that it is compared with. What only that one has is a row, too.
func (c *call) usageRows(q usageQuery) (report usageReport, err error) {
	by := usageBy[q.by]
	now, err := c.totalled(q.since, q.until, by.dimension)
	if err != nil {
		return report, err
	}
	before, err := c.totalled(q.other, q.other.Add(q.until.Sub(q.since)), by.dimension)
	if err != nil {
		return report, err
	}
	report.firstEvents, report.firstEventsPast = now.GetTotal().GetFirstEvents(), before.GetTotal().GetFirstEvents()
	report.rows = besides(q, now.GetRows(), before.GetRows())
	if by.dimension != adminv1.Dimension_DIMENSION_KEY {
		return report, nil
	}
	for i := range report.rows {
		r := &report.rows[i]
		r.Title = cmp.Or(now.GetKeyNames()[r.Name], before.GetKeyNames()[r.Name])
	}
	return report, nil
}

// besides puts each row beside what it was before.
func besides(q usageQuery, now, before []*adminv1.UsageRow) []usageRow {
	by := usageBy[q.by]
	back := q
	back.since, back.other = q.other, q.since
	past := map[string]*adminv1.UsageRow{}
	for _, r := range before {
		past[back.then(r.GetValues()[0])] = r
	}
	rows := make([]usageRow, 0, len(now))
	for _, r := range now {
		name := r.GetValues()[0]
		was := past[name]
		if was == nil {
			was = &adminv1.UsageRow{}
		}
		delete(past, name)
		rows = append(rows, usageRow{Name: name, UsageRow: r, Before: was})
	}
	for name, was := range past {
		rows = append(rows, usageRow{Name: name, UsageRow: &adminv1.UsageRow{}, Before: was})
	}
	for i := range rows {
		r := &rows[i]
		if by.value == "key" {
			r.Link = "/keys/" + url.PathEscape(r.Name)
		}
		if !q.timed() && r.Name != "" {
			r.Search = "/requests?" + url.Values{by.value: {r.Name}}.Encode() // a filter has the dimension's name
		}
	}
	slices.SortFunc(rows, func(a, b usageRow) int {
		if q.timed() {
			return cmp.Compare(a.Name, b.Name)
		}
		return cmp.Or(cmp.Compare(b.GetCostNanoDollars(), a.GetCostNanoDollars()), cmp.Compare(b.GetRequests(), a.GetRequests()),
			cmp.Compare(b.Before.GetCostNanoDollars(), a.Before.GetCostNanoDollars()), cmp.Compare(a.Name, b.Name))
	})
	return rows
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

// usageBy are the dimensions of the usage page.
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
	{"hour", "Hour", adminv1.Dimension_DIMENSION_HOUR},
}

// usagePeriods are how far back usage goes, in whole days of UTC with today.
var usagePeriods = []struct {
	value, title string
	days         int
}{{"1d", "Today", 1}, {"7d", "7 days", 7}, {"30d", "30 days", 30}, {"90d", "90 days", 90}}

const (
	// maxDays bounds a period that somebody chooses.
	maxDays = 366
	// hourlyDays is how many days a chart by hour has at most.
	hourlyDays = 8

	hourLayout = "2006-01-02T15"
	day        = 24 * time.Hour
)

// usageQuery is what the URL asks for: a period, and another of the same length to compare it with,
// in whole days of UTC.
type usageQuery struct {
	by int
	// period is one of usagePeriods; -1 is one that somebody chose.
	period              int
	since, until, other time.Time
	// chosen are the members of the URL but by.
	chosen url.Values
}

// timed reports whether the rows are days or hours.
func (q usageQuery) timed() bool {
	return usageBy[q.by].dimension == adminv1.Dimension_DIMENSION_DAY || usageBy[q.by].dimension == adminv1.Dimension_DIMENSION_HOUR
}

// days is how many days the period has.
func (q usageQuery) days() int { return int(q.until.Sub(q.since) / day) }

// dimension is what the rows are of.
func (q usageQuery) dimension() adminv1.Dimension { return usageBy[q.by].dimension }

// step is what the chart has a bar for.
func (q usageQuery) step() adminv1.Dimension {
	if q.days() == 1 || usageBy[q.by].value == "hour" && q.days() <= hourlyDays {
		return adminv1.Dimension_DIMENSION_HOUR
	}
	return adminv1.Dimension_DIMENSION_DAY
}

// periods are the page for other periods.
func (q usageQuery) periods() []choice {
	var list []choice
	for i, t := range usagePeriods {
		list = append(list, choice{t.value, t.title, "?" + url.Values{"by": {usageBy[q.by].value}, "period": {t.value}}.Encode(), i == q.period})
	}
	return list
}

// link is the page by something else.
func (q usageQuery) link(path, by string) string {
	with := url.Values{"by": {by}}
	maps.Copy(with, q.chosen)
	return path + "?" + with.Encode()
}

// then returns the value of the compared period that a value of this one is beside: the same, or as
// many days later.
func (q usageQuery) then(value string) string {
	if !q.timed() {
		return value
	}
	for _, layout := range []string{time.DateOnly, hourLayout} {
		if at, err := time.Parse(layout, value); err == nil {
			return at.Add(q.other.Sub(q.since)).Format(layout)
		}
	}
	return value
}

// usageQuery reads the URL. What it does not know of by and period is as if it were not there.
func (c *call) usageQuery() (usageQuery, error) {
	q := usageQuery{by: 2, period: 1, chosen: url.Values{}}
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
	today := c.console.config.Clock().UTC().Truncate(day)
	q.until = today.Add(day)
	q.since = q.until.AddDate(0, 0, -usagePeriods[q.period].days)
	var from, to, with time.Time
	for name, at := range map[string]*time.Time{"from": &from, "to": &to, "with": &with} {
		text := c.r.FormValue(name)
		if text == "" {
			continue
		}
		var err error
		if *at, err = time.Parse(time.DateOnly, text); err != nil || at.Year() < 1970 {
			return q, &pageError{http.StatusBadRequest, fmt.Sprintf("%s: %.40q is no day; write it as 2026-01-31.", name, text)}
		}
		q.chosen.Set(name, text)
	}
	if !from.IsZero() || !to.IsZero() {
		q.period = -1
		if from.IsZero() {
			from = to
		}
		if to.IsZero() {
			to = later(from, today)
		}
		q.since, q.until = from, to.Add(day)
		if n := q.days(); n < 1 || n > maxDays {
			return q, &pageError{http.StatusBadRequest, fmt.Sprintf("The period from %s to %s has %d days; choose 1 to %d.", from.Format(time.DateOnly), to.Format(time.DateOnly), n, maxDays)}
		}
	} else {
		q.chosen.Set("period", usagePeriods[q.period].value)
	}
	if q.other = with; with.IsZero() {
		q.other = q.since.Add(-q.until.Sub(q.since))
	}
	return q, nil
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// usageCSV returns all rows, with all figures of both periods.
func usageCSV(c *call) error {
	q, err := c.usageQuery()
	if err != nil {
		return err
	}
	report, err := c.usageRows(q)
	if err != nil {
		return err
	}
	var figures []protoreflect.FieldDescriptor
	fields := (&adminv1.UsageRow{}).ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		if f := fields.Get(i); f.Kind() == protoreflect.Int64Kind {
			figures = append(figures, f)
		}
	}
	head := []string{usageBy[q.by].value}
	for _, behind := range []string{"", "_before"} {
		for _, f := range figures {
			head = append(head, string(f.Name())+behind)
		}
		for _, name := range firstEventColumns {
			head = append(head, name+behind)
		}
	}
	if usageBy[q.by].value == "key" {
		head = append(head, "name")
	}
	table := [][]string{head}
	for _, r := range report.rows {
		row := []string{r.Name}
		for _, of := range []*adminv1.UsageRow{r.UsageRow, r.Before} {
			for _, f := range figures {
				row = append(row, strconv.FormatInt(of.ProtoReflect().Get(f).Int(), 10))
			}
			row = append(row, firstEventCells(of.GetFirstEvents())...)
		}
		if usageBy[q.by].value == "key" {
			row = append(row, r.Title)
		}
		table = append(table, row)
	}
	return c.writeCSV("genway-usage.csv", table)
}

// median and ninetyFifth write the estimated quantiles of times to first events.
func median(f *adminv1.FirstEvents) string { return quantile(f, f.GetP50()) }

func ninetyFifth(f *adminv1.FirstEvents) string { return quantile(f, f.GetP95()) }

// quantile writes an estimate: a dash where no request had a first event, and unknown where that
// is not known of any.
func quantile(f *adminv1.FirstEvents, estimate *durationpb.Duration) string {
	switch {
	case f.GetCount() > 0:
		return took(estimate.AsDuration())
	case f.GetUnknown() > 0:
		return "unknown"
	}
	return "–"
}

// firstEventColumns are the columns of a CSV, in the order of firstEventCells. Times are in microseconds.
var firstEventColumns = []string{"first_events", "first_event_unknown", "first_event_mean", "first_event_p50", "first_event_p95"}

// firstEventCells leaves times empty where there are none.
func firstEventCells(f *adminv1.FirstEvents) []string {
	cells := []string{strconv.FormatInt(f.GetCount(), 10), strconv.FormatInt(f.GetUnknown(), 10)}
	for _, d := range []*durationpb.Duration{f.GetMean(), f.GetP50(), f.GetP95()} {
		cell := ""
		if d != nil {
			cell = strconv.FormatInt(d.AsDuration().Microseconds(), 10)
		}
		cells = append(cells, cell)
	}
	return cells
}
