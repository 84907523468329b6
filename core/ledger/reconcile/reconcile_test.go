package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/ledger/reconcile"
	"github.com/genway/genway/core/price"
	"github.com/genway/genway/core/store"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2026, 3, 1, 23, 0, 0, 0, time.UTC)

// entry is the n-th request, n hours after the first: 100n tokens in, 10n out.
func entry(n int64, model, upstream string) *ledger.Entry {
	return &ledger.Entry{
		Number:  n,
		Request: ledger.Request{ID: fmt.Sprint("req_", n), KeyID: "k", Protocol: "messages", Method: "GenerateText", Model: model, Start: start.Add(time.Duration(n) * time.Hour)},
		Result: ledger.Result{Outcome: ledger.OK, Upstream: upstream, Attempts: 1, Model: model + "-1",
			Usage: ledger.Usage{Input: 100 * n, Output: 10 * n, CacheRead: 40 * n}, Cost: 7 * n, Price: "p"},
	}
}

func opened(t *testing.T, entries ...*ledger.Entry) (ledger.Store, int64) {
	t.Helper()
	db, err := store.Open(t.Context(), store.Config{Location: filepath.Join(t.TempDir(), "ledger"), RelaxLedger: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	process, err := db.Ledger().Begin(t.Context(), start)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Ledger().Write(t.Context(), process, entries); err != nil {
		t.Fatal(err)
	}
	return db.Ledger(), process
}

// summary is a result in a few lines.
func summary(r *reconcile.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d match", r.Matched)
	for _, m := range r.MissingInLedger {
		fmt.Fprintf(&b, "; not in the ledger: %s", strings.Join(m.Values, " "))
	}
	for _, m := range r.MissingInAnswers {
		fmt.Fprintf(&b, "; not in the answers: %s", strings.Join(m.Values, " "))
	}
	for _, d := range r.Differing {
		fmt.Fprintf(&b, "; %s %s %d %d", strings.Join(d.Values, " "), d.Figure, d.Ledger, d.Answers)
	}
	return b.String()
}

func TestCompare(t *testing.T) {
	failed, counted, flying := entry(4, "b", "y"), entry(5, "b", "y"), entry(6, "b", "y")
	failed.Result = ledger.Result{Outcome: ledger.Failed, Upstream: "y"}
	counted.Method, counted.Usage, counted.Cost = "CountTokens", ledger.Usage{}, 0
	flying.Result = ledger.Result{Outcome: ledger.Open}
	ledgered, _ := opened(t, entry(1, "a", "x"), entry(2, "a", "x"), entry(3, "b", "y"), failed, counted, flying)
	for _, c := range []struct {
		name, answers string
		columns       []string
		scope         reconcile.Scope
		want          string
	}{
		{"each request", `{"request_id": "req_1", "input_tokens": 100, "output_tokens": 10, "model": "a"}
{"request_id": "req_2", "input_tokens": 200, "output_tokens": 20}

{"request_id": "req_3", "input_tokens": 300, "output_tokens": 30}`, nil, reconcile.Scope{Used: true}, "3 match"},
		{"errors are requests too", `{"request_id": "req_1"}
{"request_id": "req_2"}
{"request_id": "req_3"}
{"request_id": "req_5"}`, nil, reconcile.Scope{}, "4 match; not in the answers: req_4"},
		{"one is there twice, one is not known, one differs", `{"request_id": "req_1", "output_tokens": 10}
{"request_id": "req_1", "output_tokens": 10}
{"request_id": "req_2", "output_tokens": 21}
{"request_id": "req_9", "output_tokens": 1}`, nil, reconcile.Scope{Used: true},
			"0 match; not in the ledger: req_9; not in the answers: req_3; req_1 requests 1 2; req_1 output_tokens 10 20; req_2 output_tokens 20 21"},
		{"one upstream, until a time", `{"request_id": "req_1", "cost": "0.000000007"}`, nil,
			reconcile.Scope{Upstream: "x", Since: start, Until: start.Add(2 * time.Hour)}, "1 match"},
		{"an export", "\uFEFFusage_date_utc,model_version,uncached,cached,out,note\n2026-03-02T00:00:00Z,a-1,60,40,10,x\n2026-03-02T01:00:00Z,a-1,120,80,20,\n2026-03-02,b-1,180,120,31,\n",
			[]string{"day=usage_date_utc", "served_model=model_version", "input_tokens=uncached+cached", "cache_read_tokens=cached", "output_tokens=out"},
			reconcile.Scope{Used: true}, "1 match; 2026-03-02 b-1 output_tokens 30 31"},
		{"requests of an export", "model,requests,input_tokens\na,2,300\nb,3,300\n", nil, reconcile.Scope{}, "2 match"},
		{"an upstream's share", "model,requests\nb,3\n", nil, reconcile.Scope{Upstream: "y"}, "1 match"},
		{"none of it", "model,requests\nz,3\n", nil, reconcile.Scope{Until: start}, "0 match; not in the ledger: z"},
	} {
		t.Run(c.name, func(t *testing.T) {
			columns := reconcile.Columns{}
			for _, text := range c.columns {
				if err := columns.ParseColumn(text); err != nil {
					t.Fatal(err)
				}
			}
			answers, err := reconcile.Read("answers", strings.NewReader(c.answers), columns)
			if err != nil {
				t.Fatal(err)
			}
			result, err := reconcile.Compare(t.Context(), ledgered, answers, c.scope)
			if err != nil {
				t.Fatal(err)
			}
			if got := summary(result); got != c.want || result.Equal() != !strings.Contains(got, ";") {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestReadErrors(t *testing.T) {
	for _, c := range []struct{ name, text, column, says string }{
		{"nothing", "", "", "answers: there is nothing in it"},
		{"no identity", `{"input_tokens": 1}`, "", "answers:1: no column identifies the records; expected one of request_id, key,"},
		{"no figure", "model\na\n", "", "answers:2: no column can be compared"},
		{"no number", "model,input_tokens\na,1\na,many\n", "", `answers:3: input_tokens: "many" is no number of input_tokens`},
		{"below 0", `{"model": "a", "input_tokens": -1}`, "", `"-1" is no number`},
		{"no day", "day,requests\nsoon,1\n", "", `answers:2: "soon" is no day`},
		{"no cost", "day,cost\n2026-01-01,free\n", "", `"free" is no price`},
		{"no object", "{\"model\": \"a\", \"requests\": 1}\n[]\n", "", "answers:2: it is no object"},
		{"a column that is not there", "model,requests\na,1\n", "input_tokens=uncached", `there is no column "uncached", which is to be input_tokens`},
		{"a short line", "model,requests\na\n", "", "wrong number of fields"},
	} {
		columns := reconcile.Columns{}
		if c.column != "" {
			if err := columns.ParseColumn(c.column); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := reconcile.Read("answers", strings.NewReader(c.text), columns); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	for text, says := range map[string]string{"input_tokens": "write OURS=THEIRS", "colour=x": `"colour" is no column of the ledger`, "model=a+b": "model is no sum"} {
		if err := (reconcile.Columns{}).ParseColumn(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// now is long after all entries.
var now = start.AddDate(0, 1, 0)

const prices = "prices: [{model: p, input: 7, output: 0}]"

func catalogue(t *testing.T) (*price.Catalogue, string) {
	t.Helper()
	c, err := price.Parse("f", []byte(prices))
	if err != nil {
		t.Fatal(err)
	}
	p, _ := c.Find("", "p", now)
	return c, p.ID
}

func TestCheckGood(t *testing.T) {
	c, id := catalogue(t)
	right, unknown := entry(2, "a", "x"), entry(3, "a", "x")
	right.Price, right.Cost = id, 200*7000
	recent := entry(9, "a", "x")
	recent.Start = now
	s, process := opened(t, right, unknown, recent)
	if err := s.Write(t.Context(), process, []*ledger.Entry{{Number: 10, Request: ledger.Request{Start: now}, Result: ledger.Result{Outcome: ledger.Open}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Beat(t.Context(), process, ledger.Node{}, now, start); err != nil {
		t.Fatal(err)
	}
	for _, pruned := range []int64{0, 2} {
		got, err := reconcile.Check(t.Context(), reconcile.Checking{Store: s, Prices: c, Now: now})
		if err != nil {
			t.Fatal(err)
		}
		if !got.Good() || got.Entries != 2-pruned || got.Pruned != pruned || pruned == 0 && (got.Recomputed != 1 || got.Unknown != 1) {
			t.Errorf("%+v", got)
		}
		if _, err := s.Prune(t.Context(), now, 100); err != nil {
			t.Fatal(err)
		}
	}
}

// altered is a ledger whose entries somebody has changed behind the store's back.
type altered struct {
	ledger.Store
	change func(*ledger.Entry)
}

func (a altered) View(ctx context.Context, do func(ledger.View) error) error {
	return a.Store.View(ctx, func(v ledger.View) error { return do(alteredView{v, a.change}) })
}

type alteredView struct {
	ledger.View
	change func(*ledger.Entry)
}

func (a alteredView) Walk(ctx context.Context, since, until time.Time) iter.Seq2[*ledger.Entry, error] {
	return func(yield func(*ledger.Entry, error) bool) {
		for e, err := range a.View.Walk(ctx, since, until) {
			if e != nil {
				a.change(e)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// Each thing that can be wrong with an entry is reported.
func TestCheckEntries(t *testing.T) {
	c, id := catalogue(t)
	for says, change := range map[string]func(*ledger.Entry){
		"cache_read_tokens: 101 tokens are more than the 100 of input_tokens":       func(e *ledger.Entry) { e.Usage.CacheRead = 101 },
		"cache_write_1h_tokens: 1 tokens are more than the 0 of cache_write_tokens": func(e *ledger.Entry) { e.Usage.CacheWrite1h = 1 },
		"thinking_tokens: 11 tokens are more than the 10 of output_tokens":          func(e *ledger.Entry) { e.Usage.Thinking = 11 },
		"images: -1 is below 0":               func(e *ledger.Entry) { e.Usage.Images = -1 },
		"it costs 7 nano-dollars by no price": func(e *ledger.Entry) { e.Price = "" },
		"would be 700000":                     func(e *ledger.Entry) { e.Price = id },
	} {
		s, _ := opened(t, entry(1, "a", "x"))
		got, err := reconcile.Check(t.Context(), reconcile.Checking{Store: altered{s, change}, Prices: c, Now: now})
		if err != nil {
			t.Fatal(err)
		}
		if got.Good() || len(got.Wrong) != 1 || !strings.Contains(got.Wrong[0], says) || !strings.Contains(got.Wrong[0], "request req_1 of 2026-03-02T00:00:00Z") {
			t.Errorf("want %s: %+v", says, got)
		}
	}
}

// What a request used of several models is proved charge by charge: each by its own price, all by their sum.
func TestCheckCharges(t *testing.T) {
	c, id := catalogue(t)
	charge := func(kind string, input int64) ledger.Charge {
		ch := ledger.Charge{Upstream: "u", Model: "x", Kind: kind, Usage: ledger.Usage{Input: input}}
		p, ok := c.ByID(id)
		if !ok {
			t.Fatal(id)
		}
		p.Charge(&ch)
		return ch
	}
	for says, change := range map[string]func(*ledger.Result, []ledger.Charge){
		"":                           func(*ledger.Result, []ledger.Charge) {},
		"its charges add up to":      func(r *ledger.Result, _ []ledger.Charge) { r.Cost++ },
		"of {Input:107":              func(r *ledger.Result, _ []ledger.Charge) { r.Usage.Input++ },
		"unpriced false":             func(r *ledger.Result, _ []ledger.Charge) { r.Unpriced = true },
		"its charges cannot be read": func(r *ledger.Result, _ []ledger.Charge) { r.Charges = "[" },
		"compaction costs":           func(r *ledger.Result, cs []ledger.Charge) { cs[1].Cost++; r.Charge(cs) },
		"unpriced true": func(r *ledger.Result, cs []ledger.Charge) {
			cs[1].Calls = map[string]int64{"web_search": 1}
			cs[1].Usage.ToolCalls = 1
			r.Charge(cs)
		},
		"nano-dollars by no price": func(r *ledger.Result, cs []ledger.Charge) { cs[1].Price = ""; r.Charge(cs) },
	} {
		e := entry(1, "a", "x")
		charges := []ledger.Charge{charge("", 7), charge("compaction", 100)}
		e.Charge(charges)
		change(&e.Result, charges)
		s, _ := opened(t, e)
		got, err := reconcile.Check(t.Context(), reconcile.Checking{Store: s, Prices: c, Now: now})
		if err != nil {
			t.Fatal(err)
		}
		if says == "" && (!got.Good() || got.Recomputed != 2) || says != "" && !strings.Contains(strings.Join(got.Wrong, "\n"), says) {
			t.Errorf("%q: %+v", says, got)
		}
	}
}

// Entries that dead processes left open are reported.
func TestCheckLeft(t *testing.T) {
	open := entry(1, "a", "x")
	open.Result = ledger.Result{Outcome: ledger.Open}
	s, _ := opened(t, open)
	if got, err := reconcile.Check(t.Context(), reconcile.Checking{Store: s, Now: now}); err != nil || got.Good() || got.Left != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

// lying is a store whose reports, or the sums they are made of, do not say what is in it.
type lying struct {
	ledger.Store
	report func(ledger.Query, []ledger.Row) []ledger.Row
	rolled func([]ledger.Rolled)
}

func (l lying) View(ctx context.Context, do func(ledger.View) error) error {
	return l.Store.View(ctx, func(v ledger.View) error { return do(lyingView{v, l}) })
}

type lyingView struct {
	ledger.View
	lying lying
}

func (l lyingView) Report(ctx context.Context, q ledger.Query) ([]ledger.Row, error) {
	rows, err := l.View.Report(ctx, q)
	if l.lying.report != nil {
		rows = l.lying.report(q, rows)
	}
	return rows, err
}

func (l lyingView) Rolled(ctx context.Context, day time.Time) ([]ledger.Rolled, error) {
	rolled, err := l.View.Rolled(ctx, day)
	if l.lying.rolled != nil {
		l.lying.rolled(rolled)
	}
	return rolled, err
}

// forgetful is a store in which more was spent than it knows.
type forgetful struct{ ledger.Store }

func (f forgetful) Spent(ctx context.Context, since time.Time, keyID, owner string) ([]ledger.Spend, error) {
	spends, err := f.Store.Spent(ctx, since, keyID, owner)
	for i := range spends {
		spends[i].Cost--
	}
	return spends, err
}

func TestCheckSums(t *testing.T) {
	s, _ := opened(t, entry(1, "a", "x"), entry(2, "b", "x"))
	if _, err := ledger.RollAll(t.Context(), s, now); err != nil {
		t.Fatal(err)
	}
	if got, err := reconcile.Check(t.Context(), reconcile.Checking{Store: s, Now: now}); err != nil || !got.Good() || got.Hours != 24 {
		t.Errorf("%+v, %v", got, err)
	}
	for _, test := range []struct {
		name  string
		store ledger.Store
		now   time.Time
		says  string
	}{
		{"a report lacks rows", lying{Store: s, report: func(q ledger.Query, rows []ledger.Row) []ledger.Row {
			if len(q.By) < len(ledger.Dimensions) && len(rows) > 0 {
				return rows[:1]
			}
			return rows
		}}, now, `the report of 2026-03-02, of ["messages" "b" "x" "b-1"]`},
		{"a report says more", lying{Store: s, report: func(_ ledger.Query, rows []ledger.Row) []ledger.Row {
			for i := range rows {
				rows[i].Output++
			}
			return rows
		}}, now, "the report of 2026-03-02"},
		{"sums of an hour say more", lying{Store: s, rolled: func(rolled []ledger.Rolled) { rolled[0].Rows[0].Cost++ }}, now, `the sums of 2026-03-02T00:00:00Z, of ["k" "" "messages" "a" "x" "a-1"]`},
		{"sums of an hour are of none", lying{Store: s, rolled: func(rolled []ledger.Rolled) { rolled[5].Rows = rolled[0].Rows }}, now, `the sums of 2026-03-02T05:00:00Z`},
		{"sums of a day lack rows", lying{Store: s, rolled: func(rolled []ledger.Rolled) { rolled[len(rolled)-1].Rows = nil }}, now, `the sums of the day 2026-03-02`},
		{"what was spent", forgetful{s}, start.AddDate(0, 0, 10), `budgets of key "k" and owner "" go on from 20`},
	} {
		got, err := reconcile.Check(t.Context(), reconcile.Checking{Store: test.store, Now: test.now})
		if err != nil || got.Good() || len(got.Sums) == 0 || !strings.Contains(got.Sums[0], test.says) {
			t.Errorf("%s: %+v, %v", test.name, got, err)
		}
	}
}

// A check that is broken off goes on where it was, with what it had found.
func TestCheckGoesOn(t *testing.T) {
	wrong, late := entry(1, "a", "x"), entry(50, "a", "x")
	wrong.Price = ""
	s, _ := opened(t, wrong, entry(30, "a", "x"), late)
	broken := errors.New("broken off")
	var had *reconcile.Checked
	days := 0
	_, err := reconcile.Check(t.Context(), reconcile.Checking{Store: s, Now: now, After: func(c *reconcile.Checked) error {
		if days++; days == 2 {
			copied := *c
			had = &copied
			return broken
		}
		return nil
	}})
	if !errors.Is(err, broken) || had.Entries != 2 || len(had.Wrong) != 1 || !had.Next.Before(late.Start) {
		t.Fatalf("%+v, %v", had, err)
	}
	days = 0
	got, err := reconcile.Check(t.Context(), reconcile.Checking{Store: s, Now: now.Add(time.Hour), From: had, After: func(*reconcile.Checked) error { days++; return nil }})
	if err != nil || got.Entries != 3 || len(got.Wrong) != 1 || !got.Until.Equal(now) || days != 2 {
		t.Errorf("%+v, %v, %d days", got, err, days)
	}
}
