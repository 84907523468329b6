package sandbox

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// settings gives what the request asks for besides its messages.
func (r *report) settings(req *genwayv1.GenerateTextRequest) {
	r.tools(req)
	if t := req.GetThinking(); t != nil {
		var o options
		o.word("mode", enumWord(t.GetMode().String(), "MODE_"), "unspecified")
		o.word("effort", t.GetEffort(), "")
		setting(&o, "budget", t.BudgetTokens)
		setting(&o, "include_thoughts", t.IncludeThoughts)
		o.word("summary", t.GetSummary(), "")
		o.line(r, "Thinking")
	}
	o := &options{}
	s := req.GetSampling()
	if s != nil {
		setting(o, "temperature", s.Temperature)
		setting(o, "top_p", s.TopP)
		setting(o, "top_k", s.TopK)
		setting(o, "seed", s.Seed)
		setting(o, "frequency_penalty", s.FrequencyPenalty)
		setting(o, "presence_penalty", s.PresencePenalty)
		setting(o, "candidate_count", s.CandidateCount)
		setting(o, "logprobs", s.Logprobs)
		setting(o, "top_logprobs", s.TopLogprobs)
	}
	setting(o, "max_output_tokens", req.MaxOutputTokens)
	if n := len(req.GetStopSequences()); n > 0 {
		o.addf("stop_sequences %d (%s)", n, count(len([]rune(strings.Join(req.GetStopSequences(), ""))), "character"))
	}
	if f := req.GetResponseFormat(); f.GetKind() != genwayv1.ResponseFormat_KIND_UNSPECIFIED && f.GetKind() != genwayv1.ResponseFormat_KIND_TEXT {
		o.addf("response_format %s %s", enumWord(f.GetKind().String(), "KIND_"), f.GetName())
	}
	o.word("verbosity", req.GetVerbosity(), "")
	o.word("modalities", strings.Join(req.GetModalities(), "+"), "text")
	o.word("voice", req.GetAudioOutput().GetVoice(), "")
	o.word("service_tier", req.GetServiceTier(), "")
	o.word("user", req.GetUser(), "")
	o.word("safety_identifier", req.GetSafetyIdentifier(), "")
	o.word("prompt_cache_key", req.GetPromptCacheKey(), "")
	setting(o, "store", req.Store)
	o.word("extra_json", req.GetExtraJson(), "")
	o.line(r, "Options")

	m := &options{}
	for _, key := range slices.Sorted(maps.Keys(req.GetMetadata())) {
		m.addf("%s=%s", clip(key, 64), clip(req.GetMetadata()[key], longestExcerpt))
	}
	m.line(r, "Metadata")
}

func (r *report) tools(req *genwayv1.GenerateTextRequest) {
	o := &options{}
	for _, t := range req.GetTools() {
		switch k := t.GetKind().(type) {
		case *genwayv1.Tool_Function:
			o.addf("%s", clip(k.Function.GetName(), 200))
		case *genwayv1.Tool_Custom:
			o.addf("%s (custom)", clip(k.Custom.GetName(), 200))
		case *genwayv1.Tool_Hosted:
			o.addf("%s (hosted, not called)", clip(k.Hosted.GetType(), 200))
		}
	}
	o.line(r, "Tools offered")
	choice := req.GetToolChoice()
	if choice == nil {
		return
	}
	c := &options{}
	c.word("", enumWord(choice.GetMode().String(), "MODE_"), "unspecified")
	c.word("", choice.GetNativeMode(), "")
	for _, n := range choice.GetNames() {
		c.addf("%s", clip(n, 200))
	}
	setting(c, "parallel", choice.Parallel)
	c.line(r, "Tool choice")
}

// options is a line of settings in the making.
type options struct{ list []string }

func (o *options) addf(format string, args ...any) {
	o.list = append(o.list, strings.TrimSpace(fmt.Sprintf(format, args...)))
}

// word adds a setting, unless it has the value that says nothing.
func (o *options) word(name, value, nothing string) {
	if value != nothing && value != "" {
		o.addf("%s %s", name, clip(value, longestExcerpt))
	}
}

// enumWord is the plain word of an enum value.
func enumWord(name, prefix string) string {
	return strings.ToLower(strings.TrimPrefix(name, prefix))
}

// setting adds a setting that is present.
func setting[T bool | int32 | int64 | float64](o *options, name string, value *T) {
	if value != nil {
		o.addf("%s %v", name, *value)
	}
}

func (o *options) line(r *report, label string) {
	if len(o.list) > 0 {
		r.addf("%s: %s", label, strings.Join(o.list, ", "))
	}
}
