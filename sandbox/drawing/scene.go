package drawing

import "math"

// scene draws a landscape: a sky with its light, and the view of the prompt below.
func (p *painter) scene() {
	horizon := p.h * 64 / 100
	sky := p.palette.sky
	p.rows(0, horizon/2, paint{top: sky[0], bottom: sky[1], y1: horizon / 2})
	p.rows(horizon/2, p.h, paint{top: sky[1], bottom: sky[2], y0: horizon / 2, y1: horizon * 11 / 10})
	if p.palette.dark || p.view == space {
		p.stars()
	}
	if p.view == space {
		p.planets()
		return
	}
	x := p.light(p.view)
	if !p.palette.dark && p.detail > 0 && p.view != dunes {
		p.clouds(float64(horizon))
	}
	switch p.view {
	case sea:
		p.sea(x)
	case city:
		p.city()
	default:
		p.ridges(p.view)
	}
	if p.detail == 2 && !p.palette.dark && p.view != city {
		p.birds()
	}
}

// light draws the sun or the moon with its glow, and returns how far to the right it
// stands.
func (p *painter) light(v view) (x float64) {
	x = float64(p.w) * p.between(0.22, 0.78)
	y := float64(p.h) * p.between(0.20, 0.36)
	radius := p.unit * p.between(0.065, 0.10)
	if v == sea {
		y, radius = float64(p.h)*p.between(0.30, 0.42), radius*1.25
	}
	glow := 150
	if p.palette.dark {
		glow = 90
	}
	p.glow(x, y, radius*4.2, p.palette.light, glow)
	p.fill(circle.path(x, y, radius), flat(p.palette.light, 255))
	if p.palette.dark && p.detail > 0 {
		for range 5 {
			sin, cos := math.Sincos(p.between(0, 2*math.Pi))
			far, size := radius*p.between(0.1, 0.68), radius*p.between(0.08, 0.2)
			p.fill(circle.path(x+far*sin, y+far*cos, size), flat(p.palette.light.shade(-0.08), 255))
		}
	}
	return x
}

func (p *painter) stars() {
	for range 60 + 110*p.detail {
		x, y := p.between(0, float64(p.w)), p.between(0, float64(p.h)*0.8)
		size := max(p.unit*p.between(0.0006, 0.0022), 0.5)
		p.fill(spikes(x, y, size*2, 0.4, 4), flat(p.palette.light, 110+int(p.between(0, 145))))
	}
}

// clouds have a flat base and, above it, the outer edge of a few overlapping puffs.
func (p *painter) clouds(horizon float64) {
	white := colour{255, 255, 255}.mix(p.palette.sky[2], 50)
	for range 2 + p.detail {
		x, y := p.between(0, float64(p.w)), p.between(horizon*0.14, horizon*0.6)
		size := p.unit * p.between(0.035, 0.065)
		var puffs []point // the centre above the base and, as y, the radius
		for at := -2.2; at < 2.2; at += p.between(0.6, 1.0) {
			puffs = append(puffs, point{at, p.between(0.75, 1.25) * (1.15 - at*at*0.13)})
		}
		const steps = 90
		outline := []point{{x + 3.4*size, y}, {x - 3.4*size, y}}
		for i := range steps + 1 {
			at, top := -3.3+6.6*float64(i)/steps, 0.0
			for _, puff := range puffs {
				if d := puff.y*puff.y - (at-puff.x)*(at-puff.x); d > 0 {
					top = max(top, math.Sqrt(d))
				}
			}
			outline = append(outline, point{x + at*size, y - top*size*0.85})
		}
		p.fill(path{outline}, paint{top: white, bottom: white.mix(p.palette.sky[1], 150), y0: int(y - size*1.2), y1: int(y), alpha: 215})
	}
}

func (p *painter) birds() {
	for range 4 {
		x, y := p.between(0.1, 0.9)*float64(p.w), p.between(0.12, 0.4)*float64(p.h)
		s := p.unit * p.between(0.010, 0.018)
		p.fill(path{{
			{x - s, y - s*0.45}, {x - s*0.45, y - s*0.62}, {x, y}, {x + s*0.45, y - s*0.62}, {x + s, y - s*0.45},
			{x + s*0.45, y - s*0.40}, {x, y + s*0.25}, {x - s*0.45, y - s*0.40},
		}}, flat(p.palette.near.rgb(), 210))
	}
}

// cutOut makes everything but a disc around the middle transparent.
func (p *painter) cutOut() {
	mask := newCanvas(p.w, p.h)
	mask.fill(circle.path(float64(p.w)/2, float64(p.h)*0.46, p.unit*0.43), flat(colour{}, 255))
	for i := 0; i < len(p.img.Pix); i += 4 {
		if mask.img.Pix[i+3] == 0 {
			clear(p.img.Pix[i : i+4])
		} else {
			p.img.Pix[i+3] = mask.img.Pix[i+3]
		}
	}
}
