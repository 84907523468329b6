package growth

import (
	"context"
	"fmt"
	"time"

	"github.com/genway/genway/core/limit"
	"github.com/genway/genway/core/price"
	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/sandbox"
)

// Routes makes n routes, half of them names and half globs, n prices and n rules of limits of
// the same kind, and measures what finding one costs a request.
func Routes(_ context.Context, _ string, n int64) (Row, error) {
	row := Row{Name: "routes, prices and rules of limits", N: n}
	answers := sandbox.New(sandbox.Config{})
	target := []route.Target{{Name: "sandbox", Upstream: answers}}
	routes, prices, rules := make([]route.Route, n), make([]price.Row, n), make([]limit.Rule, n)
	zero := price.Dollars(0)
	for i := range routes {
		model := fmt.Sprintf("model-%d", i)
		if i%2 == 1 {
			model = fmt.Sprintf("team-%d/*", i)
		}
		routes[i] = route.Route{Model: model, Targets: target}
		prices[i] = price.Row{Model: model, Classes: price.Classes{Input: &zero, Output: &zero}}
		rules[i] = limit.Rule{Pattern: model, Limits: limit.Limits{RequestsPerMinute: limit.MaxFigure}}
	}
	last := fmt.Sprintf("team-%d/x", (n-1)|1)
	if n == 1 {
		last = "model-0"
	}
	began := time.Now()
	router := route.New(routes)
	catalogue, err := price.New(prices)
	if err != nil {
		return row, err
	}
	limiter := limit.New(limit.NewMemory(nil), limit.Rules{Models: rules})
	row.Metrics = append(row.Metrics, Metric{What: "making the tables", Unit: "ms", Value: milliseconds(time.Since(began))})
	now, nothing := time.Now(), &genwayv1.GenerateTextRequest{}
	for _, find := range []struct {
		what string
		do   func()
	}{
		{"finding a route", func() {
			router.Candidates(genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, last, nothing, func(upstream.Candidate) {})
		}},
		{"finding no route", func() {
			router.Candidates(genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, "nobody's", nothing, func(upstream.Candidate) {})
		}},
		{"finding a price", func() { catalogue.Find("sandbox", last, now) }},
		{"finding a rule of limits", func() { limiter.Prepare(limit.Who{KeyID: "key", Model: last}) }},
	} {
		const times = 10_000
		began := time.Now()
		for range times {
			find.do()
		}
		row.Metrics = append(row.Metrics, Metric{What: find.what, Unit: "ns", Value: float64(time.Since(began).Nanoseconds()) / times})
	}
	began = time.Now()
	router.Models()
	row.Metrics = append(row.Metrics, Metric{What: "the list of models", Unit: "ms", Value: milliseconds(time.Since(began))})
	return row, nil
}
