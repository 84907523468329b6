package unread_test

import (
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/core/unread"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

// What an edge has not told of a body is what it would have told; of a body that nobody
// can look at, the worst is thought.
func TestSurvey(t *testing.T) {
	for protocol, bodies := range map[genwayv1.Protocol][2]string{ // nothing of others, and something
		genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS: {
			`{"model":"m","messages":[{"role":"user","content":"what is \"genway.\"?"}]}`,
			`{"model":"m","messages":[{"role":"assistant","reasoning_details":[{"signature":"genway.messages.eA"}]}]}`,
		},
		genwayv1.Protocol_PROTOCOL_MESSAGES: {
			`{"model":"m","max_tokens":9,"thinking":{"type":"enabled"},"messages":[{"role":"user","content":"thinking?"}]}`,
			`{"model":"m","max_tokens":9,"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"x"}]}]}`,
		},
		genwayv1.Protocol_PROTOCOL_RESPONSES: {
			`{"model":"m","input":[{"type":"message","id":"msg_1","role":"user","content":"_gw"}]}`,
			`{"model":"m","input":[{"type":"message","id":"msg_gw0123456789abcdef","role":"user","content":"x"}]}`,
		},
		genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT: {
			`{"contents":[{"parts":[{"text":"x","thoughtSignature":"eA=="}]}]}`,
			`{"contents":[{"parts":[{"text":"x","thoughtSignature":"Z2Vud2F5LmNoYXQuZUE="}]}]}`,
		},
	} {
		heads, ok := unread.Codec(protocol).(codec.HeadDecoder)
		if !ok {
			t.Fatalf("%v has no heads", protocol)
		}
		for i, body := range bodies {
			head, ok := heads.DecodeRequestHead([]byte(body))
			if !ok || head.Survey.GetForeign() != (i == 1) || head.Survey.GetTextBytes() == 0 {
				t.Errorf("%s: %v, %v", body, ok, head)
				continue
			}
			wire := &genwayv1.WireMessage{Protocol: protocol, Json: []byte(body)}
			if got := unread.Survey(wire); !proto.Equal(got, head.Survey) {
				t.Errorf("%s: %v, want %v", body, got, head.Survey)
			}
			wire.Survey = &genwayv1.WireSurvey{TextBytes: 7}
			if got := unread.Survey(wire); got.GetTextBytes() != 7 {
				t.Errorf("%s: is looked at again: %v", body, got)
			}
		}
	}
	if got := unread.Survey(&genwayv1.WireMessage{Json: []byte(`{}`)}); !got.GetForeign() {
		t.Errorf("%v", got)
	}
}
