package generatecontent

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/codec/setting"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The names of the details by modality.
const (
	promptDetails    = "promptTokensDetails"
	candidateDetails = "candidatesTokensDetails"
)

// canonical returns the counts as the contract has them: output includes thoughts, and
// input includes the results of the vendor's own tools, which the SDK's
// GenerateContentResponseUsageMetadata counts beside the prompt. A
// breakdown with modalities the contract does not know also stays a native field,
// which is then the one that is written back.
func (w *usage) canonical() *genwayv1.Usage {
	u := &genwayv1.Usage{
		ServiceTier:          w.ServiceTier,
		InputTokens:          int64(w.PromptTokenCount),
		OutputTokens:         int64(w.CandidatesTokenCount),
		TotalTokens:          int64(w.TotalTokenCount),
		CacheReadInputTokens: int64Of(w.CachedContentTokenCount),
		ThinkingTokens:       int64Of(w.ThoughtsTokenCount),
		ToolUseInputTokens:   int64Of(w.ToolUsePromptTokenCount),
	}
	u.InputTokens = codec.Sum(u.InputTokens, u.GetToolUseInputTokens())
	u.OutputTokens = codec.Sum(u.OutputTokens, u.GetThinkingTokens())
	codec.Completed(u)
	// A name that no native field can have is left out: costs do not depend on it.
	u.NativeFields, _ = natives(w.Extra, "usageMetadata", nil)
	if u.ServiceTier == "" { // Vertex AI says it so
		u.ServiceTier = member.Raw(member.Native(protocol, u.NativeFields, "trafficType")).String()
	}
	if !shares(w.PromptTokensDetails, &u.InputTextTokens, &u.InputImageTokens, &u.InputAudioTokens) {
		u.NativeFields = append(u.NativeFields, native(promptDetails, w.PromptTokensDetails))
	}
	if !shares(w.CandidatesTokensDetails, &u.OutputTextTokens, &u.OutputImageTokens, &u.OutputAudioTokens) {
		u.NativeFields = append(u.NativeFields, native(candidateDetails, w.CandidatesTokensDetails))
	}
	return u
}

// encodeUsage writes the counts; nil when there are none.
func encodeUsage(u *genwayv1.Usage, tier string, losses *codec.Losses) (*usage, error) {
	if u == nil {
		return nil, nil
	}
	w := &usage{
		PromptTokenCount:        integer(max(0, u.InputTokens-u.GetToolUseInputTokens())),
		CandidatesTokenCount:    integer(max(0, u.OutputTokens-u.GetThinkingTokens())),
		TotalTokenCount:         integer(u.TotalTokens),
		CachedContentTokenCount: integerOf(u.CacheReadInputTokens),
		ThoughtsTokenCount:      integerOf(u.ThinkingTokens),
		ToolUsePromptTokenCount: integerOf(u.ToolUseInputTokens),
		ServiceTier:             setting.Tier(protocol, tier),
	}
	if w.TotalTokenCount == 0 {
		w.TotalTokenCount = integer(codec.Sum(u.InputTokens, u.OutputTokens))
	}
	var err error
	if w.Extra, err = member.Extra(protocol, u.NativeFields, "usage", losses); err != nil {
		return nil, err
	}
	if member.Native(protocol, u.NativeFields, promptDetails) == nil {
		w.PromptTokensDetails = breakdown(u.InputTextTokens, u.InputImageTokens, u.InputAudioTokens)
	}
	if member.Native(protocol, u.NativeFields, candidateDetails) == nil {
		w.CandidatesTokensDetails = breakdown(u.OutputTextTokens, u.OutputImageTokens, u.OutputAudioTokens)
	}
	return w, nil
}

// shares reads a breakdown by modality (SDK type ModalityTokenCount); false when
// it says more than the three counts.
func shares(raw jsontext.Value, text, image, audio **int64) bool {
	if !present(raw) {
		return true
	}
	var details []modalityTokens
	if json.Unmarshal(raw, &details, member.Options()) != nil {
		return false
	}
	whole := len(details) > 0
	for i := range details {
		d := &details[i]
		count := int64(d.TokenCount)
		var into **int64
		switch d.Modality {
		case "TEXT":
			into = text
		case "IMAGE":
			into = image
		case "AUDIO":
			into = audio
		}
		if into == nil || *into != nil || len(d.Extra) > 0 {
			whole = false
			continue
		}
		*into = &count
	}
	return whole
}

// breakdown writes the three counts; nil when none is known.
func breakdown(text, image, audio *int64) jsontext.Value {
	var to member.Writer
	to.BeginList()
	for _, d := range []struct {
		modality string
		count    *int64
	}{{"TEXT", text}, {"IMAGE", image}, {"AUDIO", audio}} {
		if d.count != nil {
			to.Begin()
			to.Str("modality", d.modality)
			to.Int("tokenCount", *d.count)
			to.End()
		}
	}
	to.EndList()
	if len(to.Text()) == len("[]") {
		return nil
	}
	return to.Text()
}

// sum is the total of the counts.
func (w *usage) sum() integer {
	return integer(codec.Sum(int64(w.PromptTokenCount), int64(w.CandidatesTokenCount), int64Value(w.ThoughtsTokenCount), int64Value(w.ToolUsePromptTokenCount)))
}

func int64Value(n *integer) int64 {
	if n == nil {
		return 0
	}
	return int64(*n)
}

// add merges the counts of a later frame: what it reports stands, what it leaves
// out or returns as zero does not undo what was known (case U5), unless its counts sum to its total, which then says that
// there is nothing else. An earlier total does not stay beside counts that exceed it.
func (w *usage) add(later *usage) {
	if later.TotalTokenCount > 0 && later.TotalTokenCount >= w.TotalTokenCount && later.sum() == later.TotalTokenCount {
		w.ThoughtsTokenCount, w.ToolUsePromptTokenCount = nil, nil
	}
	defer func() {
		if later.TotalTokenCount == 0 && w.sum() > w.TotalTokenCount {
			w.TotalTokenCount = 0
		}
	}()
	for _, c := range []struct{ have, more *integer }{
		{&w.PromptTokenCount, &later.PromptTokenCount},
		{&w.CandidatesTokenCount, &later.CandidatesTokenCount},
		{&w.TotalTokenCount, &later.TotalTokenCount},
	} {
		if *c.more != 0 {
			*c.have = *c.more
		}
	}
	for _, c := range []struct {
		have **integer
		more *integer
	}{
		{&w.CachedContentTokenCount, later.CachedContentTokenCount},
		{&w.ThoughtsTokenCount, later.ThoughtsTokenCount},
		{&w.ToolUsePromptTokenCount, later.ToolUsePromptTokenCount},
	} {
		if c.more != nil && (*c.have == nil || *c.more != 0) {
			*c.have = c.more
		}
	}
	for _, c := range []struct {
		have *jsontext.Value
		more jsontext.Value
	}{
		{&w.PromptTokensDetails, later.PromptTokensDetails},
		{&w.CandidatesTokensDetails, later.CandidatesTokensDetails},
		{&w.Extra, later.Extra},
	} {
		if present(c.more) && !isEmpty(c.more) {
			*c.have = c.more
		}
	}
	if later.ServiceTier != "" {
		w.ServiceTier = later.ServiceTier
	}
}
