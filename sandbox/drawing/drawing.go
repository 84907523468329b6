// Package drawing makes the sandbox's images: procedural drawings whose colours, shapes
// and scene come from the words of the prompt, and everything else from its hash. They
// claim to be nothing more; the prompt's first words stand below as a caption, so that
// a reader sees which request a picture answers.
//
// A drawing depends only on its Spec: the same on every machine and in every run,
// since all that reaches a pixel is rounded to integers first.
//
// The package makes pixels only: it must not import gen, codec or gateway.
package drawing

import (
	"fmt"
	"hash/fnv"
	"image"
	"math/rand/v2"
)

// Spec says what to draw.
type Spec struct {
	// Prompt may be empty; only its first 4096 bytes are read.
	Prompt string
	// Seed varies the drawing: where things stand, not what they are.
	Seed uint64
	// Width and Height are pixels within the bounds that Snap keeps: 16 to 4096, and
	// no more than 8,294,400 together. They need not be multiples of 16.
	Width, Height int
	// Quality is low, medium (also standard, auto and empty) or high (also hd): how much
	// there is in the drawing. The size is not affected.
	Quality string
	// Background is opaque (also auto and empty) or transparent: then only the subject,
	// cut out, with everything around it at alpha 0.
	Background string
}

const (
	leastDrawn    = 16
	longestPrompt = 4096
)

// Draw makes the drawing. An error names the member of the Spec that is not accepted.
func Draw(spec Spec) (*image.NRGBA, error) {
	detail, err := detailOf(spec.Quality)
	if err != nil {
		return nil, err
	}
	transparent := spec.Background == "transparent"
	switch spec.Background {
	case "", "auto", "opaque", "transparent":
	default:
		return nil, fmt.Errorf("background %.40q is not accepted: use opaque, transparent or auto", spec.Background)
	}
	if w, h := spec.Width, spec.Height; min(w, h) < leastDrawn || max(w, h) > MaxEdge || w*h > MaxPixels {
		return nil, fmt.Errorf("size %dx%d cannot be drawn: each side has %d to %d pixels, %d together at most",
			w, h, leastDrawn, MaxEdge, MaxPixels)
	}

	prompt := spec.Prompt[:min(len(spec.Prompt), longestPrompt)]
	h := fnv.New64a()
	h.Write([]byte(prompt))
	p := &painter{
		canvas: newCanvas(spec.Width, spec.Height),
		look:   rand.New(rand.NewPCG(h.Sum64(), 0)),           //nolint:gosec // equal prompts give equal drawings
		place:  rand.New(rand.NewPCG(h.Sum64(), spec.Seed+1)), //nolint:gosec // likewise
		detail: detail,
		theme:  read(prompt),
	}
	p.unit = float64(min(p.w, p.h))
	// The roll is made either way, so that a word of the table changes nothing else.
	if p.view = hills + view(p.look.IntN(int(lastView))); p.theme.view != anyView {
		p.view = p.theme.view
	}
	if p.view == space && p.theme.when == anyHour && len(p.theme.figures) == 0 {
		p.theme.when = night
	}
	p.palette = newPalette(p.theme, p.look)
	switch {
	case len(p.theme.figures) > 0:
		p.still(transparent)
	default:
		p.scene()
		if transparent {
			p.cutOut()
		}
	}
	p.caption(prompt, transparent)
	return p.img, nil
}

// painter is one drawing in the making. What look decides (palette, scene) depends
// only on the prompt; what place decides varies with the seed too.
type painter struct {
	*canvas
	look, place *rand.Rand
	detail      int // 0 low, 1 medium, 2 high
	unit        float64
	theme       theme
	view        view // the theme's, or the one of the hash
	palette     palette
}

func detailOf(quality string) (int, error) {
	switch quality {
	case "low":
		return 0, nil
	case "", "auto", "medium", "standard":
		return 1, nil
	case "high", "hd":
		return 2, nil
	}
	return 0, fmt.Errorf("quality %.40q is not accepted: use low, medium, high or auto", quality)
}

// between returns a number from low to high that depends on the seed.
func (p *painter) between(low, high float64) float64 {
	return low + float64(p.place.Float64()*(high-low))
}
