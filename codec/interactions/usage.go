package interactions

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// The names of the counts by modality.
const (
	inputModalities  = "input_tokens_by_modality"
	outputModalities = "output_tokens_by_modality"
)

// canonical returns the counts as the contract has them: output includes thoughts, and input includes the results of the
// vendor's own tools. A breakdown that says more than the contract can hold also stays a native field, which is then
// the one that is written back.
func (w *usage) canonical() *genwayv1.Usage {
	if w == nil {
		return nil
	}
	u := &genwayv1.Usage{
		InputTokens:          codec.Sum(count(w.TotalInputTokens), count(w.TotalToolUseTokens)),
		OutputTokens:         codec.Sum(count(w.TotalOutputTokens), count(w.TotalThoughtTokens)),
		TotalTokens:          count(w.TotalTokens),
		CacheReadInputTokens: w.TotalCachedTokens,
		ThinkingTokens:       w.TotalThoughtTokens,
		ToolUseInputTokens:   w.TotalToolUseTokens,
	}
	codec.Completed(u)
	u.NativeFields = member.Natives(protocol, w.Extra, nil)
	u.Tools = groundings(member.Native(protocol, u.NativeFields, "grounding_tool_count"))
	if !shares(w.InputTokensByModality, &u.InputTextTokens, &u.InputImageTokens, &u.InputAudioTokens) {
		u.NativeFields = append(u.NativeFields, native(inputModalities, w.InputTokensByModality))
	}
	if !shares(w.OutputTokensByModality, &u.OutputTextTokens, &u.OutputImageTokens, &u.OutputAudioTokens) {
		u.NativeFields = append(u.NativeFields, native(outputModalities, w.OutputTokensByModality))
	}
	return u
}

func count(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

// groundings reads the calls of the vendor's own tools (SDK: GroundingToolCount).
func groundings(list jsontext.Value) (calls []*genwayv1.ToolUsage) {
	for _, raw := range member.Elements(list) {
		var g struct {
			Type  string `json:"type"`
			Count int64  `json:"count"`
		}
		if member.Fit(raw, &g); g.Type != "" && g.Count > 0 {
			calls = append(calls, &genwayv1.ToolUsage{Tool: g.Type, Calls: g.Count})
		}
	}
	return calls
}

// shares reads a breakdown by modality (SDK: ModalityTokens); false when it says more than the three counts.
func shares(list jsontext.Value, text, image, audio **int64) bool {
	if !present(list) {
		return true
	}
	whole := list.Kind() == '['
	for _, raw := range member.Elements(list) {
		var share struct {
			Modality string         `json:"modality"`
			Tokens   int64          `json:"tokens"`
			Extra    jsontext.Value `json:",embed"`
		}
		member.Fit(raw, &share)
		into := map[string]**int64{"text": text, "image": image, "audio": audio}[share.Modality]
		if into == nil || *into != nil || len(share.Extra) > 0 {
			whole = false
			continue
		}
		*into = new(share.Tokens)
	}
	return whole
}

// usage writes the counts; nothing when there are none.
func (w *writer) usage(u *genwayv1.Usage) {
	if u == nil {
		return
	}
	w.Object("usage")
	total := u.GetTotalTokens()
	if total == 0 {
		total = codec.Sum(u.GetInputTokens(), u.GetOutputTokens())
	}
	w.Int("total_tokens", total)
	w.Int("total_input_tokens", max(0, u.GetInputTokens()-u.GetToolUseInputTokens()))
	w.Int("total_output_tokens", max(0, u.GetOutputTokens()-u.GetThinkingTokens()))
	member.IntOpt(w.Writer, "total_cached_tokens", u.CacheReadInputTokens)
	member.IntOpt(w.Writer, "total_thought_tokens", u.ThinkingTokens)
	member.IntOpt(w.Writer, "total_tool_use_tokens", u.ToolUseInputTokens)
	if member.Native(protocol, u.GetNativeFields(), inputModalities) == nil {
		w.shares(inputModalities, u.InputTextTokens, u.InputImageTokens, u.InputAudioTokens)
	}
	if member.Native(protocol, u.GetNativeFields(), outputModalities) == nil {
		w.shares(outputModalities, u.OutputTextTokens, u.OutputImageTokens, u.OutputAudioTokens)
	}
	w.natives(u.GetNativeFields(), "usage")
	w.End()
}

// shares writes the three counts; nothing when none is known.
func (w *writer) shares(name string, text, image, audio *int64) {
	if text == nil && image == nil && audio == nil {
		return
	}
	w.List(name)
	for _, d := range []struct {
		modality string
		count    *int64
	}{{"text", text}, {"image", image}, {"audio", audio}} {
		if d.count != nil {
			w.Begin()
			w.Str("modality", d.modality)
			w.Int("tokens", *d.count)
			w.End()
		}
	}
	w.EndList()
}
