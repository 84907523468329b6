package amount_test

import (
	"fmt"
	"testing"

	"github.com/genway/genway/internal/amount"
)

// Each amount is read as it is written, or refused with what to write instead.
func TestAmounts(t *testing.T) {
	for text, want := range map[string]string{
		"90s": "1m30s", "1h30m": "1h30m0s", "30d": "720h0m0s", "1d12h": "36h0m0s", "0": "0s", "0d": "0s", "-5s": "-5s", "-1d": "-24h0m0s", "1.5h": "1h30m0s",
		"30": `"30" has no unit; write 30s, 30m or 30h`, "": `"" is no duration; write 90s, 5m, 1h30m or 30d`, "soon": `"soon" is no duration; write 90s, 5m, 1h30m or 30d`,
		"1.5d": `"1.5d" is no duration; write 90s, 5m, 1h30m or 30d`, "d": `"d" is no duration; write 90s, 5m, 1h30m or 30d`, "1d-5h": `"1d-5h" is no duration; write 90s, 5m, 1h30m or 30d`,
		"1d+5h": `"1d+5h" is no duration; write 90s, 5m, 1h30m or 30d`, "-1d5h": `"-1d5h" is no duration; write 90s, 5m, 1h30m or 30d`, "1d1d": `"1d1d" is no duration; write 90s, 5m, 1h30m or 30d`,
		"106752d": `"106752d" is no duration; write 90s, 5m, 1h30m or 30d`, "106751d": "2562024h0m0s", "106751d24h": `"106751d24h" is no duration; write 90s, 5m, 1h30m or 30d`,
		"9223372036854775807d": `"9223372036854775807d" is no duration; write 90s, 5m, 1h30m or 30d`, "NaN": `"NaN" is no duration; write 90s, 5m, 1h30m or 30d`, "5 m": `"5 m" is no duration; write 90s, 5m, 1h30m or 30d`,
	} {
		t.Run("duration "+text, func(t *testing.T) { check(t, want, amount.Duration, text) })
	}
	for text, want := range map[string]string{
		"65536": "65536", "64KiB": "65536", "64 MiB": "67108864", "1GiB": "1073741824", "64MB": "64000000", "1kB": "1000", "7B": "7", "-1": "-1", "0": "0",
		"9223372036854775807": "9223372036854775807",
		"8589934592GiB":       `"8589934592GiB" is no number of bytes; write 65536, 64KiB, 64MiB or 1GiB`, "1.5GiB": `"1.5GiB" is no number of bytes; write 65536, 64KiB, 64MiB or 1GiB`,
		"": `"" is no number of bytes; write 65536, 64KiB, 64MiB or 1GiB`, "MiB": `"MiB" is no number of bytes; write 65536, 64KiB, 64MiB or 1GiB`, "64M": `"64M" is no number of bytes; write 65536, 64KiB, 64MiB or 1GiB`,
		"1e6": `"1e6" is no number of bytes; write 65536, 64KiB, 64MiB or 1GiB`, "9223372036854775808": `"9223372036854775808" is no number of bytes; write 65536, 64KiB, 64MiB or 1GiB`,
	} {
		t.Run("bytes "+text, func(t *testing.T) { check(t, want, amount.Bytes, text) })
	}
	for text, want := range map[string]string{
		"0.7": "0.7", "70%": "0.7", "0": "0", "100%": "1", "-1": "-1", "1e-3": "0.001",
		"NaN": `"NaN" is no share; write 0.7 or 70%`, "Inf": `"Inf" is no share; write 0.7 or 70%`, "%": `"%" is no share; write 0.7 or 70%`, "70 %": `"70 %" is no share; write 0.7 or 70%`, "": `"" is no share; write 0.7 or 70%`,
	} {
		t.Run("share "+text, func(t *testing.T) { check(t, want, amount.Share, text) })
	}
	for text, want := range map[string]string{"30": "30", "30d": "30", "-1": "-1", "30dd": `"30dd" is no number of days; write 30 or 30d`, "1.5": `"1.5" is no number of days; write 30 or 30d`, "": `"" is no number of days; write 30 or 30d`} {
		t.Run("days "+text, func(t *testing.T) { check(t, want, amount.Days, text) })
	}
}

// check compares what was read, or the error, with a text.
func check[T any](t *testing.T, want string, read func(string) (T, error), text string) {
	t.Helper()
	value, err := read(text)
	got := fmt.Sprint(value)
	if err != nil {
		got = err.Error()
	}
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
