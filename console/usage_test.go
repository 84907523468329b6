package console_test

import (
	"encoding/csv"
	"html"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/codec/fault"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"google.golang.org/protobuf/types/known/durationpb"
)

// asked is a report that a page has asked for.
type asked struct {
	since, until string
	by           adminv1.Dimension
}

// script has reports be those rows by dimension and first day, and returns what was asked for.
func (f *fixture) script(rows map[string][]*adminv1.UsageRow) *[]asked {
	all := &[]asked{}
	f.scripted.usage = func(req *adminv1.GetUsageRequest) []*adminv1.UsageRow {
		since := req.GetSince().AsTime().Format(time.DateOnly)
		*all = append(*all, asked{since, req.GetUntil().AsTime().Format(time.DateOnly), req.GetBy()[0]})
		return rows[req.GetBy()[0].String()+" "+since]
	}
	return all
}

func used(name string, requests, cost int64) *adminv1.UsageRow {
	return &adminv1.UsageRow{Values: []string{name}, Requests: requests, CostNanoDollars: cost, InputTokens: 10 * requests, CacheReadTokens: requests}
}

// Each row leads to its requests, by a filter that the list knows.
func TestRequestsOfUsage(t *testing.T) {
	f := openScripted(t)
	session := f.signIn(t, f.root)
	f.scripted.text = "x"
	for _, by := range []string{"key", "owner", "model", "served", "upstream", "protocol"} {
		name, search := "a&b <c>", "a&b <c>"
		if by == "protocol" {
			name, search = "generate_content", "PROTOCOL_GENERATE_CONTENT"
		}
		f.scripted.usage = func(*adminv1.GetUsageRequest) []*adminv1.UsageRow {
			return []*adminv1.UsageRow{used(name, 3, 6e9), used("", 1, 0)}
		}
		page := f.get(t, session, "/usage?by="+by).body
		link := "/requests?" + url.Values{by: {name}}.Encode()
		if strings.Count(page, `href="/requests?`+by) != 1 || !strings.Contains(html.UnescapeString(page), `href="`+link+`"`) {
			t.Errorf("by %s there is no link %s: %s", by, link, page)
		}
		f.get(t, session, link)
		if asked := f.scripted.asked.GetFilter().String(); !strings.Contains(asked, search) {
			t.Errorf("by %s: the search is for %s", by, asked)
		}
	}
	if page := f.get(t, session, "/usage?by=day").body; strings.Contains(page, "/requests?day") {
		t.Error("a day leads to a search that there is not")
	}
}

// table is a CSV as maps by its head.
func table(t *testing.T, text string) (rows []map[string]string) {
	t.Helper()
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, name := range lines[0] {
			row[name] = line[i]
		}
		rows = append(rows, row)
	}
	return rows
}

// Case X70: a period is beside any other of the same length. What only one of both has is a row, and the
// totals are the rows' sums.
func TestTwoPeriods(t *testing.T) {
	f := openScripted(t)
	session := f.signIn(t, f.root)
	reports := f.script(map[string][]*adminv1.UsageRow{
		"DIMENSION_MODEL 2026-03-02": {used("a", 3, 6e9), used("new", 1, 1e9)},
		"DIMENSION_MODEL 2026-02-01": {used("a", 2, 4e9), used("gone", 5, 9e9)},
		"DIMENSION_DAY 2026-03-02":   {used("2026-03-03", 4, 7e9)},
	})
	const query = "by=model&from=2026-03-02&to=2026-03-04&with=2026-02-01"
	page := f.get(t, session, "/usage?"+query).body
	want := []asked{{"2026-03-02", "2026-03-05", adminv1.Dimension_DIMENSION_MODEL}, {"2026-02-01", "2026-02-04", adminv1.Dimension_DIMENSION_MODEL}, {"2026-03-02", "2026-03-05", adminv1.Dimension_DIMENSION_DAY}}
	for i, w := range want {
		if len(*reports) != len(want) || (*reports)[i] != w {
			t.Fatalf("%v was asked for, not %v", *reports, want)
		}
	}
	for _, text := range []string{
		`<dd>$7.00<small>before: $13.00</small>`, `<dd>4<small>before: 7</small>`, // totals
		`From 2026-03-02 to 2026-03-04`, `is from 2026-02-01 to 2026-02-03`,
		`>gone</th><td class="n">$0</td><td class="n dim">$9.00</td><td class="n">−100.0 %</td>`, `>a</th><td class="n">$6.00</td><td class="n dim">$4.00</td><td class="n">&#43;50.0 %</td>`,
		`href="?by=hour&amp;from=2026-03-02&amp;to=2026-03-04&amp;with=2026-02-01"`, `href="/usage.csv?by=model&amp;from=2026-03-02&amp;to=2026-03-04&amp;with=2026-02-01"`,
		`name="with" value="2026-02-01"`, `<title>03-03: $7.00</title>`,
	} {
		if !strings.Contains(page, text) {
			t.Errorf("there is no %s in %s", text, page)
		}
	}
	rows := table(t, f.get(t, session, "/usage.csv?"+query).body)
	if len(rows) != 3 || rows[0]["model"] != "a" || rows[0]["requests"] != "3" || rows[0]["requests_before"] != "2" || rows[2]["model"] != "gone" || rows[2]["cost_nano_dollars_before"] != "9000000000" || rows[2]["input_tokens_before"] != "50" {
		t.Errorf("%v", rows)
	}
}

// Case U23: times to first events are on the page, in its totals and in the CSV. Unknown is not zero, and
// neither is none.
func TestFirstEvents(t *testing.T) {
	f := openScripted(t)
	session := f.signIn(t, f.root)
	all := used("quick", 3, 6e9)
	all.FirstEvents = &adminv1.FirstEvents{Count: 2, Mean: durationpb.New(400 * time.Millisecond), P50: durationpb.New(300 * time.Millisecond), P95: durationpb.New(1500 * time.Millisecond)}
	part, old, none := used("part", 3, 5e9), used("old", 3, 4e9), used("none", 3, 3e9)
	part.FirstEvents = &adminv1.FirstEvents{Count: 1, Unknown: 2, Mean: durationpb.New(time.Second), P50: durationpb.New(time.Second), P95: durationpb.New(2 * time.Second)}
	old.FirstEvents, none.FirstEvents = &adminv1.FirstEvents{Unknown: 3}, &adminv1.FirstEvents{}
	f.script(map[string][]*adminv1.UsageRow{"DIMENSION_MODEL 2026-03-02": {all, part, old, none}})
	f.scripted.total = &adminv1.UsageRow{FirstEvents: &adminv1.FirstEvents{Count: 3, Unknown: 1234, P95: durationpb.New(1700 * time.Millisecond)}}
	const query = "by=model&from=2026-03-02&to=2026-03-04&with=2026-02-01"
	page := f.get(t, session, "/usage?"+query).body
	for _, text := range []string{
		`>First event, p95</dt><dd>1.70 s<small>before: 1.70 s`, `Of 1` + "\u202f" + `234 requests it is not known`,
		`<td class="n">300.0 ms</td><td class="n">1.50 s</td>`, `<td class="n">1.00 s</td><td class="n">2.00 s</td>`, `<td class="n">unknown</td><td class="n">unknown</td>`, `<td class="n">–</td><td class="n">–</td>`,
	} {
		if !strings.Contains(page, text) {
			t.Errorf("there is no %s in %s", text, page)
		}
	}
	rows := table(t, f.get(t, session, "/usage.csv?"+query).body)
	for i, want := range []string{"2 0 400000 300000 1500000", "1 2 1000000 1000000 2000000", "0 3   ", "0 0   "} {
		var got []string
		for _, column := range []string{"first_events", "first_event_unknown", "first_event_mean", "first_event_p50", "first_event_p95"} {
			got = append(got, rows[i][column])
		}
		if strings.Join(got, " ") != want || rows[i]["first_event_p95_before"] != "" || rows[i]["first_events_before"] != "0" {
			t.Errorf("row %d: %q, want %q", i, got, want)
		}
	}
	f.scripted.total = nil // of no rows there is none
	if page := f.get(t, session, "/usage?"+query).body; !strings.Contains(page, `p95</dt><dd>–<small>before: –`) || strings.Contains(page, "not known") {
		t.Error(page)
	}
}

// By day and by hour a row is beside the row of as many days before, and the chart of one day has its hours.
func TestUsageByTime(t *testing.T) {
	f := openScripted(t)
	session := f.signIn(t, f.root)
	f.script(map[string][]*adminv1.UsageRow{
		"DIMENSION_HOUR 2026-03-02": {used("2026-03-02T07", 3, 6e9)},
		"DIMENSION_HOUR 2026-03-01": {used("2026-03-01T07", 2, 4e9), used("2026-03-01T23", 1, 1e9)},
		"DIMENSION_DAY 2026-03-02":  {used("2026-03-02", 3, 6e9)},
		"DIMENSION_DAY 2026-02-28":  {used("2026-02-28", 9, 9e9)}, // pruned
		"DIMENSION_HOUR 2026-02-28": {used("2026-02-28", 9, 9e9)},
	})
	page := f.get(t, session, "/usage?by=hour&from=2026-03-02&to=2026-03-02").body
	for _, text := range []string{`>2026-03-02T07</th><td class="n">$6.00</td><td class="n dim">$4.00</td>`, `>2026-03-02T23</th><td class="n">$0</td><td class="n dim">$1.00</td>`, `<title>Cost, by hour</title>`, `<title>03-02T07: $6.00</title>`} {
		if !strings.Contains(page, text) {
			t.Errorf("there is no %s in %s", text, page)
		}
	}
	if n := strings.Count(page, "<rect"); n != 24 {
		t.Errorf("%d bars of a day", n)
	}
	for _, by := range []string{"day", "hour"} {
		rows := table(t, f.get(t, session, "/usage.csv?from=2026-03-02&to=2026-03-02&with=2026-02-28&by="+by).body)
		if last := rows[0]; len(rows) > 2 || last[by] != "2026-03-02" || last["requests_before"] != "9" {
			t.Errorf("by %s: %v", by, rows)
		}
	}
}

// Days that are none, or too many, are refused in words; what is not known of the rest is left out.
func TestAbsurdPeriods(t *testing.T) {
	f := open(t)
	session := f.signIn(t, f.root)
	for query, want := range map[string]int{
		"from=2026-02-30": 400, "from=x": 400, "to=0": 400, "with=-1": 400, "from=1969-12-31&to=1970-01-01": 400, "from=" + strings.Repeat("9", 5000): 400, "from=%00": 400, "with=%3Cb%3E": 400,
		"from=2026-03-02&to=2026-03-01": 400, "from=2026-01-01&to=2027-01-02": 400, "from=1970-01-01": 400, "from=9999-12-31&to=9999-12-31": 400,
		"from=2026-01-01&to=2027-01-01": 200, "from=1970-01-01&to=1970-01-01": 200, "to=2026-03-01": 200, "with=2026-03-01": 200, "with=1970-01-01&period=90d": 200, "period=-1&by=": 200, "from=&to=&with=": 200, "by=hour&period=90d": 200,
	} {
		for _, path := range []string{"/usage?", "/usage.csv?"} {
			got := f.get(t, session, path+query)
			if got.code != want || want == 400 && !strings.Contains(got.body, "role=\"alert\"") && !strings.Contains(got.body, "notice") {
				t.Errorf("%s%.80s: %d %s", path, query, got.code, got.body)
			}
			if wrong := active(got.body); len(wrong) > 0 && path == "/usage?" {
				t.Errorf("%s: %v", query, wrong)
			}
		}
	}
}

// The overview says what is wrong, stacks what was used by the chosen dimension, and lists the fullest budgets. A dimension
// of more values than shades has the rest in one part.
func TestOverview(t *testing.T) {
	f := openScripted(t)
	session := f.signIn(t, f.root)
	if page := f.get(t, session, "/overview").body; !strings.Contains(page, "No problem is known.") || !strings.Contains(page, "No budgets.") {
		t.Error(page)
	}
	f.scripted.text = "down<b>"
	f.scripted.usage = func(req *adminv1.GetUsageRequest) []*adminv1.UsageRow {
		if len(req.GetBy()) < 2 {
			return []*adminv1.UsageRow{used("2026-02-01", 5, 9e9)}
		}
		rows := []*adminv1.UsageRow{{Values: []string{"2026-03-02", "none-failed"}, Requests: 100, CostNanoDollars: 1e9}}
		for i := range 9 {
			rows = append(rows, &adminv1.UsageRow{Values: []string{"2026-03-03", "m" + strconv.Itoa(i)}, Requests: int64(i + 1), Failed: 1, CostNanoDollars: int64(i+1) * 1e9})
		}
		return rows
	}
	page := f.get(t, session, "/overview?by=upstream&from=2026-03-02&to=2026-03-04").body
	for _, text := range []string{
		"configuration is not in force: down&lt;b&gt;", "Upstream down&lt;b&gt; is not called after failures.", "is degraded: down&lt;b&gt;.", "Nodes differ", "at least 90 % is spent: 1.",
		`<dd>145<small>before: 5</small></dd>`, `<dd>$46.00<small>before: $9.00</small></dd>`, `<dd>6.2 %<small>`,
		`<title>Requests, by day and upstream</title>`, `<title>03-02, none-failed: 100</title>`, `<title>03-03, m8: $9.00</title>`, `<title>03-03, others: 12</title>`, `others <small>12</small>`,
		`<a href="/keys/key_1">down&lt;b&gt;</a> <small>key</small>`, `$0.9500 of $1.00 a day`, `<a href="/requests?owner=down%3Cb%3E">down&lt;b&gt;</a> <small>owner</small>`, `3 more are on the pages of their keys`,
		`href="/usage?by=upstream&amp;from=2026-03-02&amp;to=2026-03-04"`,
	} {
		if !strings.Contains(page, text) {
			t.Errorf("there is no %s in %s", text, page)
		}
	}
}

// A report by too many values is drawn without parts.
func TestStepsOfTooManyValues(t *testing.T) {
	f := openScripted(t)
	session := f.signIn(t, f.root)
	f.scripted.usageErr = func(req *adminv1.GetUsageRequest) error {
		if len(req.GetBy()) > 1 {
			return fault.Invalid("by", "by: the report has too many rows")
		}
		return nil
	}
	f.script(map[string][]*adminv1.UsageRow{"DIMENSION_OWNER 2026-03-02": {used("a", 4, 7e9)}, "DIMENSION_DAY 2026-03-02": {used("2026-03-03", 4, 7e9)}})
	for _, path := range []string{"/usage?by=owner&", "/overview?by=owner&"} {
		got := f.get(t, session, path+"from=2026-03-02&to=2026-03-04")
		if got.code != http.StatusOK || !strings.Contains(got.body, `<title>03-03: $7.00</title>`) || strings.Contains(got.body, `class="legend"`) {
			t.Errorf("%s: %d, %s", path, got.code, got.body)
		}
	}
}

// Case X71: no page asks the Admin service for more than three things.
func TestCallsOfPages(t *testing.T) {
	f := openScripted(t)
	session := f.signIn(t, f.root)
	f.scripted.text = "x"
	id := f.get(t, session, "/keys").body
	id = id[strings.Index(id, `href="/keys/key_`)+len(`href="/keys/`):]
	id = id[:strings.IndexByte(id, '"')]
	for _, path := range append([]string{"/overview", "/overview?by=owner&period=30d", "/usage", "/usage?by=day", "/usage?by=hour&period=1d", "/usage.csv", "/requests.csv", "/keys", "/keys/" + id, "/keys/new", "/audit", "/sessions", "/connect"}, scriptedPages...) {
		before := f.calls.Load()
		got := f.get(t, session, path)
		if n := f.calls.Load() - before; n > 3 || got.code >= 500 {
			t.Errorf("%s: %d, %d calls", path, got.code, n)
		}
	}
	before := f.calls.Load()
	if f.get(t, session, "/requests?"+url.Values{"model": {"m"}, "outcome": {"failed"}, "after": {"1.2.3"}}.Encode()); f.calls.Load()-before != 1 {
		t.Errorf("%d calls for a list of requests", f.calls.Load()-before)
	}
	if got := f.get(t, session, "/keys"); got.code != http.StatusOK {
		t.Error(got.code)
	}
}
