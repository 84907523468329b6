package genai_test

import (
	"strings"
	"testing"

	"github.com/genway/genway/test/conformance/check"
	"google.golang.org/genai"
)

// TestSpeech: an answer in sound is inline data.
func TestSpeech(t *testing.T) {
	t.Parallel()
	answer := generate(t, genai.Text("Say hello."), &genai.GenerateContentConfig{
		ResponseModalities: []string{"AUDIO"},
		SpeechConfig:       &genai.SpeechConfig{VoiceConfig: &genai.VoiceConfig{PrebuiltVoiceConfig: &genai.PrebuiltVoiceConfig{VoiceName: "Kore"}}},
	})
	var sound *genai.Blob
	for _, part := range only(t, answer).Content.Parts {
		if part.InlineData != nil {
			sound = part.InlineData
		}
	}
	if sound == nil {
		t.Fatal("no inline data")
	}
	check.Truef(t, strings.HasPrefix(sound.MIMEType, "audio/") && len(sound.Data) > 0, "%d bytes of %s", len(sound.Data), sound.MIMEType)
}

// TestHearing: sound is described by what its bytes show, and counted as audio.
func TestHearing(t *testing.T) {
	t.Parallel()
	// A WAV file without a sample: only its header.
	wav := []byte("RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00data\x00\x00\x00\x00")
	answer := generate(t, []*genai.Content{genai.NewContentFromParts([]*genai.Part{
		genai.NewPartFromText("What do you hear?"), genai.NewPartFromBytes(wav, "audio/wav"),
	}, genai.RoleUser)}, nil)
	check.Contains(t, answer.Text(), "What do you hear?", "audio: audio/wav, 44 bytes")
}
