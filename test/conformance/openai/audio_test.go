package openai_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"testing"

	"github.com/genway/genway/test/conformance/check"
	"github.com/openai/openai-go/v3"
)

// tone is half a second of silence as a WAV file: 8000 samples a second, 16 bits.
func tone(t *testing.T) []byte {
	t.Helper()
	const rate, size = 8000, 8000
	var b bytes.Buffer
	b.WriteString("RIFF")
	for _, v := range []any{
		uint32(36 + size), []byte("WAVEfmt "), uint32(16), uint16(1), uint16(1),
		uint32(rate), uint32(2 * rate), uint16(2), uint16(16), []byte("data"), uint32(size), make([]byte, size),
	} {
		if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func TestChatAudio(t *testing.T) {
	t.Parallel()
	params := chat(openai.UserMessage([]openai.ChatCompletionContentPartUnionParam{
		openai.TextContentPart("What do you hear?"),
		openai.InputAudioContentPart(openai.ChatCompletionContentPartInputAudioInputAudioParam{
			Data: base64.StdEncoding.EncodeToString(tone(t)), Format: "wav",
		}),
	}))
	answer := complete(t, params)
	check.Contains(t, answer.Choices[0].Message.Content, "What do you hear?", "audio/wav", "0.500 s at 8000 Hz")
	check.Truef(t, answer.Usage.PromptTokensDetails.AudioTokens > 0, "no audio tokens: %s", answer.RawJSON())

	params = chat(openai.UserMessage("Say hello."))
	params.Modalities = []string{"text", "audio"}
	params.Audio = openai.ChatCompletionAudioParam{Format: openai.ChatCompletionAudioParamFormatWAV}
	params.Audio.Voice.OfString = openai.String("alloy")
	spoken := complete(t, params).Choices[0].Message
	sound, err := base64.StdEncoding.DecodeString(spoken.Audio.Data)
	if err != nil {
		t.Fatal(err)
	}
	check.Truef(t, bytes.HasPrefix(sound, []byte("RIFF")), "%d bytes are no WAV", len(sound))
	check.Contains(t, spoken.Audio.Transcript, "Say hello.")
	check.Truef(t, spoken.Audio.ID != "" && spoken.Audio.ExpiresAt > 0, "id is %q, expires_at %d", spoken.Audio.ID, spoken.Audio.ExpiresAt)
}
