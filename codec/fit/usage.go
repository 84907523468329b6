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
	{"cache_write_5m_input_tokens", shortWrites, []genwayv1.Protocol{chat, responses, generateContent, images}},
	{"cache_write_1h_input_tokens", (*genwayv1.Usage).GetCacheWrite_1HInputTokens, []genwayv1.Protocol{chat, responses, generateContent, images}},
	{"thinking_tokens", (*genwayv1.Usage).GetThinkingTokens, []genwayv1.Protocol{images}},
	{"input_image_tokens", (*genwayv1.Usage).GetInputImageTokens, []genwayv1.Protocol{responses, messages}},
	{"input_audio_tokens", (*genwayv1.Usage).GetInputAudioTokens, []genwayv1.Protocol{responses, messages, images}},
	{"output_image_tokens", (*genwayv1.Usage).GetOutputImageTokens, []genwayv1.Protocol{responses, messages}},
	{"output_audio_tokens", (*genwayv1.Usage).GetOutputAudioTokens, []genwayv1.Protocol{responses, messages, images}},
	{"tool_use_input_tokens", (*genwayv1.Usage).GetToolUseInputTokens, []genwayv1.Protocol{chat, responses, messages, images}},
	{"accepted_prediction_tokens", (*genwayv1.Usage).GetAcceptedPredictionTokens, []genwayv1.Protocol{responses, messages, generateContent, images}},
	{"rejected_prediction_tokens", (*genwayv1.Usage).GetRejectedPredictionTokens, []genwayv1.Protocol{responses, messages, generateContent, images}},
}

// shortWrites gives the tokens that the cache keeps for five minutes; 0 when that is all that
// was written to it, since five minutes is the vendor's default.
func shortWrites(u *genwayv1.Usage) int64 {
	if n := u.GetCacheWrite_5MInputTokens(); n != u.GetCacheWriteInputTokens() {
		return n
	}
	return 0
}

// UnplacedCounts names in losses the counts that are not zero and that the protocol does not have.
func UnplacedCounts(usage *genwayv1.Usage, protocol genwayv1.Protocol, losses *codec.Losses) {
	for _, c := range counts {
		if c.of(usage) != 0 && slices.Contains(c.lostIn, protocol) {
			losses.Add("usage."+c.name, "the target protocol does not count these apart")
		}
	}
}

// usage names what of a usage the protocol does not have.
func (u unplacedInAnswer) usage(usage *genwayv1.Usage) {
	UnplacedCounts(usage, u.protocol, u.losses)
	for _, f := range usage.GetNativeFields() {
		if f.GetProtocol() != u.protocol && !member.IsMark(f) {
			u.losses.Add("usage."+f.GetName(), noPlace)
		}
	}
}
