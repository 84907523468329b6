package drawing

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
)

// The bounds of a size. MaxPixels is that of 3840x2160.
const (
	MinEdge     = 64
	MaxEdge     = 4096
	MaxPixels   = 3840 * 2160
	edgeStep    = 16
	defaultEdge = 1024
)

var sizeForm = regexp.MustCompile(`^([1-9][0-9]{0,3})x([1-9][0-9]{0,3})$`)

var errSize = errors.New(`use "auto", or "<width>x<height>" in pixels, each from 1 to 4096, such as "1024x1024"`)

// Snap turns a requested size into the one that is drawn and returned:
//
//	requested                        drawn
//	"" or "auto"                     1024x1024
//	<width>x<height>, 1 to 4096      each side rounded to the nearest multiple of 16, a
//	                                 half up, and raised to 64 where it is below
//	of more than 8,294,400 pixels    scaled down in proportion until it has no more,
//	                                 sides rounded down to multiples of 16
//	anything else                    an error that names what is accepted: sides of zero
//	                                 or above 4096, signs, spaces, leading zeros, "X"
//	                                 and digits of other scripts included
//
// A size that is snapped already stays as it is.
func Snap(requested string) (width, height int, err error) {
	if requested == "" || requested == "auto" {
		return defaultEdge, defaultEdge, nil
	}
	match := sizeForm.FindStringSubmatch(requested)
	if match == nil {
		return 0, 0, fmt.Errorf("size %.40q is not accepted: %w", requested, errSize)
	}
	// Four digits cannot overflow.
	width, _ = strconv.Atoi(match[1])
	height, _ = strconv.Atoi(match[2])
	if max(width, height) > MaxEdge {
		return 0, 0, fmt.Errorf("size %.40q is not accepted: %w", requested, errSize)
	}
	width, height = snapEdge(width), snapEdge(height)
	if width*height > MaxPixels {
		scale := math.Sqrt(float64(MaxPixels) / float64(width*height))
		width = int(float64(width)*scale) / edgeStep * edgeStep
		height = int(float64(height)*scale) / edgeStep * edgeStep
	}
	return width, height, nil
}

func snapEdge(edge int) int {
	return max((edge+edgeStep/2)/edgeStep*edgeStep, MinEdge)
}
