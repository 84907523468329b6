package drawing

import "math"

// outline is a geometric shape.
type outline int

const (
	square outline = iota
	rectangle
	circle
	oval
	triangle
	pentagon
	hexagon
	octagon
	star
	heart
	diamond
	cross
	ring
	arrow
)

// path is the outline around (x, y), about as wide and high as twice the radius.
func (o outline) path(x, y, radius float64) path {
	at := func(points ...point) path {
		out := make([]point, len(points))
		for i, p := range points {
			out[i] = point{x + radius*p.x, y + radius*p.y}
		}
		return path{out}
	}
	switch o {
	case square:
		return roundedBox(x-radius*0.88, y-radius*0.88, x+radius*0.88, y+radius*0.88, radius*0.06)
	case rectangle:
		return roundedBox(x-radius, y-radius*0.62, x+radius, y+radius*0.62, radius*0.06)
	case oval:
		return ellipse(x, y, radius, radius*0.66)
	case triangle:
		return at(point{0, -0.95}, point{1, 0.82}, point{-1, 0.82})
	case pentagon:
		return regular(x, y, radius, 5)
	case hexagon:
		return regular(x, y, radius, 6)
	case octagon:
		return regular(x, y, radius, 8)
	case star:
		return spikes(x, y, radius, 0.42, 5)
	case heart:
		return heartAt(x, y, radius)
	case diamond:
		return at(point{0, -1}, point{0.74, 0}, point{0, 1}, point{-0.74, 0})
	case cross:
		const a, b = 0.32, 0.95
		return at(point{-a, -b}, point{a, -b}, point{a, -a}, point{b, -a}, point{b, a}, point{a, a},
			point{a, b}, point{-a, b}, point{-a, a}, point{-b, a}, point{-b, -a}, point{-a, -a})
	case ring:
		return append(ellipse(x, y, radius, radius), ellipse(x, y, radius*0.56, radius*0.56)...)
	case arrow:
		return at(point{-1, -0.28}, point{0.15, -0.28}, point{0.15, -0.78}, point{1, 0}, point{0.15, 0.78}, point{0.15, 0.28}, point{-1, 0.28})
	default:
		return ellipse(x, y, radius, radius)
	}
}

// around samples a closed curve, from the top on, finely enough for its radius.
func around(steps int, curve func(sin, cos float64) point) []point {
	out := make([]point, steps)
	for i := range out {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / float64(steps))
		out[i] = curve(sin, -cos)
	}
	return out
}

func ellipse(x, y, rx, ry float64) path {
	steps := 24 + int(math.Sqrt(max(rx, ry))*6)
	return path{around(steps, func(sin, cos float64) point { return point{x + rx*sin, y + ry*cos} })}
}

func regular(x, y, radius float64, sides int) path {
	return path{around(sides, func(sin, cos float64) point { return point{x + radius*sin, y + radius*cos} })}
}

// spikes is a star whose inner corners lie at a part of the radius.
func spikes(x, y, radius, inner float64, count int) path {
	i := 0
	return path{around(2*count, func(sin, cos float64) point {
		r := radius
		if i++; i%2 == 0 {
			r *= inner
		}
		return point{x + r*sin, y + r*cos}
	})}
}

// heartAt is the well-known curve 16 sin³t, 13 cos t - 5 cos 2t - 2 cos 3t - cos 4t.
func heartAt(x, y, radius float64) path {
	const steps = 160
	out := make([]point, steps)
	for i := range out {
		t := 2 * math.Pi * float64(i) / steps
		sin := math.Sin(t)
		px := 16 * sin * sin * sin
		py := 13*math.Cos(t) - 5*math.Cos(2*t) - 2*math.Cos(3*t) - math.Cos(4*t)
		out[i] = point{x + radius*px/17, y - radius*(py+2.5)/17}
	}
	return path{out}
}

func box(x0, y0, x1, y1 float64) path {
	return path{{{x0, y0}, {x1, y0}, {x1, y1}, {x0, y1}}}
}

func roundedBox(x0, y0, x1, y1, radius float64) path {
	const steps = 8
	var out []point
	for corner, centre := range []point{{x1 - radius, y0 + radius}, {x1 - radius, y1 - radius}, {x0 + radius, y1 - radius}, {x0 + radius, y0 + radius}} {
		for i := range steps + 1 {
			sin, cos := math.Sincos(math.Pi / 2 * (float64(corner) + float64(i)/steps))
			out = append(out, point{centre.x + radius*sin, centre.y - radius*cos})
		}
	}
	return path{out}
}
