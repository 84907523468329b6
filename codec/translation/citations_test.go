package translation

import (
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/codectest"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

// A citation by its address is carried without the passage that it quotes, and one of a file
// without its title, where the protocol has no member for them. Both are named.
func TestPassagesOfCitationsAreNamed(t *testing.T) {
	web := &genwayv1.Citation{Url: "https://u", Title: "T", CitedText: "the passage"}
	file := &genwayv1.Citation{FileId: "file_1", Filename: "f.txt", Title: "T", CitedText: "the passage"}
	for _, c := range []struct {
		protocol string
		citation *genwayv1.Citation
		lost     []string
	}{
		{"responses", web, []string{".text.citations.cited_text"}},
		{"responses", file, []string{".text.citations.cited_text", ".text.citations.title"}},
		{"generatecontent", web, []string{".text.citations.cited_text"}},
		{"generatecontent", file, []string{".text.citations.file_id"}},
		{"chat", web, nil},
	} {
		part := &genwayv1.Part{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{Text: "hello", Citations: []*genwayv1.Citation{c.citation}}}}
		answer := &genwayv1.GenerateTextResponse{Candidates: []*genwayv1.Candidate{{Parts: []*genwayv1.Part{part}, StopReason: genwayv1.StopReason_STOP_REASON_END_TURN}}}
		var unary, streamed codec.Losses
		if _, err := codecs[c.protocol].EncodeResponse(proto.CloneOf(answer), codec.Answer{Losses: &unary}); err != nil {
			t.Fatal(err)
		}
		codectest.EncodeStream(t, codecs[c.protocol], codec.Events(proto.CloneOf(answer), nil), codec.Answer{Losses: &streamed})
		for _, lost := range []*codec.Losses{&unary, &streamed} {
			if got := named(lost); !slices.Equal(got, prefixed("candidates[0].parts[0]", c.lost)) {
				t.Errorf("%v for a caller of %s: lost %q, want %q", c.citation, c.protocol, got, c.lost)
			}
		}
		if c.protocol != "responses" {
			continue // generateContent takes no citations
		}
		asked := &genwayv1.GenerateTextRequest{Model: "m", Messages: []*genwayv1.Message{{Role: genwayv1.Role_ROLE_ASSISTANT, Parts: []*genwayv1.Part{proto.CloneOf(part)}}}}
		var lost codec.Losses
		if _, err := codecs[c.protocol].EncodeRequest(&codec.Request{GenerateTextRequest: asked}, &lost); err != nil {
			t.Fatal(err)
		}
		if got := named(&lost); !slices.Equal(got, prefixed("messages[0].parts[0]", c.lost)) {
			t.Errorf("%v to an upstream of %s: lost %q, want %q", c.citation, c.protocol, got, c.lost)
		}
	}
}

// named are the members in losses, sorted.
func named(losses *codec.Losses) []string {
	var members []string
	for _, l := range losses.List() {
		members = append(members, l.GetMember())
	}
	slices.Sort(members)
	return members
}

func prefixed(prefix string, fields []string) []string {
	var members []string
	for _, f := range fields {
		members = append(members, prefix+f)
	}
	return members
}

// A citation names the part that it is of by the place that the part has in a unary answer, in a
// stream too.
func TestPlacesOfCitedParts(t *testing.T) {
	answer := &genwayv1.GenerateTextResponse{Candidates: []*genwayv1.Candidate{{
		StopReason: genwayv1.StopReason_STOP_REASON_END_TURN,
		Parts: []*genwayv1.Part{
			{Kind: &genwayv1.Part_Thinking{Thinking: &genwayv1.Thinking{
				Text: "hm", EncryptedContent: &genwayv1.Seal{Protocol: genwayv1.Protocol_PROTOCOL_RESPONSES, Value: []byte("sealed")},
			}}},
			{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{Text: "hello", Citations: []*genwayv1.Citation{{Url: "https://u", Title: "T"}}}}},
		},
	}}}
	body, err := codecs["generatecontent"].EncodeResponse(proto.CloneOf(answer), codec.Answer{})
	if err != nil {
		t.Fatal(err)
	}
	streamed := codectest.Frames(codectest.EncodeStream(t, codecs["generatecontent"], codec.Events(proto.CloneOf(answer), nil), codec.Answer{}))
	for name, got := range map[string]string{"unary": string(body), "streamed": streamed} {
		if !strings.Contains(got, `"partIndex":2`) {
			t.Errorf("%s: %s", name, got)
		}
	}
}
