package generatecontent

import (
	"github.com/genway/genway/codec"
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
	if err := w.generationConfigSettings.decode(req, path); err != nil {
		return err
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

// encodeGenerationConfig writes the generation configuration; nil when there is
// nothing to say.
func encodeGenerationConfig(req *genwayv1.GenerateTextRequest, fields []*genwayv1.NativeField, losses *codec.Losses) (*generationConfig, error) {
	w := &generationConfig{}
	w.encode(req, losses)
	if err := w.encodeFormat(req.ResponseFormat); err != nil {
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
	if req.Sampling == nil && len(w.StopSequences) == 0 && w.MaxOutputTokens == nil && len(w.ResponseModalities) == 0 &&
		req.ResponseFormat == nil && w.SpeechConfig == nil && w.ThinkingConfig == nil && len(w.Extra) == 0 {
		return nil, nil
	}
	return w, nil
}
