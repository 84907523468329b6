package drawing

import "math"

// still draws the figures of the prompt in rows on a table before a plain wall, or
// without both where the background is transparent.
func (p *painter) still(transparent bool) {
	width, height := float64(p.w), float64(p.h)
	if !transparent {
		p.wall()
	}
	var all []figure
	for _, f := range p.theme.figures {
		for range f.count {
			one := f
			if !f.coloured {
				one.colour = p.palette.accents[len(all)%len(p.palette.accents)]
			}
			all = append(all, one)
		}
	}
	// As many columns as make the cells closest to squares.
	columns := 1
	for c := 1; c <= len(all); c++ {
		if cell(width, height, len(all), c) > cell(width, height, len(all), columns) {
			columns = c
		}
	}
	rows := (len(all) + columns - 1) / columns
	side := cell(width, height, len(all), columns)
	for i, f := range all {
		row := i / columns
		inRow := min(columns, len(all)-row*columns)
		x := width/2 + (float64(i%columns)-float64(inRow-1)/2)*side
		y := height*0.45 + (float64(row)-float64(rows-1)/2)*side
		radius := side * 0.38 * p.between(0.96, 1.04)
		p.figure(f, x, y, radius, transparent)
	}
}

// cell is the side of a figure's cell if n figures stand in that many columns.
func cell(width, height float64, n, columns int) float64 {
	rows := (n + columns - 1) / columns
	return min(width*0.94/float64(columns), height*0.80/float64(rows))
}

// wall is the backdrop: light, of the hue opposite to the prompt's colour, so that the
// figures stand out, with a table below and a soft light from above.
func (p *painter) wall() {
	opposite := p.palette.base.h + 180
	chroma := min(p.palette.base.c, 0.035)
	light, floor := 0.955, 0.88
	if p.palette.dark {
		light, floor = 0.30, 0.22
	}
	table := p.h * 74 / 100
	p.rows(0, table, paint{top: lch{light, chroma, opposite}.rgb(), bottom: lch{light - 0.05, chroma, opposite}.rgb(), y1: table})
	p.rows(table, p.h, paint{top: lch{floor, chroma * 1.2, opposite}.rgb(), bottom: lch{floor - 0.07, chroma * 1.4, opposite}.rgb(), y0: table, y1: p.h})
	if p.detail > 0 {
		p.glow(float64(p.w)*p.between(0.3, 0.7), float64(p.h)*0.2, p.unit*0.6, colour{255, 255, 255}, 90)
	}
}

// figure draws one shape with a shadow, a gradient and, from medium quality on, a
// highlight along its upper edge.
func (p *painter) figure(f figure, x, y, radius float64, transparent bool) {
	if !transparent {
		p.shadow(x, y+radius*1.04, radius)
	}
	shape := f.outline.path(x, y, radius)
	top, bottom := int(y-radius), int(y+radius)
	p.fill(shape, paint{top: f.colour.shade(0.05), bottom: f.colour.shade(-0.07), y0: top, y1: bottom, alpha: 255})
	if p.detail == 0 {
		return
	}
	// The rim is what lies between the shape and the same shape a little lower.
	rim := append(path{}, shape...)
	for _, contour := range shape {
		var lower []point
		for _, at := range contour {
			lower = append(lower, point{x + (at.x-x)*0.955, y + (at.y-y)*0.955 + radius*0.02})
		}
		rim = append(rim, lower)
	}
	p.fill(rim, paint{top: colour{255, 255, 255}, bottom: f.colour.shade(-0.12), y0: top, y1: bottom, alpha: 70})
	if p.detail == 2 && f.outline == circle {
		p.glow(x-radius*0.32, y-radius*0.36, radius*0.5, colour{255, 255, 255}, 120)
	}
}

// shadow darkens the table under a figure.
func (p *painter) shadow(x, y, radius float64) {
	rings := 4 + 4*p.detail
	for i := range rings {
		grow := 1.05 - 0.5*float64(i)/float64(rings)
		p.fill(ellipse(x, y, radius*grow, radius*grow*0.11), flat(colour{20, 20, 40}, int(math.Round(64/float64(rings)))))
	}
}
