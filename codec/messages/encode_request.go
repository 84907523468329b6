package messages

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// EncodeRequest writes a body of /v1/messages. Errors and losses name members of
// the canonical message.
func (Codec) EncodeRequest(req *codec.Request, losses *codec.Losses) ([]byte, error) {
	if err := reserves(req.GenerateTextRequest); err != nil {
		return nil, err
	}
	r, err := fit.Request(req.GenerateTextRequest, protocol, losses)
	if err != nil {
		return nil, err
	}
	w := requestWriter(member.SizeOfRequest(r))
	limit := r.GetMaxOutputTokens()
	if r.MaxOutputTokens == nil {
		limit = MaxTokens(r.GetModel())
	}
	w.Begin()
	w.Str("model", r.GetModel())
	w.Int("max_tokens", limit)
	w.conversation(r, losses)
	if req.Stream {
		w.Bool("stream", true)
	}
	w.sampling(r, losses)
	w.tools(r, losses)
	w.thinking(r.GetThinking(), limit, losses)
	w.outputConfig(r, losses)
	w.delivery(r, losses)
	w.natives(r.GetNativeFields(), "", losses, "metadata", "output_config")
	w.End()
	refuse(w, r, losses)
	return patched(w, r.GetExtraJson())
}

func (w *writer) sampling(r *genwayv1.GenerateTextRequest, losses *codec.Losses) {
	s := r.GetSampling()
	w.StrsOpt("stop_sequences", r.GetStopSequences())
	if s != nil && s.Temperature != nil {
		temperature := *s.Temperature
		if temperature > 1 {
			losses.Add("sampling.temperature", "temperatures end at 1 in the messages protocol")
			temperature = 1
		}
		w.float("temperature", temperature, "sampling.temperature")
	}
	if s != nil && s.TopP != nil {
		w.float("top_p", *s.TopP, "sampling.top_p")
	}
	if s != nil && s.TopK != nil {
		w.Int("top_k", int64(*s.TopK))
	}
}

// delivery writes what is about the call rather than the answer.
func (w *writer) delivery(r *genwayv1.GenerateTextRequest, losses *codec.Losses) {
	if r.GetUser() != "" || native(r.GetNativeFields(), "metadata") != nil {
		w.Object("metadata")
		w.StrOpt("user_id", r.GetUser())
		w.merge(r.GetNativeFields(), "metadata", "")
		w.End()
	}
	switch tier := r.GetServiceTier(); tier {
	case "default", "standard":
		w.Str("service_tier", "standard_only")
	case "flex", "scale", "priority", "fast", "ultrafast":
		losses.Add("service_tier", "the messages protocol has no such tier to ask for")
	default:
		w.StrOpt("service_tier", tier)
	}
	w.cacheControl(r.GetCacheControl(), "", losses)
}

// refuse fails on fields that bear on the answer and that this protocol does not have, and declares
// the others as losses (case F7).
func refuse(w *writer, r *genwayv1.GenerateTextRequest, losses *codec.Losses) {
	s := r.GetSampling()
	for _, c := range []struct {
		member string
		set    bool
	}{
		{"sampling.candidate_count", s.GetCandidateCount() > 1},
		{"sampling.logprobs", s.GetLogprobs()},
		{"modalities", wantsMoreThanText(r.GetModalities())},
	} {
		if c.set {
			w.Fail(fault.Unsupported(c.member, "%s cannot be asked for in the messages protocol", c.member))
		}
	}
	for _, c := range []struct {
		member string
		set    bool
	}{
		{"sampling.seed", s != nil && s.Seed != nil},
		{"sampling.frequency_penalty", s != nil && s.FrequencyPenalty != nil},
		{"sampling.presence_penalty", s != nil && s.PresencePenalty != nil},
		{"sampling.top_logprobs", s != nil && s.TopLogprobs != nil && !s.GetLogprobs()},
		{"metadata", len(r.GetMetadata()) > 0},
		{"verbosity", r.GetVerbosity() != ""},
		{"audio_output", r.GetAudioOutput() != nil},
		{"store", r.GetStore()},
		{"prompt_cache_key", r.GetPromptCacheKey() != ""},
		{"safety_identifier", r.GetSafetyIdentifier() != ""},
	} {
		if c.set {
			losses.Add(c.member, "the messages protocol has no place for it")
		}
	}
}

func wantsMoreThanText(modalities []string) bool {
	for _, m := range modalities {
		if m != "text" {
			return true
		}
	}
	return false
}

// reserved are the members of a body that fields of the contract are written to.
var reserved = member.ReservedBy[wireRequest]()

// reserves refuses native fields that say what the contract has a field for. The type and
// the display of thinking are words that the contract may not know.
func reserves(r *genwayv1.GenerateTextRequest) error {
	if err := reserved.Fields(protocol, r.GetNativeFields(), "", "thread"); err != nil {
		return err
	}
	return reserved.In("thinking").Fields(protocol, r.GetThinking().GetNativeFields(), "thinking", "type", "display")
}

// patched merges the members of an extra_json object into the top level of body.
func patched(w *writer, extra string) ([]byte, error) {
	body, err := w.Finish()
	if err != nil {
		return nil, err
	}
	return member.Merge(body, extra, "extra_json", reserved)
}
