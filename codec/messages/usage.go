package messages

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/codec/setting"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// noGeo is the vendor's word when nothing else is known.
const noGeo = "not_available"

// merge takes over the counts of a later report. Counts are cumulative: each
// replaces the one before unless it is zero, and none is added (case U5).
func (u *wireUsage) merge(later *wireUsage) {
	if later == nil {
		return
	}
	for _, c := range []struct{ into, from **int64 }{
		{&u.InputTokens, &later.InputTokens},
		{&u.OutputTokens, &later.OutputTokens},
		{&u.CacheCreationInputTokens, &later.CacheCreationInputTokens},
		{&u.CacheReadInputTokens, &later.CacheReadInputTokens},
	} {
		if *c.into == nil || count(*c.from) != 0 {
			*c.into = first(*c.from, *c.into)
		}
	}
	if c := later.CacheCreation; c != nil && (u.CacheCreation == nil || count(c.Ephemeral5m)+count(c.Ephemeral1h) != 0) {
		u.CacheCreation = c
	}
	if d := later.OutputTokensDetails; d != nil && (u.OutputTokensDetails == nil || count(d.ThinkingTokens) != 0) {
		u.OutputTokensDetails = d
	}
	if later.ServiceTier != "" {
		u.ServiceTier = later.ServiceTier
	}
	if later.InferenceGeo != "" {
		u.InferenceGeo = later.InferenceGeo
	}
	for _, f := range natives(later.Extra) {
		if u.Extra == nil {
			u.Extra = jsontext.Value("{}")
		}
		// Both are members of a body that was just decoded, so this cannot fail.
		u.Extra, _ = member.Patch(u.Extra, member.Member{Name: f.Name, Value: f.Json})
	}
}

func first(a, b *int64) *int64 {
	if a != nil {
		return a
	}
	return b
}

func count(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

// canonical converts the usage of an answer of a model.
func (u *wireUsage) canonical(model string) *genwayv1.Usage {
	if u == nil {
		return nil
	}
	out := u.counts()
	out.NativeFields = append(natives(u.Extra), out.NativeFields...)
	out.ServiceTier = u.ServiceTier
	out.Speed = member.Raw(native(out.NativeFields, "speed")).String()
	out.Tools = member.ToolCalls(native(out.NativeFields, "server_tool_use"))
	if list := native(out.NativeFields, "iterations"); list != nil {
		iterated(out, list, model)
	}
	if u.InferenceGeo != "" && u.InferenceGeo != noGeo {
		out.InferenceGeo = u.InferenceGeo
		out.NativeFields = append(out.NativeFields, word("inference_geo", u.InferenceGeo))
	}
	return out
}

// counts converts counts: the vendor's input_tokens are those neither read from
// nor written to the cache (case U2).
func (u *wireUsage) counts() *genwayv1.Usage {
	out := &genwayv1.Usage{
		InputTokens:           codec.Sum(count(u.InputTokens), count(u.CacheReadInputTokens), count(u.CacheCreationInputTokens)),
		OutputTokens:          count(u.OutputTokens),
		CacheReadInputTokens:  u.CacheReadInputTokens,
		CacheWriteInputTokens: u.CacheCreationInputTokens,
	}
	out.TotalTokens = codec.Sum(out.InputTokens, out.OutputTokens)
	if c := u.CacheCreation; c != nil {
		for _, w := range []struct {
			ttl    string
			tokens *int64
		}{{"5m", c.Ephemeral5m}, {"1h", c.Ephemeral1h}} {
			if w.tokens != nil {
				out.CacheWrites = append(out.CacheWrites, &genwayv1.CacheWrite{Ttl: w.ttl, Tokens: *w.tokens})
			}
		}
		out.CacheWrites = append(out.CacheWrites, member.CacheWrites(c.Extra)...)
		out.NativeFields = append(out.NativeFields, nested("cache_creation", c.Extra)...)
	}
	if d := u.OutputTokensDetails; d != nil {
		out.ThinkingTokens = d.ThinkingTokens
		out.NativeFields = append(out.NativeFields, nested("output_tokens_details", d.Extra)...)
	}
	return out
}

// iteration is an element of usage.iterations (SDK: BetaIterationsUsage).
type iteration struct {
	Type                     string         `json:"type"`
	Model                    string         `json:"model"`
	InputTokens              *int64         `json:"input_tokens"`
	OutputTokens             *int64         `json:"output_tokens"`
	CacheCreationInputTokens *int64         `json:"cache_creation_input_tokens"`
	CacheReadInputTokens     *int64         `json:"cache_read_input_tokens"`
	CacheCreation            *cacheCreation `json:"cache_creation"`
}

func (i *iteration) counts() *genwayv1.Usage {
	w := wireUsage{
		InputTokens: i.InputTokens, OutputTokens: i.OutputTokens, CacheCreation: i.CacheCreation,
		CacheCreationInputTokens: i.CacheCreationInputTokens, CacheReadInputTokens: i.CacheReadInputTokens,
	}
	u := w.counts()
	u.NativeFields = nil
	return u
}

const (
	iterationMessage  = "message"
	iterationFallback = "fallback_message"
)

// iterated adds what iterations say of other models to a usage, and of what the same one did beside the answer.
//
// The totals are those of the model that serves: of the fallback_message if there is one, else of the answer. By the SDK's
// BetaUsage a compaction is not in the totals, nor is an advisor_message; by its fallback middleware, nor is the message
// of a model that declined. Any other entry is a call that the vendor bills as well. Where the totals are the sum
// of all messages nevertheless, those of other models are taken out of them.
func iterated(u *genwayv1.Usage, list jsontext.Value, model string) {
	var all []iteration
	member.Fit(list, &all)
	serving := ""
	for i := range all {
		switch {
		case all[i].Type == iterationFallback:
			serving = all[i].Model
			u.Model = serving
		case all[i].Type == iterationMessage && serving == "" && all[i].Model == model:
			serving = model
		}
	}
	sum := &genwayv1.Usage{}
	var messages []*genwayv1.ModelUsage
	for i := range all {
		it := &all[i]
		other := &genwayv1.ModelUsage{Kind: it.Type, Model: it.Model, Usage: it.counts()}
		switch {
		case other.Usage.InputTokens == 0 && other.Usage.OutputTokens == 0:
			continue // nothing is billed
		case it.Type != iterationMessage && it.Type != iterationFallback:
			u.Models = append(u.Models, other)
			continue
		case serving != "" && it.Model != "" && it.Model != serving:
			u.Models = append(u.Models, other)
			messages = append(messages, other)
		}
		sum.InputTokens, sum.OutputTokens = codec.Sum(sum.InputTokens, other.Usage.InputTokens), codec.Sum(sum.OutputTokens, other.Usage.OutputTokens)
	}
	if len(messages) == 0 || sum.InputTokens != u.InputTokens || sum.OutputTokens != u.OutputTokens {
		return
	}
	for _, m := range messages {
		subtract(u, m.Usage)
	}
}

// subtract takes the counts of a part out of a sum.
func subtract(sum, part *genwayv1.Usage) {
	sum.InputTokens, sum.OutputTokens, sum.TotalTokens = sum.InputTokens-part.InputTokens, sum.OutputTokens-part.OutputTokens, sum.TotalTokens-part.TotalTokens
	for _, n := range []struct{ from, part *int64 }{
		{sum.CacheReadInputTokens, part.CacheReadInputTokens}, {sum.CacheWriteInputTokens, part.CacheWriteInputTokens},
	} {
		if n.from != nil && n.part != nil {
			*n.from -= *n.part
		}
	}
	for _, of := range part.CacheWrites {
		for _, from := range sum.CacheWrites {
			if from.Ttl == of.Ttl {
				from.Tokens -= of.Tokens
			}
		}
	}
}

// cacheWrites returns the tokens that a cache keeps for five minutes, and for an hour. Five minutes is the vendor's
// default for what was written.
func cacheWrites(u *genwayv1.Usage) (short, long int64) {
	for _, w := range u.GetCacheWrites() {
		switch w.GetTtl() {
		case "5m":
			short = w.GetTokens()
		case "1h":
			long = w.GetTokens()
		}
	}
	if short == 0 && long == 0 {
		short = u.GetCacheWriteInputTokens()
	}
	return short, long
}

// usage writes the usage member with every count of the vendor's Usage, zero where
// nothing was reported.
func (w *writer) usage(u *genwayv1.Usage, tier string) {
	read, write := u.GetCacheReadInputTokens(), u.GetCacheWriteInputTokens()
	w.Object("usage")
	w.Int("input_tokens", max(u.GetInputTokens()-read-write, 0))
	w.Int("cache_creation_input_tokens", write)
	w.Int("cache_read_input_tokens", read)
	short, long := cacheWrites(u)
	w.Object("cache_creation")
	w.Int("ephemeral_5m_input_tokens", short)
	w.Int("ephemeral_1h_input_tokens", long)
	w.merge(u.GetNativeFields(), "cache_creation", "usage")
	w.End()
	w.Int("output_tokens", u.GetOutputTokens())
	w.Object("output_tokens_details")
	w.Int("thinking_tokens", u.GetThinkingTokens())
	w.merge(u.GetNativeFields(), "output_tokens_details", "usage")
	w.End()
	w.Str("service_tier", setting.Tier(protocol, tier))
	if native(u.GetNativeFields(), "inference_geo") == nil {
		w.Str("inference_geo", noGeo)
	}
	for _, name := range []string{"server_tool_use", "speed"} {
		if native(u.GetNativeFields(), name) == nil {
			w.Null(name)
		}
	}
	w.natives(u.GetNativeFields(), "usage", nil, "cache_creation", "output_tokens_details")
	w.End()
}

const stopReasonName = "stop_reason"

// decodeStop returns why a candidate ended, and the explanation of a refusal. A word that the vendor's SDK does not
// have is kept and marked as of this protocol.
func decodeStop(word string, details jsontext.Value) (reason genwayv1.StopReason, explanation string, fields []*genwayv1.NativeField) {
	reason = codec.StopReasonOf(word)
	explanation, fields = stopDetails(details)
	if codec.Unworded(reason) {
		fields = append(fields, member.Mark(protocol, stopReasonName))
	}
	return reason, explanation, fields
}

// decodeEnd returns how the candidate of a stream ended.
func decodeEnd(word string, sequence *string, details jsontext.Value) *genwayv1.CandidateEnd {
	end := &genwayv1.CandidateEnd{NativeStopReason: word, StopSequence: sequence}
	end.StopReason, end.StopMessage, end.NativeFields = decodeStop(word, details)
	return end
}

// ending is how a candidate ended, as unary answers and streams know it.
type ending struct {
	reason   genwayv1.StopReason
	native   string
	calls    bool // a tool call was made
	refusals bool // there was a refusal
}

// word is the stop_reason of an ending, and the upstream's own word where that does not say it all. The vendor's
// own word stays; a turn that calls tools and was not cut ends with tool_use (cases T1 and T3).
func (e ending) word(fields []*genwayv1.NativeField) (word, beside string) {
	if member.Marked(protocol, fields, stopReasonName) {
		return e.native, ""
	}
	switch e.reason { //nolint:exhaustive // all others are in the table
	case genwayv1.StopReason_STOP_REASON_END_TURN, genwayv1.StopReason_STOP_REASON_UNSPECIFIED:
		switch {
		case e.native == "end_turn":
		case e.calls:
			return "tool_use", ""
		case e.refusals:
			return "refusal", ""
		}
		return "end_turn", ""
	}
	if own, known := codec.VendorStopWord(protocol, e.native); known && codec.StopReasonOf(own) == e.reason {
		return own, ""
	}
	if codec.Unworded(e.reason) {
		beside = e.native
	}
	return codec.StopWord(protocol, e.reason), beside
}

// stopDetails returns the explanation of a refusal, and the details as written.
func stopDetails(raw jsontext.Value) (explanation string, fields []*genwayv1.NativeField) {
	if raw.Kind() != '{' {
		return "", nil
	}
	return memberText(raw, "explanation"), []*genwayv1.NativeField{whole("stop_details", raw)}
}

// stopDetails writes stop_details: null unless a refusal is explained.
func (w *writer) stopDetails(word, explanation string, fields []*genwayv1.NativeField, losses *codec.Losses) {
	if kept := native(fields, "stop_details"); kept != nil {
		w.raw("stop_details", kept, "candidates[0].native_fields")
		return
	}
	if word != "refusal" && explanation != "" {
		losses.Add("candidates[0].stop_message", "the messages protocol explains refusals only")
	}
	if word != "refusal" || explanation == "" {
		w.Null("stop_details")
		return
	}
	w.Object("stop_details")
	w.Str("type", "refusal")
	w.Null("category")
	w.Str("explanation", explanation)
	w.End()
}
