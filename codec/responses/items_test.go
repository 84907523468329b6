package responses_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/codectest"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/codec/responses"
	"github.com/genway/genway/codec/stored"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

func answered() *genwayv1.GenerateTextResponse {
	return &genwayv1.GenerateTextResponse{Id: "chatcmpl-1", Candidates: []*genwayv1.Candidate{{Parts: []*genwayv1.Part{
		{Kind: &genwayv1.Part_Thinking{Thinking: &genwayv1.Thinking{Text: "I think."}}},
		{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{Text: "Hello."}}},
		{Kind: &genwayv1.Part_ToolCall{ToolCall: &genwayv1.ToolCall{Id: "call_1", Name: "f", Arguments: &genwayv1.ToolCall_ArgumentsJson{ArgumentsJson: "{}"}}},
			ThoughtSignature: &genwayv1.Seal{Protocol: genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT, Value: []byte("signed")}},
	}}}}
}

// What is recorded of an answer is what its caller gets, streamed or not.
func TestItemsAreThoseOfTheAnswer(t *testing.T) {
	resp := answered()
	body, err := c.EncodeResponse(resp, codec.Answer{})
	items := itemsOf(body)
	if err != nil || len(items) != 4 {
		t.Fatalf("%d items, %v", len(items), err)
	}
	recorder := responses.Codec{}.NewRecorder(codec.Answer{})
	events := codec.Events(resp, nil)
	for _, ev := range events {
		if _, err := recorder.Add(ev); err != nil {
			t.Fatal(err)
		}
	}
	var stream strings.Builder
	for _, f := range codectest.EncodeStream(t, c, events, codec.Answer{}) {
		stream.Write(f.Data)
	}
	for _, item := range items {
		if !responses.IsSyntheticID(item.ID) || !bytes.Contains(body, item.JSON) {
			t.Errorf("%s is not in %s", item.JSON, body)
		}
	}
	streamed := itemsOf(recorder.Body())
	if len(streamed) != len(items) {
		t.Fatalf("%d items streamed, %d not", len(streamed), len(items))
	}
	for _, item := range streamed {
		if !strings.Contains(stream.String(), string(item.JSON)) {
			t.Errorf("%s is not in %s", item.JSON, stream.String())
		}
	}
}

const ours, lost = "rs_gw0123456789abcdef", "msg_gwffffffffffffffff"

// References to items that are known become these items; all others stay.
func TestReferences(t *testing.T) {
	body := []byte(`{"model":"m","input":[{"role":"user","content":"hi"},{"type":"item_reference","id":"` + ours + `"},` +
		`{"id":"` + lost + `"},{"type":"item_reference","id":"rs_68"},{"id":"` + ours + `","type":null},{"type":"message","role":"user","content":"x","id":"` + ours + `"},7,{"type":"item_reference"}]}`)
	if got := strings.Join(responses.References(body), " "); got != ours+" "+lost {
		t.Errorf("refers to %s", got)
	}
	out, err := responses.Resolve(body, map[string][]byte{ours: []byte(`{"type":"reasoning"}`)})
	const want = `{"model":"m","input":[{"role":"user","content":"hi"},{"type":"reasoning"},{"id":"` + lost + `"},{"type":"item_reference","id":"rs_68"},` +
		`{"type":"reasoning"},{"type":"message","role":"user","content":"x","id":"` + ours + `"},7,{"type":"item_reference"}]}`
	if err != nil || string(out) != want {
		t.Errorf("%s, %v", out, err)
	}
	for _, odd := range []string{``, `{}`, `{"input":"hi"}`, `{"input":null}`, `{"input":[`, `{"input":{}}`, `[]`} {
		if got := responses.References([]byte(odd)); got != nil {
			t.Errorf("%s refers to %v", odd, got)
		}
	}
}

func itemsOf(body []byte) []stored.Item {
	return (responses.Codec{}).Stored().ItemsOf(member.Value(body, "output"))
}
