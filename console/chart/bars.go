package chart

import (
	"fmt"
	"math"
	"strings"
)

// Bars is a bar for each value, from left to right.
type Bars struct {
	Title, Description string
	// Labels and Values belong together by their index.
	Labels []string
	Values []float64
	// Format writes a value for people.
	Format func(float64) string
}

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
	most := 0.0
	for i, v := range b.Values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			b.Values[i], v = 0, 0
		}
		most = max(most, v)
	}
	most = nice(most)
	height := barsHeight - barsBottom - barsTop
	for _, part := range []float64{0, 0.5, 1} {
		y := barsTop + height*(1-part)
		fmt.Fprintf(&out, `<line class="grid" x1="%s" x2="%s" y1="%s" y2="%s"/>`, number(barsLeft), number(barsWidth), number(y), number(y))
		if most > 0 || part == 0 {
			fmt.Fprintf(&out, `<text class="axis" x="%s" y="%s" text-anchor="end">%s</text>`, number(barsLeft-6), number(y+4), text(b.Format(most*part)))
		}
	}
	if n := len(b.Values); n > 0 {
		step := (barsWidth - barsLeft) / float64(n)
		each := (n + maxLabels - 1) / maxLabels
		for i, v := range b.Values {
			h := 0.0
			if most > 0 {
				h = height * max(v, 0) / most
			}
			x := barsLeft + step*float64(i)
			fmt.Fprintf(&out, `<rect class="bar" x="%s" y="%s" width="%s" height="%s"><title>%s: %s</title></rect>`,
				number(x+step*0.1), number(barsTop+height-h), number(step*0.8), number(h), text(b.Labels[i]), text(b.Format(v)))
			if i%each == 0 {
				fmt.Fprintf(&out, `<text class="axis" x="%s" y="%s" text-anchor="middle">%s</text>`, number(x+step/2), number(barsHeight-6), text(b.Labels[i]))
			}
		}
	}
	out.WriteString(`</svg>`)
	return out.String()
}

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
