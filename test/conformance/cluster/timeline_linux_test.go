package cluster

import (
	"fmt"
	"html"
	"slices"
	"strconv"
	"strings"
	"time"
)

// second is what ended in one second of a run.
type second struct {
	whole, failed int
	took          []time.Duration
}

// timeline draws a run, second by second, as SVG: answers and failures, the 99th percentile of what
// answers took, and the phases.
func (r *report) timeline() string {
	seconds := make([]second, int(r.took.Seconds())+1)
	for _, a := range r.asked {
		i := int(a.ended.Sub(r.begun).Seconds())
		switch {
		case i < 0 || i >= len(seconds) || a.kind == overBudget:
		case a.kind != whole:
			seconds[i].failed++
		default:
			seconds[i].whole++
			if !a.drip {
				seconds[i].took = append(seconds[i].took, a.ended.Sub(a.begun))
			}
		}
	}
	most, slowest := 1, time.Millisecond
	slow := make([]time.Duration, len(seconds))
	for i, s := range seconds {
		slices.Sort(s.took)
		slow[i] = quantile(s.took, 0.99)
		most, slowest = max(most, s.whole+s.failed), max(slowest, slow[i])
	}
	const left, width, high = 60, 1100, 160
	x := func(at float64) float64 { return left + at*width/float64(len(seconds)) }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d 620" font-family="sans-serif" font-size="11">`+"\n", left+width+20)
	b.WriteString(`<rect width="100%" height="100%" fill="white"/>` + "\n")
	for i, p := range r.what {
		from := r.windows[i].begun.Add(-prelude).Sub(r.begun).Seconds()
		to := float64(len(seconds))
		if i+1 < len(r.what) {
			to = r.windows[i+1].begun.Add(-prelude).Sub(r.begun).Seconds()
		}
		fmt.Fprintf(&b, `<rect x="%.1f" y="20" width="%.1f" height="%d" fill="%s"/>`+"\n", x(from), x(to)-x(from), 2*high+40, []string{"#f2f2f2", "#ffffff"}[i%2])
		middle := (x(from) + x(to)) / 2
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" transform="rotate(-55 %.1f %d)" text-anchor="end">%s</text>`+"\n", middle, 2*high+90, middle, 2*high+90, html.EscapeString(p.name))
	}
	panel := func(top int, title, most string) {
		fmt.Fprintf(&b, `<text x="%d" y="%d">%s</text><text x="%d" y="%d" text-anchor="end">%s</text><text x="%d" y="%d" text-anchor="end">0</text><path d="M%d %dV%dH%d" fill="none" stroke="#333"/>`+"\n",
			left+4, top-6, title, left-4, top+10, most, left-4, top+high, left, top, top+high, left+width)
	}
	bar := func(i, bottom, from, height int, colour string) {
		if height > 0 {
			scale := float64(high) / float64(most)
			fmt.Fprintf(&b, `<rect x="%.2f" y="%.1f" width="%.2f" height="%.1f" fill="%s"/>`+"\n", x(float64(i)), float64(bottom)-float64(from+height)*scale, max(0.5, width/float64(len(seconds))-0.3), float64(height)*scale, colour)
		}
	}
	panel(30, `answers each second, <tspan fill="#c0392b">failures</tspan>`, strconv.Itoa(most))
	for i, s := range seconds {
		bar(i, 30+high, 0, s.whole, "#4a7fb5")
		bar(i, 30+high, s.whole, s.failed, "#c0392b")
	}
	const second = 30 + high + 30
	panel(second, "99th percentile of what whole answers took", milliseconds(slowest))
	b.WriteString(`<polyline fill="none" stroke="#7d3c98" points="`)
	for i, d := range slow {
		fmt.Fprintf(&b, "%.1f,%.1f ", x(float64(i)+0.5), second+high-float64(high)*float64(d)/float64(slowest))
	}
	b.WriteString("\"/>\n")
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%d s</text>`+"\n</svg>\n", left+width, second+high+14, len(seconds)-1)
	return b.String()
}
