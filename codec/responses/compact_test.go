package responses_test

import (
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/responses"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// A body of the operation has what its caller merges into it.
func TestCompactHasExtraMembers(t *testing.T) {
	request := func(extra string) *codec.Request {
		return &codec.Request{GenerateTextRequest: &genwayv1.GenerateTextRequest{
			Model: "m", Compact: true, ExtraJson: extra, ServiceTier: "standard",
			Messages: []*genwayv1.Message{{Role: genwayv1.Role_ROLE_USER, Parts: []*genwayv1.Part{codec.TextPart("hi")}}},
		}}
	}
	body, err := responses.Codec{}.EncodeRequest(request(`{"image":{"context_compression":"enabled"}}`), nil)
	if want := `{"model":"m","input":"hi","service_tier":"default","image":{"context_compression":"enabled"}}`; err != nil || string(body) != want {
		t.Errorf("%v %s, want %s", err, body, want)
	}
	if body, err := (responses.Codec{}).EncodeRequest(request(`{"service_tier":"flex"}`), nil); err == nil {
		t.Errorf("a second service_tier is taken: %s", body)
	}
}

// A prompt that an upstream blocked has no summary, whatever else is in the answer.
func TestCompactOfBlockedPrompt(t *testing.T) {
	request, err := responses.Codec{}.DecodeCompactRequest([]byte(`{"model":"m","input":"hi"}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, candidates := range map[string][]*genwayv1.Candidate{
		"no candidate": nil,
		"no part":      {{StopReason: genwayv1.StopReason_STOP_REASON_END_TURN}},
		"a part":       {{StopReason: genwayv1.StopReason_STOP_REASON_END_TURN, Parts: []*genwayv1.Part{codec.TextPart("a summary")}}},
	} {
		answer := &genwayv1.GenerateTextResponse{Candidates: candidates, PromptFeedback: &genwayv1.PromptFeedback{BlockReason: "SAFETY"}}
		body, err := responses.Codec{}.EncodeResponse(answer, codec.Answer{Request: request})
		if f := fault.From(err); err == nil || f.Kind != fault.BadUpstream {
			t.Errorf("%s: %v %s", name, err, body)
		}
	}
}

// What the answer of the operation has no place for is named as lost.
func TestCompactNamesLosses(t *testing.T) {
	request, err := responses.Codec{}.DecodeCompactRequest([]byte(`{"model":"m","input":"hi"}`))
	if err != nil {
		t.Fatal(err)
	}
	var losses codec.Losses
	answer := &genwayv1.GenerateTextResponse{
		SystemFingerprint: "fp_1",
		Candidates:        []*genwayv1.Candidate{{StopReason: genwayv1.StopReason_STOP_REASON_END_TURN, Parts: []*genwayv1.Part{codec.TextPart("a summary")}}},
		NativeFields: []*genwayv1.NativeField{
			{Protocol: genwayv1.Protocol_PROTOCOL_MESSAGES, Name: "container", Json: []byte(`{}`)},
			{Protocol: genwayv1.Protocol_PROTOCOL_RESPONSES, Name: "image", Json: []byte(`{"context_compression":"enabled"}`)},
		},
	}
	body, err := responses.Codec{}.EncodeResponse(answer, codec.Answer{Request: request, Losses: &losses})
	var named []string
	for _, l := range losses.List() {
		named = append(named, l.Member)
	}
	if got := strings.Join(named, " "); err != nil || got != "system_fingerprint container" {
		t.Errorf("%v, lost %q", err, got)
	}
	if want := `"image":{"context_compression":"enabled"}`; !strings.Contains(string(body), want) {
		t.Errorf("%s lacks %s", body, want)
	}
}
