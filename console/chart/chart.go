// Package chart draws charts as SVG: text alone, without scripts or styles of their own. Each has
// a title and a description for those who do not see it, and classes by which a style sheet
// colors it. Callers show the same figures as a table beside it.
package chart

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

// text escapes a text for SVG. Characters that XML has no place for are replaced.
func text(s string) string {
	return html.EscapeString(strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' {
			return '\uFFFD'
		}
		return r
	}, s))
}

// number writes a coordinate: a tenth of a unit is enough.
func number(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "0"
	}
	return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
}

// open begins a chart.
func open(out *strings.Builder, class string, width, height float64, title, description string) {
	fmt.Fprintf(out, `<svg class="chart %s" viewBox="0 0 %s %s" role="img"><title>%s</title><desc>%s</desc>`,
		class, number(width), number(height), text(title), text(description))
}
