package responses

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// wireUsage is ResponseUsage. As in the canonical usage, the input includes what
// was cached and the output the reasoning.
type wireUsage struct {
	InputTokens         int64             `json:"input_tokens"`
	InputTokensDetails  wireInputDetails  `json:"input_tokens_details"`
	OutputTokens        int64             `json:"output_tokens"`
	OutputTokensDetails wireOutputDetails `json:"output_tokens_details"`
	TotalTokens         int64             `json:"total_tokens"`
	Extra               jsontext.Value    `json:",embed"`
}

type wireInputDetails struct {
	CachedTokens     *int64         `json:"cached_tokens"`
	CacheWriteTokens *int64         `json:"cache_write_tokens"`
	Extra            jsontext.Value `json:",embed"`
}

type wireOutputDetails struct {
	ReasoningTokens *int64         `json:"reasoning_tokens"`
	Extra           jsontext.Value `json:",embed"`
}

const (
	ofInputDetails  = "input_tokens_details."
	ofOutputDetails = "output_tokens_details."
)

func (u *wireUsage) canonical() *genwayv1.Usage {
	if u == nil {
		return nil
	}
	out := &genwayv1.Usage{
		InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, TotalTokens: u.TotalTokens,
		CacheReadInputTokens:  u.InputTokensDetails.CachedTokens,
		CacheWriteInputTokens: u.InputTokensDetails.CacheWriteTokens,
		ThinkingTokens:        u.OutputTokensDetails.ReasoningTokens,
		NativeFields:          member.Natives(protocol, u.Extra, nil),
	}
	out.NativeFields = append(out.NativeFields, member.NativesUnder(protocol, ofInputDetails, u.InputTokensDetails.Extra)...)
	out.NativeFields = append(out.NativeFields, member.NativesUnder(protocol, ofOutputDetails, u.OutputTokensDetails.Extra)...)
	return out
}

// encodeUsage writes the usage member. The vendor's types require both details
// objects, with zeros for what was not reported.
func encodeUsage(w *member.Writer, u *genwayv1.Usage, losses *codec.Losses) {
	if u == nil {
		w.Null("usage")
		return
	}
	natives, ofInput := split(u.NativeFields, ofInputDetails)
	natives, ofOutput := split(natives, ofOutputDetails)
	total := u.TotalTokens
	if total == 0 {
		total = codec.Sum(u.InputTokens, u.OutputTokens)
	}
	w.Object("usage")
	w.Int("input_tokens", u.InputTokens)
	w.Object("input_tokens_details")
	w.Int("cached_tokens", u.GetCacheReadInputTokens())
	w.Int("cache_write_tokens", u.GetCacheWriteInputTokens())
	w.Spliced(extras(ofInput, "usage", losses))
	w.End()
	w.Int("output_tokens", u.OutputTokens)
	w.Object("output_tokens_details")
	w.Int("reasoning_tokens", u.GetThinkingTokens())
	w.Spliced(extras(ofOutput, "usage", losses))
	w.End()
	w.Int("total_tokens", total)
	w.Spliced(extras(natives, "usage", losses))
	w.End()
}
