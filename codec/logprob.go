package codec

import "math"

// Logprob returns a log probability that JSON can say. One that is not finite becomes -9999, which is the
// value of OpenAI's API for a token that is very unlikely (ChatCompletionTokenLogprob).
func Logprob(p float64) float64 {
	if math.IsInf(p, 0) || math.IsNaN(p) {
		return -9999
	}
	return p
}
