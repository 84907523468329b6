package messages

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// The vendor's words when nothing else is known.
const (
	standardTier = "standard"
	noGeo        = "not_available"
)

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

// canonical converts counts: the vendor's input_tokens are those neither read from
// nor written to the cache (case U2).
func (u *wireUsage) canonical() *genwayv1.Usage {
	if u == nil {
		return nil
	}
	out := &genwayv1.Usage{
		InputTokens:           codec.Sum(count(u.InputTokens), count(u.CacheReadInputTokens), count(u.CacheCreationInputTokens)),
		OutputTokens:          count(u.OutputTokens),
		CacheReadInputTokens:  u.CacheReadInputTokens,
		CacheWriteInputTokens: u.CacheCreationInputTokens,
		NativeFields:          natives(u.Extra),
	}
	out.TotalTokens = codec.Sum(out.InputTokens, out.OutputTokens)
	if c := u.CacheCreation; c != nil {
		out.CacheWrite_5MInputTokens, out.CacheWrite_1HInputTokens = c.Ephemeral5m, c.Ephemeral1h
		out.NativeFields = append(out.NativeFields, nested("cache_creation", c.Extra)...)
	}
	if d := u.OutputTokensDetails; d != nil {
		out.ThinkingTokens = d.ThinkingTokens
		out.NativeFields = append(out.NativeFields, nested("output_tokens_details", d.Extra)...)
	}
	if u.InferenceGeo != "" && u.InferenceGeo != noGeo {
		out.NativeFields = append(out.NativeFields, word("inference_geo", u.InferenceGeo))
	}
	return out
}

// usage writes the usage member with every count of the vendor's Usage, zero where
// nothing was reported.
func (w *writer) usage(u *genwayv1.Usage, tier string) {
	read, write := u.GetCacheReadInputTokens(), u.GetCacheWriteInputTokens()
	w.Object("usage")
	w.Int("input_tokens", max(u.GetInputTokens()-read-write, 0))
	w.Int("cache_creation_input_tokens", write)
	w.Int("cache_read_input_tokens", read)
	short, long := u.GetCacheWrite_5MInputTokens(), u.GetCacheWrite_1HInputTokens()
	if u.GetCacheWrite_5MInputTokens() == 0 && u.GetCacheWrite_1HInputTokens() == 0 {
		short = write // five minutes is the vendor's default
	}
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
	w.Str("service_tier", tierWord(tier))
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

// tierWord is the tier that served an answer in the vendor's words (UsageServiceTier).
func tierWord(tier string) string {
	switch tier {
	case "", "default", "auto":
		return standardTier
	}
	return tier
}
