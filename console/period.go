package console

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"time"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
)

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

// timed reports whether the rows are of times.
func (q usageQuery) timed() bool {
	return usageBy[q.by].dimension == adminv1.Dimension_DIMENSION_DAY || usageBy[q.by].dimension == adminv1.Dimension_DIMENSION_HOUR
}

// days is how many days the period has.
func (q usageQuery) days() int { return int(q.until.Sub(q.since) / day) }

// step is what the chart has a bar for.
func (q usageQuery) step() adminv1.Dimension {
	if q.days() == 1 || usageBy[q.by].value == "hour" && q.days() <= hourlyDays {
		return adminv1.Dimension_DIMENSION_HOUR
	}
	return adminv1.Dimension_DIMENSION_DAY
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
