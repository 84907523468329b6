package console

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// money writes nano-dollars as dollars: two digits behind the point, or as many as a small sum needs.
func money(nano int64) string {
	d := float64(nano) / 1e9
	switch {
	case nano == 0:
		return "$0"
	case d > -0.0001 && d < 0.0001:
		return "$" + strconv.FormatFloat(d, 'g', 2, 64)
	case d > -1 && d < 1:
		return "$" + strconv.FormatFloat(d, 'f', 4, 64)
	}
	whole := strconv.FormatFloat(d, 'f', 2, 64)
	point := strings.IndexByte(whole, '.')
	n, err := strconv.ParseInt(whole[:point], 10, 64)
	if err != nil {
		return "$" + whole
	}
	return "$" + count(n) + whole[point:]
}

// count writes a figure with a thin space between groups of three digits.
func count(n int64) string {
	digits := strconv.FormatInt(n, 10)
	if n > -1000 && n < 1000 {
		return digits
	}
	sign := ""
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	var out strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			out.WriteRune('\u202f')
		}
		out.WriteRune(d)
	}
	return sign + out.String()
}

// percent writes a share of a whole; a dash where there is no whole.
func percent(part, whole int64) string {
	if whole == 0 {
		return "–"
	}
	return strconv.FormatFloat(100*float64(part)/float64(whole), 'f', 1, 64) + " %"
}

// change writes by how much a figure has grown since it was before, from ten times on as that; a dash where it was 0.
func change(before, now int64) string {
	if before == 0 {
		return "–"
	}
	grown := float64(now) / float64(before)
	if grown >= 10 {
		return fmt.Sprintf("× %.0f", grown)
	}
	return strings.Replace(fmt.Sprintf("%+.1f %%", 100*(grown-1)), "-", "\u2212", 1)
}

// size writes a number of bytes.
func size(n int64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprint(n, " B")
}

// fromBeginning is took for a scale, which begins with 0.
func fromBeginning(d time.Duration) string {
	if d == 0 {
		return "0"
	}
	return took(d)
}

// took writes a duration in the unit that suits it.
func took(d time.Duration) string {
	switch {
	case d >= time.Minute:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 2, 64) + " s"
	case d >= time.Millisecond:
		return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 1, 64) + " ms"
	case d > 0:
		return strconv.FormatInt(d.Microseconds(), 10) + " µs"
	}
	return "–"
}
