package tokens

// The rules of images, each published by a vendor for its models and taken here as
// the sandbox's own, since a count has to come from somewhere a reader can check.
const (
	imageBase     = 85   // tokens of any image that is read
	imageTile     = 170  // tokens of each tile at high detail
	tileSide      = 512  // pixels
	longestSide   = 2048 // an image is first scaled down to fit this square,
	shortestSide  = 768  // then until its shorter side is no more than this
	largestPixels = 1 << 20
)

// Image estimates what reading an image costs.
//
//	detail            rule
//	low               85
//	any other, or ""  scale down into 2048 x 2048, then down to a shorter side of
//	                  768; 85 + 170 for each tile of 512 x 512 it touches
//
// This is the tile rule OpenAI publishes for its vision models. An image of unknown
// size (a side of zero or less) costs 85; sides above 1,048,576 are taken for that.
func Image(width, height int, detail string) int {
	if width <= 0 || height <= 0 || detail == "low" {
		return imageBase
	}
	w, h := min(width, largestPixels), min(height, largestPixels)
	w, h = scaleDown(w, h, max(w, h), longestSide)
	w, h = scaleDown(w, h, min(w, h), shortestSide)
	return imageBase + imageTile*tiles(w)*tiles(h)
}

// Drawing is what producing an image of this size costs: one token for each square
// patch plus one that ends each row of patches, where a patch is 16 pixels wide at
// high quality, 32 at medium and 64 at low.
//
//	quality            patch   1024x1024   1024x1536
//	low                64      272         408
//	medium, auto, ""   32      1056        1584
//	high and others    16      4160        6240
//
// The figures are those OpenAI publishes for its image models at these sizes. A side
// of zero or less costs nothing; sides above 1,048,576 are taken for that.
func Drawing(width, height int, quality string) int {
	if width <= 0 || height <= 0 {
		return 0
	}
	patch := 16
	switch quality {
	case "low":
		patch = 64
	case "medium", "auto", "":
		patch = 32
	}
	columns := (min(width, largestPixels) + patch - 1) / patch
	rows := (min(height, largestPixels) + patch - 1) / patch
	return rows * (columns + 1)
}

// scaleDown scales w x h by limit/side when side is above limit. No side vanishes.
func scaleDown(w, h, side, limit int) (int, int) {
	if side <= limit {
		return w, h
	}
	return max(w*limit/side, 1), max(h*limit/side, 1)
}

func tiles(side int) int { return (side + tileSide - 1) / tileSide }
