package protocol

import (
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// parameters are those of the configuration's overrides for texts, with the field of the
// contract that they set.
var parameters = map[string]struct {
	field string
	set   func(*genwayv1.GenerateTextRequest)
}{
	"temperature":       {"sampling.temperature", func(r *genwayv1.GenerateTextRequest) { r.Sampling.Temperature = new(0.5) }},
	"top_p":             {"sampling.top_p", func(r *genwayv1.GenerateTextRequest) { r.Sampling.TopP = new(0.5) }},
	"top_k":             {"sampling.top_k", func(r *genwayv1.GenerateTextRequest) { r.Sampling.TopK = new(int32(5)) }},
	"seed":              {"sampling.seed", func(r *genwayv1.GenerateTextRequest) { r.Sampling.Seed = new(int64(7)) }},
	"frequency_penalty": {"sampling.frequency_penalty", func(r *genwayv1.GenerateTextRequest) { r.Sampling.FrequencyPenalty = new(0.5) }},
	"presence_penalty":  {"sampling.presence_penalty", func(r *genwayv1.GenerateTextRequest) { r.Sampling.PresencePenalty = new(0.5) }},
	"candidate_count":   {"sampling.candidate_count", func(r *genwayv1.GenerateTextRequest) { r.Sampling.CandidateCount = new(int32(2)) }},
	"max_output_tokens": {"max_output_tokens", func(r *genwayv1.GenerateTextRequest) { r.MaxOutputTokens = new(int64(99)) }},
	"stop_sequences":    {"stop_sequences", func(r *genwayv1.GenerateTextRequest) { r.StopSequences = []string{"END"} }},
	"effort":            {"thinking.effort", func(r *genwayv1.GenerateTextRequest) { r.Thinking.Effort = "low" }},
	"budget_tokens":     {"thinking.budget_tokens", func(r *genwayv1.GenerateTextRequest) { r.Thinking.BudgetTokens = new(int32(2048)) }},
	"verbosity":         {"verbosity", func(r *genwayv1.GenerateTextRequest) { r.Verbosity = "low" }},
	"service_tier":      {"service_tier", func(r *genwayv1.GenerateTextRequest) { r.ServiceTier = "auto" }},
	"store":             {"store", func(r *genwayv1.GenerateTextRequest) { r.Store = new(true) }},
	"prompt_cache_key":  {"prompt_cache_key", func(r *genwayv1.GenerateTextRequest) { r.PromptCacheKey = "key" }},
	"safety_identifier": {"safety_identifier", func(r *genwayv1.GenerateTextRequest) { r.SafetyIdentifier = "one" }},
	"user":              {"user", func(r *genwayv1.GenerateTextRequest) { r.User = "one" }},
}

// Upstreams lack just the parameters that their codec cannot carry.
func TestLacksIsWhatCodecsCannotCarry(t *testing.T) {
	for _, p := range All() {
		if p.Codec == nil {
			continue
		}
		var lacks []string
		for name, parameter := range parameters {
			req := &genwayv1.GenerateTextRequest{
				Model: "m", Sampling: &genwayv1.Sampling{}, Thinking: &genwayv1.ThinkingConfig{}, MaxOutputTokens: new(int64(4096)),
				Messages: []*genwayv1.Message{{Role: genwayv1.Role_ROLE_USER, Parts: []*genwayv1.Part{codec.TextPart("hi")}}},
			}
			parameter.set(req)
			var losses codec.Losses
			_, err := p.Codec.EncodeRequest(&codec.Request{GenerateTextRequest: req}, &losses)
			if err != nil && !strings.Contains(err.Error(), parameter.field) {
				t.Errorf("%s: %s: %v", p.Kind, name, err)
			}
			lost := slices.ContainsFunc(losses.List(), func(l *genwayv1.Loss) bool { return l.GetMember() == parameter.field })
			if err != nil || lost {
				lacks = append(lacks, name)
			}
		}
		slices.Sort(lacks)
		if have := slices.Sorted(slices.Values(p.Upstream.Lacks)); !slices.Equal(have, lacks) {
			t.Errorf("%s: Lacks is %v, the codec cannot carry %v", p.Kind, have, lacks)
		}
	}
}
