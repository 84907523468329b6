package chart

import (
	"fmt"
	"math"
	"strings"
)

// Bars is a bar for each label, from left to right, of the values of one series or of several stacked upon each other.
type Bars struct {
	Title, Description string
	Labels             []string
	Series             []Series
	// Format writes a value for people.
	Format func(float64) string
}

// Series is a value for each label. The first is at the bottom.
type Series struct {
	// Name is in the title of each of its parts of a bar; empty is of no name.
	Name   string
	Values []float64
}

// SeriesShades is how many series of a chart have a shade of their own.
const SeriesShades = 8

// Measures of a chart of bars, in units of its viewBox.
const (
	barsWidth, barsHeight = 1000.0, 200.0
	barsLeft, barsBottom  = 64.0, 24.0
	barsTop               = 12.0
	// maxLabels is how many labels there are below, at most.
	maxLabels = 12
)

// SVG draws them. Values below 0 are drawn as 0, and what is no number is 0.
func (b Bars) SVG() string {
	var out strings.Builder
	open(&out, "bars", barsWidth, barsHeight, b.Title, b.Description)
	top := 0.0
	for i := range b.Labels {
		sum := 0.0
		for _, s := range b.Series {
			sum = min(sum+height(s.Values[i]), math.MaxFloat64)
		}
		top = max(top, sum)
	}
	top = nice(top)
	full := barsHeight - barsBottom - barsTop
	for _, part := range []float64{0, 0.5, 1} {
		y := barsTop + full*(1-part)
		fmt.Fprintf(&out, `<line class="grid" x1="%s" x2="%s" y1="%s" y2="%s"/>`, number(barsLeft), number(barsWidth), number(y), number(y))
		if top > 0 || part == 0 {
			fmt.Fprintf(&out, `<text class="axis" x="%s" y="%s" text-anchor="end">%s</text>`, number(barsLeft-6), number(y+4), text(b.Format(top*part)))
		}
	}
	if n := len(b.Labels); n > 0 {
		step := (barsWidth - barsLeft) / float64(n)
		each := (n + maxLabels - 1) / maxLabels
		for i, label := range b.Labels {
			x, y := barsLeft+step*float64(i), barsTop+full
			for shade, s := range b.Series {
				h := 0.0
				if top > 0 {
					h = full * height(s.Values[i]) / top
				}
				if h == 0 && len(b.Series) > 1 {
					continue
				}
				y -= h
				title := label + ": " + b.Format(finite(s.Values[i]))
				if s.Name != "" {
					title = label + ", " + s.Name + ": " + b.Format(finite(s.Values[i]))
				}
				fmt.Fprintf(&out, `<rect class="bar series%d" x="%s" y="%s" width="%s" height="%s"><title>%s</title></rect>`,
					shade%SeriesShades, number(x+step*0.1), number(y), number(step*0.8), number(h), text(title))
			}
			if i%each == 0 {
				fmt.Fprintf(&out, `<text class="axis" x="%s" y="%s" text-anchor="middle">%s</text>`, number(x+step/2), number(barsHeight-6), text(label))
			}
		}
	}
	out.WriteString(`</svg>`)
	return out.String()
}

// finite returns a value, and 0 for what is no number.
func finite(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}

// height returns what is drawn of a value.
func height(v float64) float64 { return max(finite(v), 0) }

// nice returns the least figure from a value on that is easy to read: a digit with zeros, whose half is as easy.
func nice(v float64) float64 {
	if v <= 0 {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(v)))
	for _, step := range []float64{1, 2, 3, 4, 5, 6, 8, 10} {
		if top := step * unit; v <= top && !math.IsInf(top, 0) {
			return top
		}
	}
	return v
}
