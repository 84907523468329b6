package generatecontent

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// decode reads how speech sounds. A voice that is more than the name of a
// prebuilt one stays a native field.
func (w *speechConfig) decode(path string) (*genwayv1.AudioOutput, error) {
	out := &genwayv1.AudioOutput{}
	var err error
	if out.NativeFields, err = natives(w.Extra, path, nil); err != nil {
		return nil, err
	}
	voice := w.VoiceConfig
	switch {
	case voice == nil:
	case len(voice.Extra) == 0 && voice.PrebuiltVoiceConfig != nil && voice.PrebuiltVoiceConfig.VoiceName != "" &&
		len(voice.PrebuiltVoiceConfig.Extra) == 0:
		out.Voice = voice.PrebuiltVoiceConfig.VoiceName
	default:
		whole, err := spelled(voice)
		if err != nil {
			return nil, fault.Invalid(path+".voiceConfig", "%s.voiceConfig could not be read", path)
		}
		out.NativeFields = append(out.NativeFields, native("voiceConfig", whole))
	}
	return out, nil
}

// encodeSpeech writes how speech sounds. The vendor chooses the container.
func encodeSpeech(out *genwayv1.AudioOutput, losses *codec.Losses) (*speechConfig, error) {
	if out == nil {
		return nil, nil
	}
	w := &speechConfig{}
	if out.Voice != "" {
		w.VoiceConfig = &voiceConfig{PrebuiltVoiceConfig: &prebuiltVoiceConfig{VoiceName: out.Voice}}
	}
	var err error
	w.Extra, err = member.Extra(protocol, out.NativeFields, "audio_output", losses)
	return w, err
}
