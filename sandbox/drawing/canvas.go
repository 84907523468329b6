package drawing

import (
	"image"
	"math"
	"slices"
)

// canvas is an image with the few operations the drawings need. Coordinates are
// pixels, from the top left corner; edges are smoothed.
type canvas struct {
	img  *image.NRGBA
	w, h int
	row  []int32 // differences of coverage along one row
	xs   []int64
}

func newCanvas(w, h int) *canvas {
	return &canvas{img: image.NewNRGBA(image.Rect(0, 0, w, h)), w: w, h: h, row: make([]int32, w+2)}
}

type point struct{ x, y float64 }

// path is closed contours; a point is inside if a line from it crosses them an odd
// number of times.
type path [][]point

// paint is a vertical gradient from the row y0 to y1, of one opacity (0 to 255).
type paint struct {
	top, bottom colour
	y0, y1      int
	alpha       int
}

func flat(k colour, alpha int) paint { return paint{top: k, bottom: k, alpha: alpha} }

func (p paint) at(y int) colour {
	if p.y1 <= p.y0 || p.top == p.bottom {
		return p.top
	}
	t := min(max(y-p.y0, 0), p.y1-p.y0)
	return p.top.mix(p.bottom, t*256/(p.y1-p.y0))
}

const (
	one      = 256 // fixed-point units of a pixel
	sublines = 8   // samples of a row
)

type edge struct{ x0, y0, x1, y1 int64 }

// fill paints the inside of a path.
func (c *canvas) fill(shape path, with paint) {
	edges, top, bottom := c.edges(shape)
	for y := top; y < bottom; y++ {
		left, right := c.w, -1
		for s := range int64(sublines) {
			at := int64(y)*one + s*one/sublines + one/sublines/2
			c.xs = c.xs[:0]
			for _, e := range edges {
				if e.y0 <= at && at < e.y1 {
					c.xs = append(c.xs, e.x0+(e.x1-e.x0)*(at-e.y0)/(e.y1-e.y0))
				}
			}
			slices.Sort(c.xs)
			for i := 0; i+1 < len(c.xs); i += 2 {
				l, r := c.span(c.xs[i], c.xs[i+1])
				left, right = min(left, l), max(right, r)
			}
		}
		c.blendRow(y, left, right, with)
	}
}

// edges returns the edges of a path in fixed point and the rows they touch.
func (c *canvas) edges(shape path) (edges []edge, top, bottom int) {
	fixed := func(v float64) int64 { return int64(math.Round(v * one)) }
	low, high := int64(math.MaxInt64), int64(math.MinInt64)
	for _, contour := range shape {
		for i, a := range contour {
			b := contour[(i+1)%len(contour)]
			e := edge{fixed(a.x), fixed(a.y), fixed(b.x), fixed(b.y)}
			if e.y0 > e.y1 {
				e = edge{e.x1, e.y1, e.x0, e.y0}
			}
			if e.y0 < e.y1 {
				edges = append(edges, e)
				low, high = min(low, e.y0), max(high, e.y1)
			}
		}
	}
	if edges == nil {
		return nil, 0, 0
	}
	return edges, max(int(low/one), 0), min(int((high+one-1)/one), c.h)
}

// span adds the coverage of one sample line between two fixed-point positions, and
// returns the pixels touched.
func (c *canvas) span(from, to int64) (left, right int) {
	from, to = max(from, 0), min(to, int64(c.w)*one)
	if from >= to {
		return c.w, -1
	}
	a, b := int(from/one), int(to/one)
	add := func(x, v int) { c.row[x] += int32(v); c.row[x+1] -= int32(v) }
	if a == b {
		add(a, int(to-from))
		return a, b
	}
	add(a, (a+1)*one-int(from))
	c.row[a+1] += one
	c.row[b] -= one
	add(b, int(to)-b*one)
	return a, b
}

// blendRow paints a row by its coverage, which it clears.
func (c *canvas) blendRow(y, left, right int, with paint) {
	if right < left {
		return
	}
	k := with.at(y)
	sum := 0
	for x := left; x <= right && x < c.w; x++ {
		sum += int(c.row[x])
		if alpha := sum * with.alpha / (one * sublines); alpha > 0 {
			c.blend(x, y, k, alpha)
		}
	}
	clear(c.row[left : right+2])
}

// blend lays k over a pixel with an opacity of 0 to 255.
func (c *canvas) blend(x, y int, k colour, alpha int) {
	i := y*c.img.Stride + 4*x
	p := c.img.Pix[i : i+4 : i+4]
	switch {
	case alpha >= 255:
		p[0], p[1], p[2], p[3] = k.r, k.g, k.b, 255
	case p[3] == 255:
		// v*257>>16 is v/255 for the products of bytes, rounded.
		keep := 255 - alpha
		p[0] = uint8((int(p[0])*keep + int(k.r)*alpha + 128) * 257 >> 16)
		p[1] = uint8((int(p[1])*keep + int(k.g)*alpha + 128) * 257 >> 16)
		p[2] = uint8((int(p[2])*keep + int(k.b)*alpha + 128) * 257 >> 16)
	default:
		under := int(p[3]) * (255 - alpha)
		total := under + 255*alpha
		if total == 0 {
			return
		}
		over := 255 * alpha
		p[0] = uint8((int(p[0])*under + int(k.r)*over + total/2) / total)
		p[1] = uint8((int(p[1])*under + int(k.g)*over + total/2) / total)
		p[2] = uint8((int(p[2])*under + int(k.b)*over + total/2) / total)
		p[3] = uint8((total + 127) / 255)
	}
}

// rows fills whole rows with a gradient.
func (c *canvas) rows(from, to int, with paint) {
	for y := max(from, 0); y < min(to, c.h); y++ {
		k := with.at(y)
		row := c.img.Pix[y*c.img.Stride : y*c.img.Stride+4*c.w]
		row[0], row[1], row[2], row[3] = k.r, k.g, k.b, 255
		for n := 4; n < len(row); n *= 2 {
			copy(row[n:], row[:n])
		}
	}
}

// glow lays light around a point that fades to nothing at the radius.
func (c *canvas) glow(x, y, radius float64, k colour, alpha int) {
	cx, cy, r := int(math.Round(x)), int(math.Round(y)), int(math.Round(radius))
	square := r * r
	for py := max(cy-r, 0); py < min(cy+r, c.h); py++ {
		for px := max(cx-r, 0); px < min(cx+r, c.w); px++ {
			d := (px-cx)*(px-cx) + (py-cy)*(py-cy)
			if d < square {
				t := (square - d) * 1024 / square
				if a := alpha * t / 1024 * t / 1024; a > 0 {
					c.blend(px, py, k, a)
				}
			}
		}
	}
}

// below paints everything under a line of heights, one for each column in fixed point.
func (c *canvas) below(line []int64, with paint) {
	top := c.h
	for _, y := range line {
		top = min(top, max(int(y/one), 0))
	}
	for y := top; y < c.h; y++ {
		k := with.at(y)
		for x, edge := range line {
			switch cover := int64(y+1)*one - edge; {
			case cover >= one:
				c.blend(x, y, k, with.alpha)
			case cover > 0:
				c.blend(x, y, k, int(cover)*with.alpha/one)
			}
		}
	}
}
