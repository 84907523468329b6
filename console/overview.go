package console

import (
	"fmt"
	"net/http"
	"net/url"
	"time"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
)

// overviewPage is what an operator looks at first: what is wrong now, what was used, and how full budgets are.
type overviewPage struct {
	By, Periods []choice
	Problems    []problem
	Total, Past *adminv1.UsageRow
	Stacks      []stack
	Usage       string // the link to the page that has the same as a table
	Budgets     []budgetRow
	// More is how many budgets there are beside them.
	More        int64
	Since, Last string
}

// problem is something that is wrong now, and the page about it.
type problem struct{ Text, Link string }

// budgetRow is a budget and what is spent of it.
type budgetRow struct {
	*adminv1.BudgetUse
	// Name and Link are of the key or the owner.
	Name, Link string
}

// overviewBy are the dimensions of the overview's charts.
var overviewBy = []string{"model", "owner", "upstream"}

// almostSpent is the part of a budget, in percent, from which it is a problem.
const almostSpent = 90

func showOverview(c *call) error {
	q, err := c.usageQuery()
	if err != nil {
		return err
	}
	state, err := c.admin.GetStatus(c.ctx, &adminv1.GetStatusRequest{})
	if err != nil {
		return err
	}
	steps, err := c.steps(q)
	if err != nil {
		return err
	}
	before, err := c.totalled(q.other, q.other.Add(q.until.Sub(q.since)), adminv1.Dimension_DIMENSION_DAY)
	if err != nil {
		return err
	}
	p := overviewPage{
		Problems: problems(state, c.console.config.Clock()), Total: &adminv1.UsageRow{FirstEvents: steps.firstEvents}, Past: &adminv1.UsageRow{FirstEvents: before.GetTotal().GetFirstEvents()},
		Stacks: []stack{
			steps.stack("Cost", (*adminv1.UsageRow).GetCostNanoDollars, money), steps.stack("Requests", (*adminv1.UsageRow).GetRequests, count),
			steps.stack("Tokens", tokens, short), steps.stack("Failed requests", (*adminv1.UsageRow).GetFailed, count),
		},
		Usage: q.link("/usage", usageBy[q.by].value),
		More:  state.GetBudgetCount() - int64(len(state.GetBudgets())),
		Since: q.since.Format(time.DateOnly), Last: q.until.Add(-day).Format(time.DateOnly),
	}
	for _, r := range steps.sums {
		add(p.Total, r)
	}
	for _, r := range before.GetRows() {
		add(p.Past, r)
	}
	for _, by := range usageBy {
		for _, value := range overviewBy {
			if by.value == value {
				p.By = append(p.By, choice{value, by.title, q.link("", value), value == usageBy[q.by].value})
			}
		}
	}
	p.Periods = q.periods()
	for _, b := range state.GetBudgets() {
		row := budgetRow{BudgetUse: b, Name: b.GetOwner(), Link: "/requests?" + url.Values{"owner": {b.GetOwner()}}.Encode()}
		if b.GetKeyId() != "" {
			row.Name, row.Link = b.GetKeyName(), "/keys/"+url.PathEscape(b.GetKeyId())
			if row.Name == "" {
				row.Name = b.GetKeyId()
			}
		}
		p.Budgets = append(p.Budgets, row)
	}
	c.show(http.StatusOK, "overview.html", "Overview", p)
	return nil
}

// problems lists what is wrong now.
func problems(state *adminv1.GetStatusResponse, now time.Time) []problem {
	var list []problem
	if text := state.GetConfigurationProblem(); text != "" {
		list = append(list, problem{"The changed configuration is not in force: " + text, "/configuration"})
	}
	for _, u := range state.GetUpstreams() {
		switch {
		case u.GetFailingChecks():
			list = append(list, problem{"Upstream " + u.GetName() + ": its health checks fail.", "/upstreams"})
		case !u.GetHealthy():
			list = append(list, problem{"Upstream " + u.GetName() + " is not called after failures.", "/upstreams"})
		}
	}
	for _, n := range state.GetNodes() {
		for _, what := range n.GetDegraded() {
			if !silent(now, n.GetSeenTime()) {
				list = append(list, problem{fmt.Sprintf("Node %d (%s) is degraded: %s.", n.GetProcess(), n.GetHost(), what), "/nodes"})
			}
		}
	}
	if differ(state.GetNodes(), now) {
		list = append(list, problem{"Nodes differ in their version or their configuration.", "/nodes"})
	}
	full := 0
	for _, b := range state.GetBudgets() {
		if float64(b.GetGauge().GetUsed()) >= almostSpent/100.0*float64(b.GetGauge().GetMost()) {
			full++
		}
	}
	if full > 0 {
		list = append(list, problem{fmt.Sprintf("Budgets of which at least %d %% is spent: %d.", almostSpent, full), "#budgets"})
	}
	return list
}
