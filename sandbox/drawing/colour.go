package drawing

import "math"

// colour is an opaque sRGB colour.
type colour struct{ r, g, b uint8 }

// lch is a colour in OKLCH (Ottosson, "A perceptual color space for image processing",
// 2020), where shades of one hue look like shades of one hue: lightness 0 to 1, chroma
// 0 to about 0.3, hue in degrees.
type lch struct{ l, c, h float64 }

// rgb converts to sRGB, with as much chroma as that can show.
func (k lch) rgb() colour {
	for chroma := k.c; ; chroma *= 0.92 {
		r, g, b := k.linear(chroma)
		if chroma < 0.005 || inGamut(r) && inGamut(g) && inGamut(b) {
			return colour{encode(r), encode(g), encode(b)}
		}
	}
}

func (k lch) linear(chroma float64) (r, g, b float64) {
	sin, cos := math.Sincos(k.h * math.Pi / 180)
	x, y := chroma*cos, chroma*sin
	l := k.l + 0.3963377774*x + 0.2158037573*y
	m := k.l - 0.1055613458*x - 0.0638541728*y
	s := k.l - 0.0894841775*x - 1.2914855480*y
	l, m, s = l*l*l, m*m*m, s*s*s
	return 4.0767416621*l - 3.3077115913*m + 0.2309699292*s,
		-1.2684380046*l + 2.6097574011*m - 0.3413193965*s,
		-0.0041960863*l - 0.7034186147*m + 1.7076147010*s
}

func inGamut(v float64) bool { return v >= -0.001 && v <= 1.001 }

func encode(v float64) uint8 {
	v = min(max(v, 0), 1)
	if v <= 0.0031308 {
		v *= 12.92
	} else {
		v = 1.055*math.Pow(v, 1/2.4) - 0.055
	}
	return uint8(math.Round(v * 255))
}

func decode(v uint8) float64 {
	f := float64(v) / 255
	if f <= 0.04045 {
		return f / 12.92
	}
	return math.Pow((f+0.055)/1.055, 2.4)
}

// lch converts from sRGB.
func (k colour) lch() lch {
	r, g, b := decode(k.r), decode(k.g), decode(k.b)
	l := math.Cbrt(0.4122214708*r + 0.5363325363*g + 0.0514459929*b)
	m := math.Cbrt(0.2119034982*r + 0.6806995451*g + 0.1073969566*b)
	s := math.Cbrt(0.0883024619*r + 0.2817188376*g + 0.6299787005*b)
	x := 1.9779984951*l - 2.4285922050*m + 0.4505937099*s
	y := 0.0259040371*l + 0.7827717662*m - 0.8086757660*s
	hue := math.Atan2(y, x) * 180 / math.Pi
	return lch{0.2104542553*l + 0.7936177850*m - 0.0040720468*s, math.Hypot(x, y), math.Mod(hue+360, 360)}
}

// shade is k with another lightness.
func (k colour) shade(by float64) colour {
	o := k.lch()
	o.l = min(max(o.l+by, 0.05), 0.98)
	return o.rgb()
}

// mix returns the colour at t of 256 on the way from k to o.
func (k colour) mix(o colour, t int) colour {
	between := func(a, b uint8) uint8 { return uint8((int(a)*(256-t) + int(b)*t + 128) >> 8) }
	return colour{between(k.r, o.r), between(k.g, o.g), between(k.b, o.b)}
}
