package generatecontent

import (
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// bindingConfig are the members of generationConfig that bear on the answer and
// that no other protocol has.
var bindingConfig = map[string]bool{
	"responseFormat": true, "responseMimeType": true, "imageConfig": true, "translationConfig": true,
	"audioTranscriptionConfig": true, "generationOutputConfig": true,
}

// decode reads the generation configuration into the request.
func (w *generationConfig) decode(req *genwayv1.GenerateTextRequest, path string) error {
	fields, err := nested("generationConfig.", w.Extra, path, bindingConfig)
	if err != nil {
		return err
	}
	req.NativeFields = append(req.NativeFields, fields...)
	if err := w.decodeSampling(req, path); err != nil {
		return err
	}
	if w.MaxOutputTokens != nil && *w.MaxOutputTokens < 1 {
		return fault.Invalid(path+".maxOutputTokens", "%s.maxOutputTokens must be at least 1", path)
	}
	req.MaxOutputTokens = int64Of(w.MaxOutputTokens)
	req.StopSequences = w.StopSequences
	for _, modality := range w.ResponseModalities {
		req.Modalities = append(req.Modalities, strings.ToLower(modality))
	}
	if err := w.decodeFormat(req, path); err != nil {
		return err
	}
	if w.SpeechConfig != nil {
		if req.AudioOutput, err = w.SpeechConfig.decode(path + ".speechConfig"); err != nil {
			return err
		}
	}
	if w.ThinkingConfig != nil {
		req.Thinking, err = w.ThinkingConfig.decode(path + ".thinkingConfig")
	}
	return err
}

func (w *generationConfig) decodeSampling(req *genwayv1.GenerateTextRequest, path string) error {
	s := &genwayv1.Sampling{
		Temperature: w.Temperature, TopP: w.TopP, Seed: int64Of(w.Seed),
		FrequencyPenalty: w.FrequencyPenalty, PresencePenalty: w.PresencePenalty,
		Logprobs: w.ResponseLogprobs,
	}
	var err error
	if s.TopK, err = int32Of(w.TopK, path+".topK"); err != nil {
		return err
	}
	if s.CandidateCount, err = int32Of(w.CandidateCount, path+".candidateCount"); err != nil {
		return err
	}
	if s.TopLogprobs, err = int32Of(w.Logprobs, path+".logprobs"); err != nil {
		return err
	}
	if s.CandidateCount != nil && *s.CandidateCount < 1 {
		return fault.Invalid(path+".candidateCount", "%s.candidateCount must be at least 1", path)
	}
	if isSet(s) {
		req.Sampling = s
	}
	return nil
}

func isSet(s *genwayv1.Sampling) bool {
	return s.Temperature != nil || s.TopP != nil || s.TopK != nil || s.Seed != nil || s.FrequencyPenalty != nil ||
		s.PresencePenalty != nil || s.CandidateCount != nil || s.Logprobs != nil || s.TopLogprobs != nil
}

// encodeGenerationConfig writes the generation configuration; nil when there is
// nothing to say.
func encodeGenerationConfig(req *genwayv1.GenerateTextRequest, fields []*genwayv1.NativeField, losses *codec.Losses) (*generationConfig, error) {
	s := req.Sampling
	w := &generationConfig{StopSequences: req.StopSequences, MaxOutputTokens: integerOf(req.MaxOutputTokens)}
	if s != nil {
		w.Temperature, w.TopP, w.TopK = s.Temperature, s.TopP, integerOf(s.TopK)
		w.PresencePenalty, w.FrequencyPenalty = s.PresencePenalty, s.FrequencyPenalty
		w.CandidateCount, w.ResponseLogprobs, w.Logprobs = integerOf(s.CandidateCount), s.Logprobs, integerOf(s.TopLogprobs)
		if w.Seed = integerOf(s.Seed); s.Seed != nil && *s.Seed != int64(int32(*s.Seed)) {
			losses.Add("sampling.seed", "the target protocol takes seeds of 32 bits")
			w.Seed = nil
		}
	}
	for _, modality := range req.Modalities {
		w.ResponseModalities = append(w.ResponseModalities, strings.ToUpper(modality))
	}
	if err := w.encodeFormat(req.ResponseFormat, losses); err != nil {
		return nil, err
	}
	var err error
	if w.SpeechConfig, err = encodeSpeech(req.AudioOutput, losses); err != nil {
		return nil, err
	}
	if w.ThinkingConfig, err = encodeThinking(req, losses); err != nil {
		return nil, err
	}
	if w.Extra, err = member.Extra(protocol, fields, "generationConfig", losses); err != nil {
		return nil, err
	}
	if s == nil && len(w.StopSequences) == 0 && w.MaxOutputTokens == nil && len(w.ResponseModalities) == 0 &&
		req.ResponseFormat == nil && w.SpeechConfig == nil && w.ThinkingConfig == nil && len(w.Extra) == 0 {
		return nil, nil
	}
	return w, nil
}
