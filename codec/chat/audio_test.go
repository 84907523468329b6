package chat_test

import (
	"encoding/base64"
	"encoding/json"
	"testing"

	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// The bytes of audio are not changed, whatever its media type is.
func TestSpeechOfOddMediaTypes(t *testing.T) {
	data := []byte("RIFF\x00speech\xff")
	for _, mediaType := range []string{"audio/wav", `audio/x;codecs="a,b"`, "audio/x,base64,eA=="} {
		speech := &genwayv1.Part{Kind: &genwayv1.Part_Audio{Audio: &genwayv1.Media{
			MimeType: mediaType, Source: &genwayv1.Media_Data{Data: data}, Transcript: "hello"}}}
		body, err := c.EncodeResponse(&genwayv1.GenerateTextResponse{
			Id: "x", Model: "m", Candidates: []*genwayv1.Candidate{{Parts: []*genwayv1.Part{speech}, StopReason: genwayv1.StopReason_STOP_REASON_END_TURN}},
		}, codec.Answer{})
		if err != nil {
			t.Errorf("%q: %v", mediaType, err)
			continue
		}
		var answer struct {
			Choices []struct {
				Message struct {
					Audio struct{ Data string }
				}
			}
		}
		if err := json.Unmarshal(body, &answer); err != nil || len(answer.Choices) != 1 {
			t.Fatalf("%q: %v: %s", mediaType, err, body)
		}
		got := answer.Choices[0].Message.Audio.Data
		if want := base64.StdEncoding.EncodeToString(data); got != want {
			t.Errorf("%q: %q, want %q in %s", mediaType, got, want, body)
		}
	}
}
