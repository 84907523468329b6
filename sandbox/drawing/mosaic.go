package drawing

import "image"

// Mosaic gives an image of the same size in tiles of one colour each, that of the tile's
// middle. The longer side has as many tiles as stated, at least 1.
func Mosaic(img *image.NRGBA, tiles int) *image.NRGBA {
	bounds := img.Bounds()
	edge := max((max(bounds.Dx(), bounds.Dy())+tiles-1)/max(tiles, 1), 1)
	out := image.NewNRGBA(bounds)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			out.SetNRGBA(x, y, img.NRGBAAt(middle(x, bounds.Min.X, bounds.Max.X, edge), middle(y, bounds.Min.Y, bounds.Max.Y, edge)))
		}
	}
	return out
}

// middle is that of the tile in which a coordinate is.
func middle(at, from, to, edge int) int {
	return min(at-(at-from)%edge+edge/2, to-1)
}
