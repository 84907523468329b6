// Package amount reads amounts as people write them, the same in files, flags and forms: times, bytes and shares.
package amount

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Duration reads a time with its unit: 90s, 5m, 1h30m, 30d, 1d12h. A day has 24 hours.
func Duration(text string) (time.Duration, error) {
	days, rest := int64(0), text
	if before, after, found := strings.Cut(text, "d"); found {
		n, err := strconv.ParseInt(before, 10, 64)
		if err != nil || n > math.MaxInt64/int64(24*time.Hour) || n < -math.MaxInt64/int64(24*time.Hour) || n < 0 && after != "" {
			return 0, noDuration(text)
		}
		days, rest = n, after
	}
	d := time.Duration(days) * 24 * time.Hour
	if rest == "" && rest != text {
		return d, nil
	}
	clock, err := time.ParseDuration(rest)
	if err != nil || rest != text && (clock < 0 || strings.HasPrefix(rest, "+")) || clock > math.MaxInt64-d {
		return 0, noDuration(text)
	}
	return d + clock, nil
}

func noDuration(text string) error {
	if _, err := strconv.ParseUint(text, 10, 32); err == nil {
		return fmt.Errorf("%q has no unit; write %ss, %sm or %sh", text, text, text, text)
	}
	return fmt.Errorf("%.80q is no duration; write 90s, 5m, 1h30m or 30d", text)
}

// byteUnits are the units of bytes; the ones with an i are powers of 1024.
var byteUnits = []struct {
	name  string
	bytes int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1},
}

// Bytes reads a number of bytes: 65536, 64KiB, 64MiB, 1GiB, or 64MB of a million each.
func Bytes(text string) (int64, error) {
	number, unit := text, int64(1)
	for _, u := range byteUnits {
		if before, found := strings.CutSuffix(text, u.name); found {
			number, unit = strings.TrimSuffix(before, " "), u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n > math.MaxInt64/unit || n < math.MinInt64/unit {
		return 0, fmt.Errorf("%.80q is no number of bytes; write 65536, 64KiB, 64MiB or 1GiB", text)
	}
	return n * unit, nil
}

// Share reads a part of a whole: 0.7, or 70%.
func Share(text string) (float64, error) {
	number, percent := strings.CutSuffix(text, "%")
	share, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsNaN(share) || math.IsInf(share, 0) {
		return 0, fmt.Errorf("%.80q is no share; write 0.7 or 70%%", text)
	}
	if percent {
		share /= 100
	}
	return share, nil
}

// Days reads a number of whole days: 30, or 30d.
func Days(text string) (int, error) {
	n, err := strconv.Atoi(strings.TrimSuffix(text, "d"))
	if err != nil {
		return 0, fmt.Errorf("%.80q is no number of days; write 30 or 30d", text)
	}
	return n, nil
}
