package responses

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/codec/openai"
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

// writesByTTL is the member of input_tokens_details that counts the tokens written to a cache by their lifetime.
const writesByTTL = "cache_write_tokens_details"

// canonical converts the usage of a response that a tier has served.
func (u *wireUsage) canonical(tier string) *genwayv1.Usage {
	if u == nil {
		return nil
	}
	out := &genwayv1.Usage{
		InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, TotalTokens: u.TotalTokens, ServiceTier: tier,
		CacheReadInputTokens:  u.InputTokensDetails.CachedTokens,
		CacheWriteInputTokens: u.InputTokensDetails.CacheWriteTokens,
		ThinkingTokens:        u.OutputTokensDetails.ReasoningTokens,
		NativeFields:          member.Natives(protocol, u.Extra, nil),
	}
	out.NativeFields = append(out.NativeFields, member.NativesUnder(protocol, ofInputDetails, u.InputTokensDetails.Extra)...)
	out.NativeFields = append(out.NativeFields, member.NativesUnder(protocol, ofOutputDetails, u.OutputTokensDetails.Extra)...)
	out.CacheWrites = member.CacheWrites(member.Native(protocol, out.NativeFields, ofInputDetails+writesByTTL))
	out.Tools = member.ToolCalls(member.Native(protocol, out.NativeFields, "server_side_tool_usage_details")) // xAI
	return codec.Completed(out)
}

// billed is what a response says of usage outside of its member usage (SDK: BetaResponseToolUsage, SvgUsage).
type billed struct {
	Tools []struct {
		Type  string `json:"type"`
		Model string `json:"model"`
	} `json:"tools"`
	ToolUsage *struct {
		ImageGen  jsontext.Value `json:"image_gen"`
		WebSearch struct {
			NumRequests int64 `json:"num_requests"`
		} `json:"web_search"`
	} `json:"tool_usage"`
	Output []struct {
		SvgUsage jsontext.Value `json:"svg_usage"`
	} `json:"output"`
}

// withTools adds to a usage what a response, as it came, says beside it; most say nothing. Tools' own models bill tokens that are
// not in the totals. Without a name an image model is called as its tool is.
func withTools(u *genwayv1.Usage, response []byte) *genwayv1.Usage {
	if !bytes.Contains(response, []byte(`"tool_usage"`)) && !bytes.Contains(response, []byte(`"svg_usage"`)) {
		return u
	}
	var b billed
	member.Fit(response, &b)
	var models []*genwayv1.ModelUsage
	var tools []*genwayv1.ToolUsage
	if t := b.ToolUsage; t != nil {
		if t.WebSearch.NumRequests != 0 {
			tools = append(tools, &genwayv1.ToolUsage{Tool: "web_search", Calls: t.WebSearch.NumRequests})
		}
		model := fit.ImageTool
		for _, tool := range b.Tools {
			if tool.Type == fit.ImageTool {
				model = cmp.Or(tool.Model, model)
			}
		}
		models = append(models, openai.ModelUsage("image_gen", model, t.ImageGen)...)
	}
	for _, item := range b.Output {
		models = append(models, openai.ModelUsage("svg", "", item.SvgUsage)...)
	}
	if len(models)+len(tools) == 0 {
		return u
	}
	if u == nil {
		u = &genwayv1.Usage{}
	}
	u.Models, u.Tools = append(u.Models, models...), append(u.Tools, tools...)
	return u
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
	if !member.HasNative(ofInput, writesByTTL) {
		encodeCacheWrites(w, u.GetCacheWrites())
	}
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

// encodeCacheWrites writes the counts of the lifetimes that the vendor has, if there are any.
func encodeCacheWrites(w *member.Writer, writes []*genwayv1.CacheWrite) {
	byTTL := map[string]int64{}
	for _, c := range writes {
		if c.GetTtl() == "12h" || c.GetTtl() == "30m" {
			byTTL[c.GetTtl()] += c.GetTokens()
		}
	}
	if len(byTTL) == 0 {
		return
	}
	w.Object(writesByTTL)
	w.Int("ttl_12h_tokens", byTTL["12h"])
	w.Int("ttl_30m_tokens", byTTL["30m"])
	w.End()
}

// The statuses of a response (SDK: ResponseStatus) and of its items.
const (
	statusCompleted  = "completed"
	statusIncomplete = "incomplete"
	statusInProgress = "in_progress"
	statusFailed     = "failed"
	statusCancelled  = "cancelled"
	statusQueued     = "queued"
)

// reasonContentFilter is the reason of an answer to a prompt that was blocked (SDK: ResponseIncompleteDetails).
const reasonContentFilter = "content_filter"

// unfinished are the statuses of an answer that is not there yet, or never will be.
var unfinished = map[string]bool{statusInProgress: true, statusQueued: true, statusCancelled: true}

// reasonName marks a reason of incomplete_details that the vendor's SDK does not have.
const reasonName = "incomplete_details.reason"

// decodeStop reads how a response ended. The native word is the reason when the
// response is incomplete, else its status.
func decodeStop(status, reason string, called bool) (stop genwayv1.StopReason, word string, fields []*genwayv1.NativeField) {
	stop, word = stopReason(status, reason, called)
	if codec.Unworded(stop) && reason != "" {
		fields = []*genwayv1.NativeField{member.Mark(protocol, reasonName)}
	}
	return stop, word, fields
}

func stopReason(status, reason string, called bool) (genwayv1.StopReason, string) {
	switch status {
	case statusCompleted, "":
		if called {
			return genwayv1.StopReason_STOP_REASON_TOOL_CALL, statusCompleted
		}
		return genwayv1.StopReason_STOP_REASON_END_TURN, statusCompleted
	case statusIncomplete:
		if reason == "" {
			return genwayv1.StopReason_STOP_REASON_OTHER, statusIncomplete
		}
		if known := codec.StopReasonOf(reason); codec.Cut(known) {
			return known, reason
		}
		return genwayv1.StopReason_STOP_REASON_OTHER, reason
	}
	return genwayv1.StopReason_STOP_REASON_OTHER, status
}

// ending is how a response ends on the wire.
type ending struct {
	status string
	// reason of incomplete_details; "" is null.
	reason string
	// native is the upstream's own word, where the reason does not say it all.
	native string
}

// encodeStop is the inverse of decodeStop. A reason this protocol does not know is never a content filter
// (case T6).
func encodeStop(reason genwayv1.StopReason, native string, fields []*genwayv1.NativeField, refused bool) ending {
	switch {
	case reason == genwayv1.StopReason_STOP_REASON_REFUSAL && refused:
		return ending{status: statusCompleted}
	case codec.Unworded(reason) && native == statusIncomplete: // of a response that says no more
		return ending{status: statusIncomplete}
	case member.Marked(protocol, fields, reasonName):
		return ending{status: statusIncomplete, reason: native}
	}
	end := ending{status: statusCompleted, reason: codec.StopWord(protocol, reason)}
	if end.reason != "" {
		end.status = statusIncomplete
		if codec.Unworded(reason) {
			end.native = native
		}
	}
	return end
}

// called reports whether the answer asks the caller to run a tool.
func called(parts []*genwayv1.Part) bool {
	return slices.ContainsFunc(parts, func(p *genwayv1.Part) bool { return p.GetToolCall() != nil })
}

func refused(parts []*genwayv1.Part) bool {
	return slices.ContainsFunc(parts, func(p *genwayv1.Part) bool { return p.GetRefusal() != nil })
}
