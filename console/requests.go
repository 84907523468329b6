package console

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
)

// requestColumns are the columns of a list of requests.
var requestColumns = []string{"Time", "Outcome", "Protocol", "Model", "Owner", "Tries", "First event", "Took", "In", "Cached", "Out", "Thinking", "Cost", "Lost", "Key"}

// requestRow is a request as lists show it, live ones too.
type requestRow struct {
	ID      string   `json:"id"`
	Outcome string   `json:"outcome"`
	Cells   []string `json:"cells"` // of requestColumns
}

// rowOf returns a request's row.
func rowOf(r *adminv1.LoggedRequest, names map[string]string) (row requestRow) {
	row.fill(r, names)
	return row
}

// fill makes it a request's row, in the memory that the row has. The last cell is the name of its key or,
// without one, the key's id.
func (row *requestRow) fill(r *adminv1.LoggedRequest, names map[string]string) {
	outcome := outcomeName(r.GetOutcome())
	shown := outcome
	if r.GetKind() != "" && r.GetKind() != outcome {
		shown += ": " + r.GetKind()
	}
	u := r.GetUsage()
	row.ID, row.Outcome, row.Cells = r.GetId(), outcome, append(row.Cells[:0],
		r.GetStartTime().AsTime().UTC().Format("2006-01-02 15:04:05.000"), shown,
		arrow(r.GetProtocol(), r.GetUpstreamProtocol()), arrow(r.GetModel(), r.GetServedModel()),
		r.GetOwner(), count(r.GetAttempts()), took(r.GetFirstEvent().AsDuration()), took(r.GetDuration().AsDuration()),
		count(u.GetInputTokens()), count(u.GetCacheReadTokens()), count(u.GetOutputTokens()), count(u.GetThinkingTokens()),
		money(r.GetCostNanoDollars()), strings.Join(r.GetLosses(), ", "), cmp.Or(names[r.GetKeyId()], r.GetKeyId()),
	)
}

// arrow shows what became of a thing on its way, if it is another.
func arrow(from, to string) string {
	if to == "" || to == from {
		return from
	}
	return from + " → " + to
}

type requestsPage struct {
	Columns                       []string
	Rows                          []requestRow
	Fields                        []formField
	Outcomes, Periods             []choice
	Lost, Retried, WithoutKind    bool
	Next, First, CSV, Live, Until string
	Filtered                      bool
}

// formField is a text of a form.
type formField struct{ Name, Title, Value string }

// requestRows is how many requests a page has, and csvRows how many a CSV.
const (
	requestRows = 100
	csvRows     = 1000
)

func (c *call) requests(f filter, size int32) (*adminv1.ListRequestsResponse, error) {
	return c.admin.ListRequests(c.ctx, &adminv1.ListRequestsRequest{PageSize: size, PageToken: c.r.URL.Query().Get("after"), Filter: f.RequestFilter})
}

func listRequests(c *call) error {
	f := c.filter()
	resp, err := c.requests(f, requestRows)
	if err != nil {
		return err
	}
	after := c.r.URL.Query().Get("after")
	p := requestsPage{Columns: requestColumns, Lost: f.Lost, Retried: f.Retried, WithoutKind: f.WithoutKind, CSV: f.link("/requests.csv", after), Filtered: len(f.Values) > 0}
	for _, r := range resp.GetRequests() {
		p.Rows = append(p.Rows, rowOf(r, resp.GetKeyNames()))
	}
	for _, field := range filterFields {
		p.Fields = append(p.Fields, formField{field.Name, field.Title, f.Get(field.Name)})
	}
	for _, o := range outcomes {
		chosen := false
		for _, asked := range f.Values["outcome"] {
			chosen = chosen || asked == o.Value
		}
		p.Outcomes = append(p.Outcomes, choice{Value: o.Value, Title: o.Value, Current: chosen})
	}
	for _, period := range requestPeriods {
		p.Periods = append(p.Periods, choice{Value: period.Value, Title: period.Title, Current: f.Get("period") == period.Value || f.Get("period") == "" && period.Back == 0})
	}
	if next := resp.GetNextPageToken(); next != "" {
		p.Next = f.link("/requests", next)
		if resp.GetReadUntil() != nil {
			p.Until = resp.GetReadUntil().AsTime().UTC().Format(time.DateTime)
		}
	}
	if after != "" {
		p.First = f.link("/requests", "")
	} else {
		p.Live = f.link("/requests/live", "")
	}
	c.show(http.StatusOK, "requests.html", "Requests", p)
	return nil
}

// requestsCSV returns what the page shows, and more of it: up to 1000 requests. The key is its id there, and its
// name is the last column.
func requestsCSV(c *call) error {
	resp, err := c.requests(c.filter(), csvRows)
	if err != nil {
		return err
	}
	table := [][]string{append(append([]string{"id"}, requestColumns...), "Key name")}
	for _, r := range resp.GetRequests() {
		table = append(table, append(append([]string{r.GetId()}, rowOf(r, nil).Cells...), resp.GetKeyNames()[r.GetKeyId()]))
	}
	return c.writeCSV("genway-requests.csv", table)
}
