package drawing

import (
	"math"
	"slices"
)

// ridges draws hills, mountains, dunes or a forest: lines of land one before the other,
// paler the farther they are.
func (p *painter) ridges(v view) {
	count := 3 + 2*p.detail
	for i := range count {
		t := float64(i) / float64(count-1)
		base := float64(p.h) * (0.54 + 0.36*t)
		line := p.line(v, base, p.unit*(0.15-0.07*t))
		k := p.palette.ridge(t)
		p.below(line, paint{top: k.shade(0.03), bottom: k.shade(-0.03), y0: int(base) - p.h/8, y1: p.h, alpha: 255})
		if v == mountains && i == 0 {
			p.snow(line)
		}
		if v == forest || v == hills && i == count-1 && p.detail > 0 {
			p.trees(line, k, t, v == forest)
		}
	}
}

// line is the upper edge of a ridge: a sum of waves for hills and dunes, of triangular
// ones for mountains, in fixed point for each column.
func (p *painter) line(v view, base, height float64) []int64 {
	type wave struct{ length, phase, part float64 }
	var waves []wave
	for octave := range 5 {
		part := math.Pow(0.52, float64(octave))
		length := p.unit * p.between(0.75, 1.25) / math.Pow(2.1, float64(octave))
		switch {
		case v == hills && octave > 1:
			part *= 0.15
		case v == dunes && octave > 1:
			part = 0
		case v == dunes:
			part, length = part*0.75, length*1.7
		}
		waves = append(waves, wave{length, p.between(0, 1), part})
	}
	line := make([]int64, p.w)
	for x := range line {
		sum := 0.0
		for _, w := range waves {
			_, at := math.Modf(float64(x)/w.length + w.phase)
			switch v {
			case mountains:
				sum += w.part * (4*math.Abs(at-0.5) - 1)
			case dunes:
				// A slow rise and a steep lee side.
				sum += w.part * math.Sin(2*math.Pi*(at+0.13*math.Sin(2*math.Pi*at)))
			default:
				sum += w.part * math.Sin(2*math.Pi*at)
			}
		}
		line[x] = int64(math.Round((base - height*sum*0.7) * one))
	}
	return line
}

// snow whitens the highest peaks of a line.
func (p *painter) snow(line []int64) {
	limit := slices.Min(line) + int64(p.unit*0.05)*one
	tooth := max(int(p.unit*0.012), 2)
	for x, top := range line {
		// The lower edge is jagged, with teeth of two lengths.
		end := limit + teeth(x, tooth) + teeth(x, tooth*5/3)
		for y := int(top/one) + 1; int64(y)*one < end && y < p.h; y++ {
			if y >= 0 {
				p.blend(x, y, colour{250, 252, 255}, 205)
			}
		}
	}
}

// teeth is a triangular wave of the given length and height, in fixed point.
func teeth(x, length int) int64 {
	at := x % (2 * length)
	return int64(min(at, 2*length-at)) * one
}

// trees plants firs along a line, closely in a forest.
func (p *painter) trees(line []int64, k colour, t float64, dense bool) {
	size := p.unit * (0.035 + 0.055*t)
	step := size * 2.4
	if dense {
		step = size * 0.62
	}
	for x := p.between(0, step); x < float64(p.w); x += step * p.between(0.6, 1.5) {
		y := float64(line[int(x)])/one + size*0.12
		p.fir(x, y, size*p.between(0.7, 1.25), k.shade(p.between(-0.05, 0.01)))
	}
}

func (p *painter) fir(x, y, size float64, k colour) {
	p.fill(box(x-size*0.05, y-size*0.2, x+size*0.05, y), flat(k.shade(-0.06), 255))
	for i := range 3 {
		w, bottom := size*(0.36-0.09*float64(i)), y-size*(0.14+0.34*float64(i))
		p.fill(path{{{x - w, bottom}, {x + w, bottom}, {x, bottom - size*0.58}}}, flat(k, 255))
	}
}
