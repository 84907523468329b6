package console

import (
	"time"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
)

// budgetMeter is a budget and where it stands.
type budgetMeter struct {
	Period      string
	Spent, Most int64
	// Warn is above what the meter is drawn as a warning.
	Warn int64
	// Spends says when the budget will be spent at the rate of its period so far; empty where it
	// will last.
	Spends string
}

// budgets gives where the budgets of a key stand, by the ledger.
func (c *call) budgets(key *adminv1.Key) ([]budgetMeter, error) {
	var meters []budgetMeter
	now := c.console.config.Clock().UTC()
	for _, b := range key.GetSettings().GetLimits().GetBudgets() {
		m := budgetMeter{Period: "day", Most: b.GetNanoDollars(), Warn: b.GetNanoDollars() / 5 * 4}
		start := now.Truncate(24 * time.Hour)
		end := start.AddDate(0, 0, 1)
		if b.GetPeriod() == adminv1.Period_PERIOD_MONTH {
			m.Period = "month"
			start = time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
			end = start.AddDate(0, 1, 0)
		}
		rows, err := c.usage(start, end, adminv1.Dimension_DIMENSION_KEY)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			if r.GetValues()[0] == key.GetId() {
				m.Spent = r.GetCostNanoDollars()
			}
		}
		m.Spends = spends(m.Spent, m.Most, start, now, end)
		meters = append(meters, m)
	}
	return meters, nil
}

// spends says when a budget is spent if it goes on as it did since start.
func spends(spent, most int64, start, now, end time.Time) string {
	switch {
	case spent >= most:
		return "spent; requests are refused until " + end.Format("2006-01-02 15:04") + " UTC"
	case spent <= 0 || !now.After(start):
		return ""
	}
	left := time.Duration(float64(now.Sub(start)) * float64(most-spent) / float64(spent))
	if at := now.Add(left); left > 0 && at.Before(end) {
		return "spent on " + at.Format("2006-01-02 15:04") + " UTC at the present rate"
	}
	return ""
}
