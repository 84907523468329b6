package cluster

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/rows"
	"github.com/genway/genway/test/conformance/vendors"
)

// A budget is exact unless a core was without the limits, and then over by its share of what was
// left at most.
func TestP23Settle(t *testing.T) {
	begun := time.Now()
	at := func(seconds float64) time.Time { return begun.Add(time.Duration(seconds * float64(time.Second))) }
	requests, ledger := map[int]asked{}, []rows.Row{}
	for n := range 12 { // of 1,000,000 each, one a second
		requests[n] = asked{n: n, budget: 1, begun: at(float64(n)), ended: at(float64(n) + 0.1)}
		ledger = append(ledger, rows.Row{Model: vendors.Model(vendors.Answer, "x", n), Outcome: "ok", Cost: 1_000_000})
	}
	windows := []window{{begun: at(2), end: at(12)}}
	for name, test := range map[string]struct {
		limit int64
		phase phase
		alone []episode
		above int64
		exact bool
	}{
		"spent exactly":                       {12_000_000, phase{}, nil, 0, true},
		"less than a reservation is left":     {14_000_000, phase{}, nil, 0, true},
		"more than a reservation is left":     {14_300_000, phase{}, nil, 0, false},
		"one too many":                        {11_999_999, phase{}, nil, 0, false},
		"half of the 6,000,000 that was left": {10_000_000, phase{}, []episode{{at(4.5), at(6), []int{0, 4}}}, 3_000_000, true},
		"more than that":                      {8_000_000, phase{}, []episode{{at(4.5), at(6), []int{0, 4}}}, 2_000_000, false},
		"half of what was left long before":   {8_000_000, phase{}, []episode{{at(6.5), at(8), []int{0, 99}}}, 4_000_000, true},
		"half of all, which was never read":   {8_000_000, phase{}, []episode{{at(6.5), at(8), []int{99}}}, 4_000_000, true},
		"an episode of another time":          {11_000_000, phase{}, []episode{{at(13), at(14), []int{11}}}, 0, false},
		"all cores alone":                     {8_000_000, phase{forgets: true}, []episode{{at(2), at(6), []int{1}}, {at(2), at(6), []int{1}}, {at(2), at(6), []int{1}}}, 3_500_000 + 2_000_000, true},
		"a killed core":                       {11_000_000, phase{kills: true}, nil, 2_000_000, true},
	} {
		b := settle([]budget{{limit: test.limit}}, []phase{test.phase}, windows, requests, ledger, test.alone)[0]
		if b.spent != 12_000_000 || b.above != test.above || b.exact() != test.exact {
			t.Errorf("%s: %+v, exact: %v", name, b, b.exact())
		}
	}
}

// What a core asked the limits for is what it answered while it had them.
func TestP23Episodes(t *testing.T) {
	begun := time.Now()
	line := func(seconds int, rest string) string {
		return fmt.Sprintf(`{"time":%q,%s}`+"\n", begun.Add(time.Duration(seconds)*time.Second).Format(time.RFC3339Nano), rest)
	}
	answer := func(seconds, n int) string {
		return line(seconds, fmt.Sprintf(`"msg":"request","asked_model":%q`, budgeted("", n).Model))
	}
	away, back := `"msg":"the shared store of limits does not answer"`, `"msg":"the shared store of limits answers again"`
	all, err := episodes([]byte(answer(1, 7) + line(1, `"msg":"request","asked_model":"other-8"`) + answer(2, 9) + line(3, away) + answer(4, 10) + line(5, back) + answer(6, 11) + line(7, away)))
	if err != nil || len(all) != 2 || !slices.Equal(all[0].before, []int{7, 9}) || !slices.Equal(all[1].before, []int{7, 9, 11}) {
		t.Fatalf("%+v, %v", all, err)
	}
	requests := map[int]asked{7: {budget: 1, begun: begun}, 9: {budget: 2, begun: begun.Add(time.Second)}, 10: {budget: 1, begun: begun.Add(3 * time.Second)}}
	if last := all[1].lastRead(requests, 1); !last.Equal(begun) {
		t.Errorf("the limits were read last %v after the begin", last.Sub(begun))
	}
}

// The books are wrong for each way in which a row, an answer and a vendor can disagree.
func TestP24Books(t *testing.T) {
	for name, test := range map[string]struct {
		asked []asked
		rows  []rows.Row
		want  string
	}{
		"a row of nobody's request":     {nil, []rows.Row{{Model: "answer-x-1", Outcome: "ok"}}, "rows of requests that nobody made"},
		"a whole answer without a row":  {[]asked{{n: 1}}, nil, "requests without a row"},
		"a whole answer that is failed": {[]asked{{n: 1}}, []rows.Row{{Model: "answer-x-1", Outcome: "failed"}}, "answers that were whole, of which the row says otherwise"},
		"an open row":                   {[]asked{{n: 1, kind: event}}, []rows.Row{{Model: "answer-x-1", Outcome: "open"}}, "rows that are open in the end"},
		"two rows":                      {[]asked{{n: 1, kind: event}}, []rows.Row{{Model: "answer-x-1", Outcome: "failed"}, {Model: "answer-x-1", Outcome: "interrupted"}}, "requests with several rows"},
		"figures of another request":    {[]asked{{n: 1, kind: event}}, []rows.Row{{Model: "answer-x-1", Outcome: "ok", Input: 1}}, "rows with other figures than the vendors'"},
		"told complete and cut":         {[]asked{{n: 1}}, []rows.Row{{Model: "answer-x-1", Outcome: "ok", Input: 11, Output: 2, Cost: vendors.Cost(11, 2)}}, "answers that were told complete and are not"},
	} {
		requests := map[int]asked{}
		for _, a := range test.asked {
			requests[a.n] = a
		}
		var c complaints
		check(requests, test.rows, vendors.Start(t), &c)
		if len(c.of[test.want]) != 1 {
			t.Errorf("%s: %v, want %q", name, c.of, test.want)
		}
	}
}

// A failure is allowed in the window of a phase that may have failures of its kind, and nowhere else.
func TestP25Windows(t *testing.T) {
	begun := time.Now()
	at := func(seconds int) time.Time { return begun.Add(time.Duration(seconds) * time.Second) }
	all, windows := []phase{{may: []string{"503"}}, {}}, []window{{begun: at(10), end: at(20)}, {begun: at(30), end: at(40)}}
	for _, test := range []struct {
		from, to int
		kind     string
		budget   int
		want     bool
	}{
		{11, 12, "503", 0, true}, {1, 12, "503", 0, true}, {19, 25, "503", 0, true}, {21, 22, "503", 0, false}, {8, 9, "503", 0, false},
		{31, 32, "503", 0, false}, {11, 12, event, 0, false}, {11, 12, silent, 0, false}, {31, 32, overBudget, 2, true}, {31, 32, overBudget, 0, false},
	} {
		if got := allows(all, windows, asked{begun: at(test.from), ended: at(test.to), kind: test.kind, budget: test.budget}); got != test.want {
			t.Errorf("%+v: %v", test, got)
		}
	}
}

// The timeline is well-formed, whatever the names, and has a bar for each second with failures.
func TestP26Timeline(t *testing.T) {
	begun := time.Now()
	r := &report{begun: begun, took: 10 * time.Second, what: []phase{{name: "a & <b>"}}, windows: []window{{begun: begun.Add(prelude)}}}
	for i := range 10 {
		r.asked = append(r.asked, asked{begun: begun, ended: begun.Add(time.Duration(i) * time.Second), kind: []string{whole, event}[i/8]})
	}
	picture := r.timeline()
	decoder := xml.NewDecoder(strings.NewReader(picture))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if bars := strings.Count(picture, `fill="#c0392b"/>`); bars != 2 {
		t.Errorf("%d seconds with failures, want 2", bars)
	}
	if page := r.pageOf(t); !strings.Contains(page, "| a & <b> | 10 | 10 | 2 error event |") {
		t.Error(page)
	}
}

// pageOf is the page of a report that lacks the bills.
func (r *report) pageOf(t *testing.T) string {
	t.Helper()
	r.bills = make([]bill, len(r.what))
	return r.page()
}
