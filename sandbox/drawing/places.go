package drawing

import "math"

// sea draws water to the horizon with the path of light on it, two far islands and,
// from medium quality on, a sailing boat.
func (p *painter) sea(lightX float64) {
	width, height := float64(p.w), float64(p.h)
	horizon := height * 0.60
	island := p.line(hills, horizon+p.unit*0.02, p.unit*0.05)
	p.below(island, flat(p.palette.ridge(0.15), 255))
	deep := p.palette.ridge(0.85)
	shallow := p.palette.ridge(0.35).mix(p.palette.sky[2], 90)
	p.rows(int(horizon), p.h, paint{top: shallow, bottom: deep, y0: int(horizon), y1: p.h})

	glints := 40 + 60*p.detail
	for i := range glints {
		t := (float64(i) + p.between(0, 1)) / float64(glints)
		y := horizon + (height-horizon)*t*t
		spread := p.unit * (0.03 + 0.22*t)
		length := p.unit * (0.012 + 0.07*t) * p.between(0.5, 1.5)
		x := lightX + spread*p.between(-1, 1)
		thick := max(p.unit*0.0035*(0.3+t), 0.5)
		p.fill(ellipse(x, y, length, thick), flat(p.palette.light, 170-int(90*t)))
	}
	for range glints {
		t := p.between(0, 1)
		x, y := p.between(0, width), horizon+(height-horizon)*t*t
		p.fill(ellipse(x, y, p.unit*(0.01+0.06*t), max(p.unit*0.0025*(0.3+t), 0.5)), flat(deep.shade(0.12), 90))
	}
	if p.detail > 0 {
		x := width - lightX + p.unit*0.1*p.between(-1, 1)
		p.boat(min(max(x, width*0.15), width*0.85), horizon+p.unit*0.09, p.unit*0.085)
	}
}

func (p *painter) boat(x, y, size float64) {
	hull, sail := p.palette.near.rgb(), colour{252, 250, 244}
	p.fill(ellipse(x, y+size*0.12, size*1.1, size*0.10), flat(hull, 60))
	p.fill(path{{{x - size*0.8, y - size*0.16}, {x + size*0.85, y - size*0.16}, {x + size*0.55, y + size*0.14}, {x - size*0.55, y + size*0.14}}}, flat(hull, 255))
	p.fill(path{{{x + size*0.05, y - size*1.5}, {x + size*0.05, y - size*0.24}, {x + size*0.78, y - size*0.24}}}, flat(sail, 245))
	p.fill(path{{{x - size*0.05, y - size*1.3}, {x - size*0.05, y - size*0.24}, {x - size*0.6, y - size*0.24}}}, flat(p.palette.accents[0], 245))
}

// city draws rows of houses, one before the other, with lit windows.
func (p *painter) city() {
	rows := 2 + p.detail
	for i := range rows {
		t := float64(i+1) / float64(rows)
		k := p.palette.ridge(0.2 + 0.75*t)
		ground := float64(p.h)
		for x := -p.unit * 0.05; x < float64(p.w); {
			w := p.unit * p.between(0.06, 0.13)
			top := float64(p.h) * (0.30 + 0.34*t + p.between(-0.10, 0.12))
			p.house(x, top, x+w, ground, k.shade(p.between(-0.02, 0.02)), t)
			x += w * p.between(1.0, 1.12)
		}
	}
}

func (p *painter) house(x0, top, x1, ground float64, k colour, t float64) {
	p.fill(box(x0, top, x1, ground), paint{top: k.shade(0.02), bottom: k.shade(-0.04), y0: int(top), y1: int(ground), alpha: 255})
	middle := (x0 + x1) / 2
	if p.place.IntN(4) == 0 {
		p.fill(box(middle-p.unit*0.002, top-p.unit*0.05, middle+p.unit*0.002, top), flat(k, 255))
	}
	if p.detail == 0 && t < 1 {
		return
	}
	lit := colour{255, 226, 150}
	columns := 3 + p.place.IntN(3)
	gap := (x1 - x0) / (float64(columns)*1.6 + 0.6)
	for y := top + gap; y < ground; y += gap * 2.1 {
		for c := range columns {
			roll := p.place.IntN(100)
			window, alpha := k.shade(0.10), 150
			if roll < 22 || p.palette.dark && roll < 48 {
				window, alpha = lit, 225
			}
			x := x0 + gap*(0.6+1.6*float64(c))
			p.fill(box(x, y, x+gap, y+gap*1.3), flat(window, alpha))
		}
	}
}

// planets draws a large planet with bands and a ring, and small ones around it.
func (p *painter) planets() {
	x, y := float64(p.w)*p.between(0.38, 0.62), float64(p.h)*p.between(0.36, 0.48)
	radius := p.unit * p.between(0.20, 0.26)
	for i := range 1 + p.detail {
		sin, cos := math.Sincos(p.between(0, 2*math.Pi))
		far := p.unit * p.between(0.36, 0.44)
		p.planet(x+far*sin, y+far*cos*0.8, p.unit*p.between(0.025, 0.06), p.palette.accents[(i+1)%len(p.palette.accents)])
	}
	k := p.palette.base
	k.l, k.c = max(k.l, 0.58), min(max(k.c, 0.02), 0.15)
	main := k.rgb()
	p.glow(x, y, radius*1.9, main, 90)
	ring := func(from, to float64) path {
		// Half of a tilted ring: the far half is drawn before the planet.
		var out []point
		const steps = 96
		for i := range steps + 1 {
			a := from + (to-from)*float64(i)/steps
			out = append(out, tilted(x, y, radius*1.85, a))
		}
		for i := range steps + 1 {
			a := to + (from-to)*float64(i)/steps
			out = append(out, tilted(x, y, radius*1.40, a))
		}
		return path{out}
	}
	band := flat(p.palette.accents[0].shade(0.12), 215)
	p.fill(ring(math.Pi, 2*math.Pi), band)
	p.planet(x, y, radius, main)
	p.fill(ring(0, math.Pi), band)
}

// tilted is a point of the planet's ring.
func tilted(x, y, radius, angle float64) point {
	sin, cos := math.Sincos(angle)
	px, py := radius*cos, radius*0.24*sin
	return point{x + px*0.95 + py*0.3, y - px*0.3 + py*0.95}
}

func (p *painter) planet(x, y, radius float64, k colour) {
	disc := circle.path(x, y, radius)
	p.fill(disc, paint{top: k.shade(0.10), bottom: k.shade(-0.14), y0: int(y - radius), y1: int(y + radius), alpha: 255})
	if p.detail == 0 {
		return
	}
	for range 4 {
		at := p.between(-0.75, 0.75)
		half := radius * math.Sqrt(1-at*at)
		p.fill(ellipse(x, y+radius*at, half*0.97, radius*p.between(0.02, 0.07)), flat(k.shade(p.between(-0.12, 0.08)), 120))
	}
	// The side away from the light: the disc without the same disc moved to the left.
	shade := append(path{}, disc...)
	p.fill(append(shade, lens(x, y, radius)), flat(colour{8, 8, 24}, 95))
}

// lens is the part of a disc that a disc of the same size to its upper left covers.
func lens(x, y, radius float64) []point {
	return around(96, func(sin, cos float64) point {
		px, py := radius*sin, radius*cos
		if px+py > 0 {
			// The far side is drawn in towards the middle, which makes a terminator.
			along := (px + py) / 2
			px, py = px-along*0.7, py-along*0.7
		}
		return point{x + px, y + py}
	})
}
