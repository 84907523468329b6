package drawing

import "math/rand/v2"

// palette is the colours of one drawing.
type palette struct {
	base       lch       // the prompt's colour, or one of its hash
	sky        [3]colour // top, middle, horizon
	light      colour    // sun or moon
	far, near  lch       // the farthest and the nearest ridge
	accents    []colour  // for figures without a colour of their own
	dark       bool      // a night sky
	ink, paper colour    // of the caption
}

// hours are the skies a scene can have.
type hour int

const (
	anyHour hour = iota
	day
	dusk
	night
)

// landHues are the hues of the views that have one of their own: the range they are
// taken from.
var landHues = map[view][2]int{
	hills: {120, 155}, mountains: {225, 300}, sea: {215, 250}, dunes: {52, 72}, forest: {135, 165}, city: {230, 300},
}

// newPalette takes the land's colour from the prompt's first colour, the view or the
// hash, in this order, and the sky's from the hour of the day.
func newPalette(t theme, look *rand.Rand) palette {
	within := func(low, high int) float64 { return float64(low + look.IntN(high-low)) }
	base := lch{0.6, 0.11, within(0, 360)}
	if r, ok := landHues[t.view]; ok {
		base.h = within(r[0], r[1])
	}
	named := len(t.colours) > 0
	if named {
		base = t.colours[0].lch()
	}
	when := t.when
	if roll := look.IntN(10); when == anyHour {
		switch {
		case named && base.l < 0.25:
			when = night
		case named || roll < 5:
			when = day
		case roll < 8:
			when = dusk
		default:
			when = night
		}
	}
	p := palette{base: base, dark: when == night}
	chroma := base.c
	// air is the hue of the sky: the prompt's colour tints it if it speaks of nothing else.
	air := within(200, 285)
	if when == dusk {
		air = within(265, 340)
	}
	if named && t.view == anyView {
		air = base.h
	}
	switch when {
	case night:
		p.sky = [3]colour{lch{0.16, 0.05, air}.rgb(), lch{0.27, 0.08, air}.rgb(), lch{0.44, 0.10, air + 35}.rgb()}
		p.light = lch{0.95, 0.03, 95}.rgb()
		p.far, p.near = lch{0.37, min(chroma, 0.07), air}, lch{0.12, min(chroma, 0.05), base.h}
	case dusk:
		p.sky = [3]colour{lch{0.42, 0.11, air}.rgb(), lch{0.70, 0.13, 30}.rgb(), lch{0.89, 0.11, 75}.rgb()}
		p.light = lch{0.95, 0.12, 88}.rgb()
		p.far, p.near = lch{0.68, 0.09, 20}, lch{0.21, min(chroma, 0.07), base.h}
	default:
		p.sky = [3]colour{lch{0.70, 0.10, air}.rgb(), lch{0.86, 0.06, air}.rgb(), lch{0.97, 0.025, air + 40}.rgb()}
		p.light = lch{0.98, 0.07, 95}.rgb()
		p.far, p.near = lch{0.83, chroma * 0.45, (air + base.h) / 2}, lch{0.36, chroma, base.h}
	}
	p.accents = append(p.accents, t.colours...)
	for i := range 4 {
		p.accents = append(p.accents, lch{0.66, 0.16, base.h + 150 + float64(i*80)}.rgb())
	}
	p.ink, p.paper = colour{250, 250, 248}, lch{0.20, min(chroma, 0.03), base.h}.rgb()
	return p
}

// ridge is the colour at t (0 far, 1 near) of the way to the viewer.
func (p *palette) ridge(t float64) colour {
	turn := p.near.h - p.far.h
	for turn > 180 {
		turn -= 360
	}
	for turn < -180 {
		turn += 360
	}
	return lch{p.far.l + t*(p.near.l-p.far.l), p.far.c + t*(p.near.c-p.far.c), p.far.h + t*turn}.rgb()
}
