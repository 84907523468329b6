package console

import (
	"fmt"
	"html/template"
	"net/url"
	"strings"

	"github.com/genway/genway/console/chart"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
)

// failureMix is the failed requests of an upstream by kind.
type failureMix struct {
	Upstream string
	Failed   int64
	Rows     []failureRow
	// Bar draws the rows as parts of one bar.
	Bar template.HTML
}

type failureRow struct {
	Kind     string
	Requests int64
	// Link leads to the requests.
	Link string
}

// mixesOf are the mixes of the upstreams that had failures.
func mixesOf(upstreams []*adminv1.Upstream) []failureMix {
	var mixes []failureMix
	for _, u := range upstreams {
		mix := failureMix{Upstream: u.GetName()}
		parts := chart.Parts{Title: "Failures of " + u.GetName()}
		var kinds []string
		for _, f := range u.GetFailures() {
			query := url.Values{"upstream": {u.GetName()}, "outcome": {"failed"}}
			if f.GetKind() != "" {
				query.Set("kind", f.GetKind())
			} else {
				query.Set("without_kind", "1")
			}
			row := failureRow{Kind: kindName(f.GetKind()), Requests: f.GetRequests(), Link: "/requests?" + query.Encode()}
			mix.Failed += row.Requests
			mix.Rows = append(mix.Rows, row)
			parts.Labels, parts.Values = append(parts.Labels, row.Kind), append(parts.Values, row.Requests)
			kinds = append(kinds, fmt.Sprintf("%s %s", row.Kind, count(row.Requests)))
		}
		if mix.Failed == 0 {
			continue
		}
		parts.Description = strings.Join(kinds, ", ")
		mix.Bar = template.HTML(parts.SVG()) //nolint:gosec // the chart escapes all texts
		mixes = append(mixes, mix)
	}
	return mixes
}

// kindName writes the kind of a fault for people.
func kindName(kind string) string {
	if kind == "" {
		return "unknown"
	}
	return strings.ReplaceAll(kind, "_", " ")
}
