package generatecontent_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/genway/genway/codec/codectest"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
)

// Pieces of samples are one sound, in an answer as in a stream; files are not, nor are sounds of
// different kinds.
func TestPiecesOfSound(t *testing.T) {
	piece := func(kind, more string) string {
		return `{"inlineData":{"mimeType":"` + kind + `","data":"AAAA"}` + more + `}`
	}
	const pcm, slow, wav, a, b = "audio/L16;rate=24000", "audio/L16;rate=16000", "audio/wav", `{"text":"a"}`, `{"text":"b"}`
	for name, sounds := range map[string]struct {
		want  string // the bytes of sounds and images, and texts
		parts []string
	}{
		"samples":            {"9", []string{piece(pcm, ""), piece(pcm, ""), piece(pcm, "")}},
		"another rate":       {"3 3", []string{piece(pcm, ""), piece(slow, "")}},
		"files":              {"3 3", []string{piece(wav, ""), piece(wav, "")}},
		"a file between":     {"3 3 3", []string{piece(pcm, ""), piece(wav, ""), piece(pcm, "")}},
		"a text between":     {"3 a 3", []string{piece(pcm, ""), a, piece(pcm, "")}},
		"a text behind":      {"6 ab", []string{piece(pcm, ""), piece(pcm, ""), a, b}},
		"a text ahead":       {"a 6", []string{a, piece(pcm, ""), piece(pcm, "")}},
		"a signature behind": {"3 3 3", []string{piece(pcm, ""), piece(pcm, `,"thoughtSignature":"c2ln"`), piece(pcm, "")}},
		"images":             {"3 3", []string{piece("image/png", ""), piece("image/png", "")}},
	} {
		t.Run(name, func(t *testing.T) {
			events := []string{`{"candidates":[{"finishReason":"STOP"}]}`}
			for _, p := range slices.Backward(sounds.parts) {
				events = append([]string{`{"candidates":[{"content":{"parts":[` + p + `]}}]}`}, events...)
			}
			streamed, err := codectest.DecodeStream(c, frames(events...))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range streamed.GetCandidates()[0].GetParts() {
				if n := len(p.GetAudio().GetData()) + len(p.GetImage().GetData()); n > 0 {
					got = append(got, strconv.Itoa(n))
				} else {
					got = append(got, p.GetText().GetText())
				}
			}
			if strings.Join(got, " ") != sounds.want {
				t.Errorf("got %q, want %s", got, sounds.want)
			}
			if name == "a text behind" {
				return // texts are joined in streams alone
			}
			whole, err := c.DecodeResponse([]byte(`{"candidates":[{"content":{"parts":[` + strings.Join(sounds.parts, ",") + `]},"finishReason":"STOP"}]}`))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(whole, streamed, protocmp.Transform()); diff != "" {
				t.Errorf("(-unary +stream):\n%s", diff)
			}
		})
	}
}
