package chart

import (
	"fmt"
	"strings"
	"time"
)

// Waterfall is what happened when: a row for each stage, all on one scale of time.
type Waterfall struct {
	Title, Description string
	Stages             []Stage
	// Format writes a duration for people.
	Format func(time.Duration) string
}

// Stage is one row. One without a duration is a mark.
type Stage struct {
	Name string
	// Start is since the beginning of all.
	Start, Took time.Duration
	// Class colors it: ok, failed or wait.
	Class string
	// Part says that it is a part of the stage above that is none.
	Part bool
}

// Measures of a waterfall, in units of its viewBox.
const (
	fallWidth, fallLeft = 1000.0, 210.0
	fallRow, fallFoot   = 24.0, 22.0
	fallRight           = 70.0
)

// SVG draws it.
func (w Waterfall) SVG() string {
	var out strings.Builder
	height := fallRow*float64(len(w.Stages)) + fallFoot
	open(&out, "waterfall", fallWidth, height, w.Title, w.Description)
	var end time.Duration
	for _, s := range w.Stages {
		end = max(end, s.Start+s.Took)
	}
	end = max(end, 1)
	scale := (fallWidth - fallLeft - fallRight) / float64(end)
	for _, part := range []float64{0, 0.25, 0.5, 0.75, 1} {
		x := fallLeft + (fallWidth-fallLeft-fallRight)*part
		fmt.Fprintf(&out, `<line class="grid" x1="%s" x2="%s" y1="0" y2="%s"/>`, number(x), number(x), number(height-fallFoot))
		fmt.Fprintf(&out, `<text class="axis" x="%s" y="%s" text-anchor="middle">%s</text>`, number(x), number(height-6), text(w.Format(time.Duration(float64(end)*part))))
	}
	for i, s := range w.Stages {
		y := fallRow * float64(i)
		x, width := fallLeft+max(0, float64(s.Start))*scale, max(2, float64(s.Took)*scale)
		part, inset := "", 4.0
		if s.Part {
			part, inset = " part", 7.0
		}
		fmt.Fprintf(&out, `<text class="name%s" x="%s" y="%s" text-anchor="end">%s</text>`, part, number(fallLeft-8), number(y+16), text(shorten(s.Name)))
		fmt.Fprintf(&out, `<rect class="stage %s%s" x="%s" y="%s" width="%s" height="%s"><title>%s: from %s, took %s</title></rect>`,
			text(s.Class), part, number(x), number(y+inset), number(width), number(fallRow-2*inset), text(s.Name), text(w.Format(s.Start)), text(w.Format(s.Took)))
		if s.Took > 0 {
			fmt.Fprintf(&out, `<text class="took" x="%s" y="%s">%s</text>`, number(x+width+5), number(y+16), text(w.Format(s.Took)))
		}
	}
	out.WriteString(`</svg>`)
	return out.String()
}

// shorten keeps a name within its column.
func shorten(name string) string {
	const most = 26
	if runes := []rune(name); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return name
}
