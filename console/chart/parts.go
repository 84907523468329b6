package chart

import (
	"fmt"
	"strings"
)

// Parts is one bar of parts side by side, as wide as their shares of the sum.
type Parts struct {
	Title, Description string
	// Labels and Values belong together by their index. Values below 0 are drawn as 0.
	Labels []string
	Values []int64
}

const (
	partsWidth, partsHeight = 1000.0, 24.0
	// partShades is how many shades there are; the parts take them in turn.
	partShades = 4
)

// SVG draws it.
func (p Parts) SVG() string {
	var out strings.Builder
	open(&out, "parts", partsWidth, partsHeight, p.Title, p.Description)
	sum := 0.0
	for _, v := range p.Values {
		sum += float64(max(v, 0))
	}
	x := 0.0
	for i, v := range p.Values {
		if v <= 0 {
			continue
		}
		width := partsWidth * float64(v) / sum
		fmt.Fprintf(&out, `<rect class="slice shade%d" x="%s" y="0" width="%s" height="%s"><title>%s: %d</title></rect>`,
			i%partShades, number(x), number(width), number(partsHeight), text(p.Labels[i]), v)
		x += width
	}
	out.WriteString(`</svg>`)
	return out.String()
}
