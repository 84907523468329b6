package report

import (
	"bytes"
	"fmt"
	"html"

	"github.com/genway/genway/test/bench/measure"
	"github.com/genway/genway/test/bench/target"
)

// The chart's measures, in pixels.
const (
	chartWidth = 860
	labelWidth = 330
	barHeight  = 12
	barStep    = 15
	groupGap   = 14
	topMargin  = 62
)

// colours are those of the bars, in turn.
var colours = []string{"#8a8f98", "#b7791f", "#2b8a8a", "#7ab8b8", "#2855c5", "#86a3ea", "#a23b72", "#5c7a29", "#c0562b", "#6b4fa0"}

// Chart returns an SVG of the cost of each workload in multiples of the reverse proxy. Less is better.
func Chart(records []measure.Record) []byte {
	all := runs(records)
	rows := costRows(all.kind(measure.KindRun).of(GroupMain, "", ""), all.kind(measure.KindMemory))
	var targets []target.Target
	for _, t := range all.kind(measure.KindRun).of(GroupMain, "", "").targets() {
		if t.Name != target.Direct && t.Name != target.WholeBodies {
			targets = append(targets, t)
		}
	}
	most := 1.0
	for _, row := range rows {
		for _, t := range targets {
			if times, ok := row.multiple(t.Name); ok {
				most = max(most, times)
			}
		}
	}
	scale := (chartWidth - labelWidth - 60) / most
	height := topMargin + len(rows)*(len(targets)*barStep+groupGap)
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="CPU time in multiples of Go's ReverseProxy">`+"\n", chartWidth, height, chartWidth, height)
	out.WriteString("<style>text{font:12px sans-serif;fill:#1f2328}.small{font-size:11px}line{stroke:#8a8f98;stroke-dasharray:3 3}@media(prefers-color-scheme:dark){text{fill:#e6edf3}}</style>\n")
	text := func(x, y float64, more, label string) {
		fmt.Fprintf(&out, `<text x="%.1f" y="%.1f"%s>%s</text>`+"\n", x, y, more, html.EscapeString(label))
	}
	text(8, 18, ` font-weight="bold"`, "CPU time in multiples of Go's ReverseProxy (less is better)")
	x := 8.0
	for i, t := range targets {
		fmt.Fprintf(&out, `<rect x="%.1f" y="32" width="10" height="10" fill="%s"/>`+"\n", x, colours[i%len(colours)])
		text(x+14, 41, ` class="small"`, t.Title)
		x += 26 + 6.1*float64(len(t.Title))
	}
	y := float64(topMargin)
	for _, row := range rows {
		text(8, y+float64(len(targets)*barStep)/2+4, ` class="small"`, row.Title)
		for i, t := range targets {
			if times, ok := row.multiple(t.Name); ok {
				fmt.Fprintf(&out, `<rect x="%d" y="%.1f" width="%.1f" height="%d" fill="%s"/>`+"\n", labelWidth, y, times*scale, barHeight, colours[i%len(colours)])
				text(labelWidth+times*scale+4, y+10, ` class="small"`, fmt.Sprintf("%.2f", times))
			}
			y += barStep
		}
		y += groupGap
	}
	fmt.Fprintf(&out, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d"/>`+"\n</svg>\n", labelWidth+scale, topMargin-6, labelWidth+scale, height-groupGap)
	return out.Bytes()
}
