package overload

import (
	"math"
	"time"
)

// average is that of a rate in the last averageOf, which weighs the latest most.
type average struct{ sum, weight float64 }

const averageOf = 300 * time.Millisecond

func (a *average) add(n float64, in time.Duration) {
	keep := math.Exp(-in.Seconds() / averageOf.Seconds())
	a.sum, a.weight = a.sum*keep+n, a.weight*keep+in.Seconds()
}

// rate is a second's, 0 when nothing was added.
func (a *average) rate() float64 {
	if a.weight == 0 {
		return 0
	}
	return a.sum / a.weight
}
