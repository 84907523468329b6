package translation

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// What a caller brings back of another protocol's upstream is seen without decoding, by
// whatever member and with whatever words around it the codec lets it travel.
func TestForeignIsSeen(t *testing.T) {
	seen := map[string]int{}
	for name, c := range codecs {
		heads, ok := c.(codec.HeadDecoder)
		if !ok {
			t.Fatalf("%s has no heads", name)
		}
		for _, other := range codecs {
			if other.Protocol() == c.Protocol() {
				continue
			}
			for _, value := range []string{"c2ln", strings.Repeat("c2ln", 1000)} {
				seal := &genwayv1.Seal{Protocol: other.Protocol(), Value: []byte(value)}
				for _, parts := range sealed(seal) {
					body := broughtBack(t, c, parts)
					req, err := c.DecodeRequest(body)
					if err != nil {
						t.Fatalf("%v: %s", err, body)
					}
					if !foreign(req, c.Protocol()) {
						continue
					}
					seen[name]++
					if !heads.BodyStatistics(body).GetForeign() {
						t.Errorf("%s: %.300s", name, body)
					}
				}
			}
		}
	}
	for name := range codecs {
		if seen[name] == 0 {
			t.Errorf("%s carries nothing of others", name)
		}
	}
}

// broughtBack is the request of a caller who goes on after an answer of these parts, and
// has kept of it what bears on the conversation alone.
func broughtBack(t *testing.T, c codec.Codec, parts []*genwayv1.Part) []byte {
	t.Helper()
	raw, err := c.EncodeResponse(answered(genwayv1.StopReason_STOP_REASON_END_TURN, parts...), codec.Answer{})
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Choices []struct {
			Message json.RawMessage `json:"message"`
		} `json:"choices"`
		Content    json.RawMessage  `json:"content"`
		Steps      json.RawMessage  `json:"steps"`
		Output     []map[string]any `json:"output"`
		Candidates []struct {
			Content json.RawMessage `json:"content"`
		} `json:"candidates"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		t.Fatal(err)
	}
	switch c.Protocol() { //nolint:exhaustive // the texts
	case genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS:
		return fmt.Appendf(nil, `{"model":"m","messages":[{"role":"user","content":"Hm?"},%s]}`, answer.Choices[0].Message)
	case genwayv1.Protocol_PROTOCOL_MESSAGES:
		return fmt.Appendf(nil, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Hm?"},{"role":"assistant","content":%s}]}`, answer.Content)
	case genwayv1.Protocol_PROTOCOL_INTERACTIONS:
		return fmt.Appendf(nil, `{"model":"m","input":%s}`, answer.Steps)
	case genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT:
		return fmt.Appendf(nil, `{"contents":[{"parts":[{"text":"Hm?"}]},%s]}`, answer.Candidates[0].Content)
	}
	for _, item := range answer.Output {
		delete(item, "id")
	}
	items, err := json.Marshal(answer.Output)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Appendf(nil, `{"model":"m","input":%s}`, items)
}

// sealed are the ways in which an answer has a seal.
func sealed(seal *genwayv1.Seal) [][]*genwayv1.Part {
	thought := func(change func(*genwayv1.Thinking)) *genwayv1.Part {
		p := thinking("Hm.")
		change(p.GetThinking())
		return p
	}
	called, spoken := call("call_1", `{"city":"Bern"}`), text("Done.")
	called.ThoughtSignature, spoken.ThoughtSignature = seal, seal
	return [][]*genwayv1.Part{
		{thought(func(t *genwayv1.Thinking) { t.Signature = seal }), text("Done.")},
		{thought(func(t *genwayv1.Thinking) { t.EncryptedContent = seal }), text("Done.")},
		{thought(func(t *genwayv1.Thinking) { t.Signature, t.Summary = seal, []string{"Hm."} }), text("Done.")},
		{{Kind: &genwayv1.Part_Thinking{Thinking: &genwayv1.Thinking{EncryptedContent: seal}}}, text("Done.")},
		{called}, {spoken},
	}
}

// foreign reports whether a request has a seal of another protocol.
func foreign(req *codec.Request, own genwayv1.Protocol) bool {
	for _, m := range req.GetMessages() {
		for _, p := range m.GetParts() {
			for _, seal := range []*genwayv1.Seal{p.GetThoughtSignature(), p.GetThinking().GetSignature(), p.GetThinking().GetEncryptedContent()} {
				if seal != nil && seal.GetProtocol() != own {
					return true
				}
			}
		}
	}
	return false
}
