package generatecontent_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/codectest"
	"github.com/genway/genway/codec/generatecontent"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
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

// Turns of the model are one where what was between them is not written: the vendor refuses calls after a turn of the
// model. Neighbours are left as they are.
func TestTurnsOfTheModelMeet(t *testing.T) {
	text := func(role genwayv1.Role, text string) *genwayv1.Message {
		return &genwayv1.Message{Role: role, Parts: []*genwayv1.Part{{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{Text: text}}}}}
	}
	const model = genwayv1.Role_ROLE_ASSISTANT
	for name, c := range map[string]struct {
		messages []*genwayv1.Message
		want     string
	}{
		"instructions between":  {[]*genwayv1.Message{text(model, "a"), text(genwayv1.Role_ROLE_SYSTEM, "s"), text(model, "b")}, `[{"role":"model","parts":[{"text":"a"},{"text":"b"}]}]`},
		"an empty turn between": {[]*genwayv1.Message{text(model, "a"), {Role: genwayv1.Role_ROLE_USER}, text(model, "b")}, `[{"role":"model","parts":[{"text":"a"},{"text":"b"}]}]`},
		"the user between":      {[]*genwayv1.Message{text(model, "a"), text(genwayv1.Role_ROLE_USER, "u"), text(model, "b")}, `[{"role":"model","parts":[{"text":"a"}]},{"role":"user","parts":[{"text":"u"}]},{"role":"model","parts":[{"text":"b"}]}]`},
		"neighbours":            {[]*genwayv1.Message{text(model, "a"), text(model, "b")}, `[{"role":"model","parts":[{"text":"a"}]},{"role":"model","parts":[{"text":"b"}]}]`},
	} {
		body, err := generatecontent.Codec{}.EncodeRequest(&codec.Request{GenerateTextRequest: &genwayv1.GenerateTextRequest{Messages: c.messages}}, &codec.Losses{})
		if err != nil || !strings.Contains(string(body), `"contents":`+c.want) {
			t.Errorf("%s: %s, %v", name, body, err)
		}
	}
}
