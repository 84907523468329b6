package fit

import (
	"slices"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// counts are the counts of tokens that not every protocol has. Counts of only texts are not
// among them: the totals and the other counts say it.
var counts = []struct {
	name   string
	of     func(*genwayv1.Usage) int64
	lostIn []genwayv1.Protocol
}{
	{"cache_read_input_tokens", (*genwayv1.Usage).GetCacheReadInputTokens, []genwayv1.Protocol{images}},
	{"cache_write_input_tokens", (*genwayv1.Usage).GetCacheWriteInputTokens, []genwayv1.Protocol{generateContent, images}},
	{"thinking_tokens", (*genwayv1.Usage).GetThinkingTokens, []genwayv1.Protocol{images}},
	{"input_image_tokens", (*genwayv1.Usage).GetInputImageTokens, []genwayv1.Protocol{responses, messages}},
	{"input_audio_tokens", (*genwayv1.Usage).GetInputAudioTokens, []genwayv1.Protocol{responses, messages, images}},
	{"output_image_tokens", (*genwayv1.Usage).GetOutputImageTokens, []genwayv1.Protocol{responses, messages}},
	{"output_audio_tokens", (*genwayv1.Usage).GetOutputAudioTokens, []genwayv1.Protocol{responses, messages, images}},
	{"tool_use_input_tokens", (*genwayv1.Usage).GetToolUseInputTokens, []genwayv1.Protocol{chat, responses, messages, images}},
	{"accepted_prediction_tokens", (*genwayv1.Usage).GetAcceptedPredictionTokens, []genwayv1.Protocol{responses, messages, generateContent, images}},
	{"rejected_prediction_tokens", (*genwayv1.Usage).GetRejectedPredictionTokens, []genwayv1.Protocol{responses, messages, generateContent, images}},
}

// lifetimes are the lifetimes of writes to a cache that a protocol counts apart.
var lifetimes = map[genwayv1.Protocol][]string{messages: {"5m", "1h"}, responses: {"30m", "12h"}}

// unplacedWrite reports whether the protocol has no count for a write to a cache. That all of it is kept for five
// minutes need not be said, since that is the vendor's default.
func unplacedWrite(u *genwayv1.Usage, w *genwayv1.CacheWrite, protocol genwayv1.Protocol) bool {
	default5m := w.GetTtl() == "5m" && w.GetTokens() == u.GetCacheWriteInputTokens()
	return w.GetTokens() != 0 && !default5m && !slices.Contains(lifetimes[protocol], w.GetTtl())
}

// UnplacedCounts names in losses the counts that are not zero and that the protocol does not have.
func UnplacedCounts(usage *genwayv1.Usage, protocol genwayv1.Protocol, losses *codec.Losses) {
	for _, c := range counts {
		if c.of(usage) != 0 && slices.Contains(c.lostIn, protocol) {
			losses.Add("usage."+c.name, apart)
		}
	}
	for _, w := range usage.GetCacheWrites() {
		if unplacedWrite(usage, w, protocol) {
			losses.Add("usage.cache_writes", apart)
			break
		}
	}
}

const apart = "the target protocol does not count these apart"

// usage names what of a usage the protocol does not have.
func (u unplacedInAnswer) usage(usage *genwayv1.Usage) {
	UnplacedCounts(usage, u.protocol, u.losses)
	for _, f := range usage.GetNativeFields() {
		if f.GetProtocol() != u.protocol && !member.IsMark(f) {
			u.losses.Add("usage."+f.GetName(), noPlace)
		}
	}
}
