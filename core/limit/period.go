package limit

import "time"

// Period is a period of UTC's calendar.
type Period string

// The periods.
const (
	Day   Period = "day"
	Month Period = "month"
)

// Periods are all there are.
var Periods = []Period{Day, Month}

// Start is when the period that holds t began.
func (p Period) Start(t time.Time) time.Time {
	t = t.UTC()
	day := t.Day()
	if p == Month {
		day = 1
	}
	return time.Date(t.Year(), t.Month(), day, 0, 0, 0, 0, time.UTC)
}

// End is the first moment after the period that holds t.
func (p Period) End(t time.Time) time.Time {
	start := p.Start(t)
	if p == Month {
		return start.AddDate(0, 1, 0)
	}
	return start.AddDate(0, 0, 1)
}

// Calendar knows which day and month it is, without asking the calendar each time. They
// never run backwards, as the wall clock may. It is for one goroutine at a time.
type Calendar struct {
	starts [2]int64
	next   int64
}

// Starts are the beginnings of the day and the month of now, in seconds since 1970.
func (c *Calendar) Starts(now time.Time) [2]int64 {
	if now.Unix() >= c.next {
		c.starts = [2]int64{dayBudget: Day.Start(now).Unix(), monthBudget: Month.Start(now).Unix()}
		c.next = Day.End(now).Unix()
	}
	return c.starts
}
