package limit_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/core/limit"
	"pgregory.net/rapid"
)

func TestParseBudget(t *testing.T) {
	for text, want := range map[string]limit.Budget{
		"1/day":             {Amount: limit.Dollar, Period: limit.Day},
		"12.50/month":       {Amount: 12_500_000_000, Period: limit.Month},
		"0.000000001/month": {Amount: 1, Period: limit.Month},
		"9000000/day":       {Amount: 9_000_000 * limit.Dollar, Period: limit.Day},
	} {
		if got, err := limit.ParseBudget(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for text, says := range map[string]string{
		"":                         "is no budget",
		"12":                       "is no budget",
		"12/week":                  "is no budget",
		"/day":                     "is no amount",
		"-1/day":                   "is no amount",
		"1e3/day":                  "is no amount",
		"1./day":                   "is no amount",
		".5/day":                   "is no amount",
		"1.0000000001/day":         "is no amount",
		"0/day":                    "above 0",
		"0.00/day":                 "above 0",
		"9000001/day":              "more than a budget can be",
		"99999999999999999999/day": "more than a budget can be",
	} {
		if got, err := limit.ParseBudget(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}

// What is written is read as it was.
func TestBudgetRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := limit.Budget{
			Amount: rapid.Int64Range(1, 9_000_000*limit.Dollar).Draw(t, "amount"),
			Period: rapid.SampledFrom(limit.Periods).Draw(t, "period"),
		}
		if got, err := limit.ParseBudget(want.String()); err != nil || got != want {
			t.Errorf("%v is written %s and read %v, %v", want.Amount, want, got, err)
		}
	})
}

func TestFormatMoney(t *testing.T) {
	for nanos, want := range map[int64]string{0: "0.00", 1: "0.000000001", limit.Dollar: "1.00", 12_500_000_000: "12.50", -5_000_000: "-0.005"} {
		if got := limit.FormatMoney(nanos); got != want {
			t.Errorf("%d: %s, want %s", nanos, got, want)
		}
	}
}

func TestPeriods(t *testing.T) {
	east := time.FixedZone("", 5*3600)
	for _, c := range []struct {
		period         limit.Period
		at, start, end string
	}{
		{limit.Day, "2026-12-31T23:59:59.999Z", "2026-12-31T00:00:00Z", "2027-01-01T00:00:00Z"},
		{limit.Month, "2026-12-31T23:59:59.999Z", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"},
		{limit.Month, "2028-02-01T00:00:00Z", "2028-02-01T00:00:00Z", "2028-03-01T00:00:00Z"},
		{limit.Day, "2028-02-29T00:00:00Z", "2028-02-29T00:00:00Z", "2028-03-01T00:00:00Z"},
	} {
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		at = at.In(east)
		if got := c.period.Start(at).Format(time.RFC3339); got != c.start {
			t.Errorf("the %s of %s starts %s, want %s", c.period, c.at, got, c.start)
		}
		if got := c.period.End(at).Format(time.RFC3339); got != c.end {
			t.Errorf("the %s of %s ends %s, want %s", c.period, c.at, got, c.end)
		}
	}
}

var update = flag.Bool("update", false, "write the table of docs/access.md")

// docs/access.md lists the kinds as they are.
func TestDocs(t *testing.T) {
	const file, begin, end = "../../docs/access.md", "<!-- kinds -->\n", "<!-- /kinds -->"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no %q and %q", file, begin, end)
	}
	var table strings.Builder
	table.WriteString("\n| limit | bounds | a request takes | metric | refused as |\n|---|---|---|---|---|\n")
	for i, kind := range limit.Kinds {
		takes := "one"
		switch m := limit.Metric(i); {
		case m == limit.Concurrent:
			takes = "one, which is free again at its end"
		case m.Weighed():
			takes = "what it may need, and in the end what it took"
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s | `%s` | `%s` |\n", kind.Name, kind.Means, takes, kind.Counts, kind.Reason)
	}
	if want := before + begin + table.String() + "\n" + end + after; *update {
		if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if want != string(text) {
		t.Errorf("%s is stale: go test ./core/limit -run TestDocs -update", file)
	}
}

func TestCheck(t *testing.T) {
	good := limit.Limits{RequestsPerMinute: 1, TokensPerMinute: limit.MaxFigure, Budgets: []limit.Budget{{1, limit.Day}, {2, limit.Month}}}
	good.Check(func(member, reason string) { t.Error(member, reason) })
	for says, bad := range map[string]limit.Limits{
		"requests_per_minute: expected 0 to 1000000000, got -1":       {RequestsPerMinute: -1},
		"tokens_per_minute: expected 0 to 1000000000, got 1000000001": {TokensPerMinute: limit.MaxFigure + 1},
		"concurrent: expected 0 to 1000000000, got -1":                {Concurrent: -1},
		"above 0":     {Budgets: []limit.Budget{{0, limit.Day}}},
		"no period":   {Budgets: []limit.Budget{{1, "week"}}},
		"two budgets": {Budgets: []limit.Budget{{1, limit.Day}, {2, limit.Day}}},
	} {
		var got []string
		bad.Check(func(member, reason string) { got = append(got, member+": "+reason) })
		if len(got) != 1 || !strings.Contains(got[0], says) {
			t.Errorf("%s: %q", says, got)
		}
	}
}
