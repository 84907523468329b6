package codec

import (
	"math"

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

// ShownUsage gives usage as callers may see it: without negative numbers, which an upstream that counts
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
	return false
}

// details are the numbers that may be absent.
func details(u *genwayv1.Usage) [14]**int64 {
	return [...]**int64{
		&u.CacheReadInputTokens, &u.CacheWriteInputTokens, &u.CacheWrite_5MInputTokens, &u.CacheWrite_1HInputTokens,
		&u.ThinkingTokens, &u.InputTextTokens, &u.InputImageTokens, &u.InputAudioTokens,
		&u.OutputTextTokens, &u.OutputImageTokens, &u.OutputAudioTokens, &u.ToolUseInputTokens,
		&u.AcceptedPredictionTokens, &u.RejectedPredictionTokens,
	}
}
