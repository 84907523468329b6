//go:build unix

package shared

import (
	"testing"
	"time"

	"github.com/genway/genway/core/amount"
	"github.com/genway/genway/core/limit"
	"github.com/genway/genway/test/servers"
	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"
)

// arithmetic runs one of the scripts' functions.
var arithmetic = redis.NewScript(amountText + meterText + `
local v = {}
for i = 2, #ARGV do v[i - 1] = tonumber(ARGV[i]) end
local m = {f = v[1], p = v[2], b = v[3], r = v[4]}
if ARGV[1] == 'after' then m = after(m, v[5], v[6], v[7])
elseif ARGV[1] == 'back' then m = back(m, v[5], v[6], v[7], v[8], v[9])
else return {wait(m, v[5])} end
return {m.f, m.p, m.b, m.r}`)

// extremes are figures that leave an int64 or a floating-point number when they are
// multiplied or added.
var extremes = []int64{limit.MaxFigure - 1, limit.MaxFigure, limit.MaxTokens, limit.MaxTokens + 1, 1 << 40, 5e15, amount.Exact - 1, amount.Exact}

// The scripts reckon as limit.Meter does, to the last microsecond, and no figure locks a
// meter for more than a day.
func TestScriptsReckonAsMeters(t *testing.T) {
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: servers.SharedRedis(t).Socket()})
	defer client.Close()
	const now = 1_800_000_000_000_000
	rapid.Check(t, func(t *rapid.T) {
		run := func(args ...any) []int64 {
			got, err := arithmetic.Run(t.Context(), client, nil, args...).Int64Slice()
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		figure := func(name string, most int64) int64 {
			return rapid.OneOf(rapid.Int64Range(0, 1000), rapid.Int64Range(0, most), rapid.SampledFrom(extremes)).Draw(t, name)
		}
		m := limit.Meter{}
		var mark limit.Mark
		at := int64(now)
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			at += min(figure("pause", 100_000_000), 100_000_000)
			rate := rapid.OneOf(rapid.Int64Range(1, 100), rapid.Int64Range(1, limit.MaxFigure)).Draw(t, "rate")
			if m.Rate > 0 && rapid.IntRange(0, 3).Draw(t, "same") > 0 {
				rate = m.Rate
			}
			var want limit.Meter
			var got []int64
			if m.Rate > 0 && rapid.Bool().Draw(t, "back") {
				n := figure("n", m.Rate)
				want = m.Back(n, mark, at)
				got = run("back", m.Free, m.Part, m.Returned, m.Rate, n, mark.Free, mark.Part, mark.Returned, at)
			} else {
				n := figure("n", rate)
				want = m.After(n, rate, at)
				got = run("after", m.Free, m.Part, m.Returned, m.Rate, n, rate, at)
				mark = limit.Mark{Free: want.Free, Part: want.Part, Returned: want.Returned}
			}
			if want.Free-at > 24*time.Hour.Microseconds()+time.Minute.Microseconds() {
				t.Fatalf("%+v is locked for %v", want, time.Duration(want.Free-at)*time.Microsecond)
			}
			if is := (limit.Meter{Free: got[0], Part: got[1], Returned: got[2], Rate: got[3]}); is != want {
				t.Fatalf("%+v, want %+v", is, want)
			}
			m = want
			if w := run("wait", m.Free, m.Part, m.Returned, m.Rate, at); w[0] != m.Wait(at) {
				t.Fatalf("wait %d, want %d", w[0], m.Wait(at))
			}
		}
	})
}
