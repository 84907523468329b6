package ledger_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/genway/genway/core/ledger"
)

// A timeline is read as it was written, whatever texts are in it.
func TestTimelineRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.StringN(0, 20, 100), rapid.SampledFrom([]string{"", "=", "%", "%3", "a,b|c", "=x", "\x00", "鍵", "claude"}))
		at := rapid.Map(rapid.Int64Range(0, 1<<40), func(n int64) time.Duration { return time.Duration(n) * time.Microsecond })
		want := ledger.Timeline{Admitted: at.Draw(t, "admitted"), Settled: at.Draw(t, "settled")}
		if rapid.Bool().Draw(t, "limited") {
			want.Limits.Begin = at.Draw(t, "limits")
			want.Limits.End = want.Limits.Begin + at.Draw(t, "of limits") + time.Microsecond
		}
		if rapid.Bool().Draw(t, "routed") {
			want.Route.Begin = want.Admitted + at.Draw(t, "route")
			want.Route.End = want.Route.Begin + at.Draw(t, "of route") + time.Microsecond
		}
		for range rapid.IntRange(0, 4).Draw(t, "attempts") {
			want.Attempts = append(want.Attempts, ledger.Attempt{
				Upstream: text.Draw(t, "upstream"), Protocol: text.Draw(t, "protocol"), Model: text.Draw(t, "model"), Kind: text.Draw(t, "kind"), Reason: text.Draw(t, "reason"), Message: text.Draw(t, "message"),
				Begin: at.Draw(t, "begin"), Connected: at.Draw(t, "connected"), Headers: at.Draw(t, "headers"), FirstEvent: at.Draw(t, "first"), Released: at.Draw(t, "released"), End: at.Draw(t, "end"),
				Calls: rapid.Int64Range(0, 1<<40).Draw(t, "calls"), Status: rapid.IntRange(0, 999).Draw(t, "status"),
			})
		}
		e := &ledger.Entry{
			Request: ledger.Request{Model: text.Draw(t, "asked")},
			Result:  ledger.Result{Upstream: text.Draw(t, "last"), UpstreamProtocol: text.Draw(t, "its protocol"), Kind: text.Draw(t, "its kind"), Reason: text.Draw(t, "its reason")},
		}
		e.Timeline = string(ledger.AppendTimeline(nil, &want, &e.Request, &e.Result))
		got, ok := ledger.ParseTimeline(e)
		if !ok || !cmp.Equal(got, want) {
			t.Fatalf("%s: %v %s", e.Timeline, ok, cmp.Diff(want, got))
		}
	})
}

// What many attempts with long texts say stays within a record of the journal.
func TestTimelineIsBounded(t *testing.T) {
	long := strings.Repeat("鍵", 1000)
	many := ledger.Timeline{Settled: 1 << 62}
	for range 100 {
		many.Attempts = append(many.Attempts, ledger.Attempt{Upstream: long, Protocol: long, Model: long, Kind: long, Reason: long, Message: long, End: 1 << 62, Calls: 1 << 62})
	}
	e := &ledger.Entry{}
	e.Timeline = string(ledger.AppendTimeline(nil, &many, &e.Request, &e.Result))
	got, ok := ledger.ParseTimeline(e)
	if len(e.Timeline) > 9<<10 || !ok || len(got.Attempts) == 0 || len(got.Attempts) > ledger.MaxAttempts {
		t.Errorf("%d bytes, %d attempts, %v", len(e.Timeline), len(got.Attempts), ok)
	}
}

// A text that this version did not write is no timeline, and is no error.
func FuzzParseTimeline(f *testing.F) {
	for _, text := range []string{"", "1", "1,,", "2,a,b", "1,a,b|=,=,=,,,1,,,,,2,1,5k", "1,zzzzzzzzzzzzzzzz,-1|", "1,a,b|%,%%,%z,,,,,,,,,,", "1,a,b,c,d,e,f|", "1,zzzzzzzzzzz,b,zzzzzzzzzzz,zzzzzzzzzzz,zzzzzzzzzzz,zzzzzzzzzzz", "1,a,b,-1,5,-1,5,9,9|"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := ledger.ParseTimeline(&ledger.Entry{Result: ledger.Result{Timeline: text}})
		if !ok && len(got.Attempts)+int(got.Admitted)+int(got.Settled) > 0 {
			t.Errorf("%q: %+v", text, got)
		}
		if got.Admitted < 0 || got.Settled < 0 || got.Limits.Begin < 0 || got.Limits.End < got.Limits.Begin || got.Route.Begin < 0 || got.Route.End < got.Route.Begin {
			t.Errorf("%q: %+v", text, got)
		}
	})
}

// V19: what versions before the stages of limits and routes wrote reads as before, and a version that
// knows no stages finds what it knows where it was.
func TestTimelineOfOlderVersions(t *testing.T) {
	old := &ledger.Entry{Result: ledger.Result{Upstream: "u", Timeline: "1,a,2s|=,,m,,,b,c,d,,,e,1,5k"}}
	got, ok := ledger.ParseTimeline(old)
	want := ledger.Timeline{Admitted: 10 * time.Microsecond, Settled: 100 * time.Microsecond, Attempts: []ledger.Attempt{{
		Upstream: "u", Model: "m", Begin: 11 * time.Microsecond, Connected: 12 * time.Microsecond, Headers: 13 * time.Microsecond, End: 14 * time.Microsecond, Calls: 1, Status: 200,
	}}}
	if !ok || !cmp.Equal(got, want) {
		t.Fatal(cmp.Diff(want, got))
	}
	if text := string(ledger.AppendTimeline(nil, &want, &old.Request, &old.Result)); text != old.Timeline {
		t.Errorf("without stages it is %s", text)
	}
	want.Limits = ledger.Stage{Begin: 2 * time.Microsecond, End: 5 * time.Microsecond}
	want.Route = ledger.Stage{Begin: 10 * time.Microsecond, End: 11 * time.Microsecond}
	if text := string(ledger.AppendTimeline(nil, &want, &old.Request, &old.Result)); text != "1,a,2s,2,3,,1|=,,m,,,b,c,d,,,e,1,5k" {
		t.Errorf("with stages it is %s", text)
	}
}
