package codec

import (
	"math"
	"slices"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

// Sum adds numbers of tokens. A sum beyond what an int64 holds is the nearest that it holds.
func Sum(counts ...int64) int64 {
	var sum int64
	for _, n := range counts {
		switch {
		case n > 0 && sum > math.MaxInt64-n:
			sum = math.MaxInt64
		case n < 0 && sum < math.MinInt64-n:
			sum = math.MinInt64
		default:
			sum += n
		}
	}
	return sum
}

// Completed completes a usage as an upstream reports it: a total that is not there, and output that only the total
// counts. xAI reports reasoning beside completion_tokens: 12 of the prompt, 1 and 386 of reasoning are 399. It
// returns u.
func Completed(u *genwayv1.Usage) *genwayv1.Usage {
	sum := Sum(u.InputTokens, u.OutputTokens)
	switch {
	case u.TotalTokens == 0:
		u.TotalTokens = sum
	case u.TotalTokens > sum && u.InputTokens >= 0 && u.OutputTokens >= 0:
		u.OutputTokens = u.TotalTokens - u.InputTokens
	}
	return u
}

// ShownUsage returns usage as callers may see it: without negative numbers, which an upstream that counts
// wrongly gives. A negative total or sum is 0, any other is absent. Usage without one is returned as
// it is, else a copy.
func ShownUsage(u *genwayv1.Usage) *genwayv1.Usage {
	if u == nil || !negative(u) {
		return u
	}
	u = proto.CloneOf(u)
	u.InputTokens, u.OutputTokens, u.TotalTokens = max(u.InputTokens, 0), max(u.OutputTokens, 0), max(u.TotalTokens, 0)
	for _, n := range details(u) {
		if *n != nil && **n < 0 {
			*n = nil
		}
	}
	u.CacheWrites = slices.DeleteFunc(u.CacheWrites, negativeWrite)
	return u
}

func negative(u *genwayv1.Usage) bool {
	if u.InputTokens < 0 || u.OutputTokens < 0 || u.TotalTokens < 0 {
		return true
	}
	for _, n := range details(u) {
		if *n != nil && **n < 0 {
			return true
		}
	}
	return slices.ContainsFunc(u.CacheWrites, negativeWrite)
}

func negativeWrite(w *genwayv1.CacheWrite) bool { return w.GetTokens() < 0 }

// details are the numbers that may be absent.
func details(u *genwayv1.Usage) [12]**int64 {
	return [...]**int64{
		&u.CacheReadInputTokens, &u.CacheWriteInputTokens,
		&u.ThinkingTokens, &u.InputTextTokens, &u.InputImageTokens, &u.InputAudioTokens,
		&u.OutputTextTokens, &u.OutputImageTokens, &u.OutputAudioTokens, &u.ToolUseInputTokens,
		&u.AcceptedPredictionTokens, &u.RejectedPredictionTokens,
	}
}

// Logprob returns a log probability that JSON can say. One that is not finite becomes -9999, which is the
// value of OpenAI's API for a token that is very unlikely (ChatCompletionTokenLogprob).
func Logprob(p float64) float64 {
	if math.IsInf(p, 0) || math.IsNaN(p) {
		return -9999
	}
	return p
}
