package console

import (
	"testing"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

func TestFormats(t *testing.T) {
	for nano, want := range map[int64]string{0: "$0", 1: "$1e-09", 50_000: "$5e-05", 1_234_567: "$0.0012", 999_999_999: "$1.0000", 12_500_000_000: "$12.50", 1_234_567_890_000_000: "$1\u202f234\u202f567.89", -2_000_000_000: "$-2.00", 1<<63 - 1: "$9\u202f223\u202f372\u202f036.85"} {
		if got := money(nano); got != want {
			t.Errorf("money(%d) = %s, want %s", nano, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1\u202f000", -1234567: "-1\u202f234\u202f567", -1 << 63: "-9\u202f223\u202f372\u202f036\u202f854\u202f775\u202f808"} {
		if got := count(n); got != want {
			t.Errorf("count(%d) = %s, want %s", n, got, want)
		}
	}
	for n, want := range map[int64]string{-5: "-5", 0: "0", 9999: "9\u202f999", 10_000: "10.0 k", 999_999: "1000.0 k", 12_345_678: "12.3 M", 1<<63 - 1: "9223372.0 T"} {
		if got := short(n); got != want {
			t.Errorf("short(%d) = %s, want %s", n, got, want)
		}
	}
	for figures, want := range map[[2]int64]string{{0, 5}: "–", {0, 0}: "–", {4, 5}: "+25.0 %", {4, 0}: "\u2212100.0 %", {4, 4}: "+0.0 %", {10, 99}: "+890.0 %", {10, 100}: "× 10", {1, 1<<63 - 1}: "× 9223372036854775808"} {
		if got := change(figures[0], figures[1]); got != want {
			t.Errorf("change(%d, %d) = %s, want %s", figures[0], figures[1], got, want)
		}
	}
	for cell, want := range map[string]string{"a": "a", "": "", "=1+1": "'=1+1", "+1": "'+1", "@x": "'@x", "-5": "-5", "-5.2": "-5.2", "-cmd": "'-cmd", "\tx": "'\tx"} {
		if got := cellText(cell); got != want {
			t.Errorf("%q: %q, want %q", cell, got, want)
		}
	}
}

// A target of several is shown with its share of the load.
func TestWeighed(t *testing.T) {
	target := func(weight int32) *adminv1.RouteTarget { return &adminv1.RouteTarget{Weight: weight} }
	three, one := target(3), target(1)
	for _, c := range []struct {
		of   *adminv1.RouteTarget
		all  []*adminv1.RouteTarget
		want string
	}{
		{three, []*adminv1.RouteTarget{three, one}, "75.0 %"}, {one, []*adminv1.RouteTarget{one}, ""},
		{target(0), []*adminv1.RouteTarget{target(0), target(0)}, ""}, {target(1<<31 - 1), []*adminv1.RouteTarget{target(1<<31 - 1), target(1<<31 - 1)}, "50.0 %"},
	} {
		if got := weighed(c.of, c.all); got != c.want {
			t.Errorf("%v of %v: %s", c.of, c.all, got)
		}
	}
}

// A request that was tried again says why it moved on, in words.
func TestAttemptRows(t *testing.T) {
	attempt := func(upstream string, kind genwayv1.ErrorKind, reason string) *adminv1.RequestAttempt {
		return &adminv1.RequestAttempt{Upstream: upstream, Kind: kind, Reason: reason}
	}
	resp := &adminv1.GetRequestResponse{Timeline: &adminv1.RequestTimeline{Attempts: []*adminv1.RequestAttempt{
		attempt("a", genwayv1.ErrorKind_ERROR_KIND_INVALID_REQUEST, "CONTEXT_LENGTH_EXCEEDED"), attempt("b", genwayv1.ErrorKind_ERROR_KIND_OVERLOADED, "x"), attempt("c", -1, ""), attempt("d", 0, ""),
	}}}
	want := []string{"b was tried, since the prompt is longer than its context window", "c was tried, since it is overloaded", "d was tried, since it failed", "answered the caller"}
	for i, row := range attemptRows(resp) {
		if row.Then != want[i] {
			t.Errorf("%d: %q, want %q", i, row.Then, want[i])
		}
	}
	resp.Timeline.Attempts = resp.Timeline.Attempts[:1]
	if rows := attemptRows(resp); len(rows) != 1 || rows[0].Then != "the caller got this failure" {
		t.Errorf("%+v", rows)
	}
}

func TestAuditWords(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "{": "{", "[1]": "[1]", "{}": "",
		`{"group":"chat","name":"two","limits":{"budgets":[{"amount":5000000000,"period":"day"},{"amount":1,"period":"month"}],"concurrent":3}}`: "group chat, budget $5.00 a day, budget $1e-09 a month, requests at once 3, name two",
		`{"models":["a*","b"],"limits":{"requests_per_minute":9223372036854775807,"budgets":[]},"strict":false,"read_only":true,"owner":null}`:   "budgets none, requests per minute 9223372036854775807, models a* b, owner none, read only, not strict",
		`{"capture":{"until":"2030-01-01","redact":["x"]},"labels":{"a":"<b>"}}`:                                                                 "capture redact x, capture until 2030-01-01, labels a <b>",
		`{"amount":"x","period":"day"}`: "amount x, period day",
	} {
		if got := detailWords(text); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	for action, want := range map[string]string{"key.rotate": "key given a new secret", "configuration.reload": "configuration read again", "a.b": "a.b", "": ""} {
		if got := actionWords(action); got != want {
			t.Errorf("%s: %q", action, got)
		}
	}
	for _, g := range groups() {
		if g.Explained() == "" {
			t.Errorf("the group %s is not explained", g.Value)
		}
	}
}
