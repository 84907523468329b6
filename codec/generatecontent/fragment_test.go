package generatecontent_test

import (
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/chat"
	"github.com/genway/genway/codec/messages"
	"github.com/genway/genway/codec/responses"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// TestFragmentsAreOneTurn has histories as the vendor's JavaScript SDK keeps them
// (Chat.sendMessageStream): every frame of a stream is a content of its own.
func TestFragmentsAreOneTurn(t *testing.T) {
	const seal = `"protocol":"PROTOCOL_GENERATE_CONTENT","value":"c2ln"`
	for name, x := range map[string]struct{ contents, want string }{
		"text": {
			`{"role":"model","parts":[{"text":"The"}]},{"role":"model","parts":[{"text":" road"}]},{"role":"model","parts":[{"text":" goes"}]}`,
			`{"role":"ROLE_ASSISTANT","parts":[{"text":{"text":"The road goes"}}]}`,
		},
		"a signature and a farewell without text": {
			`{"role":"model","parts":[{"text":"The"}]},{"role":"model","parts":[{"text":" road"}]},{"role":"model","parts":[{"text":"","thoughtSignature":"sig"}]},{"role":"model","parts":[{"text":""}]}`,
			`{"role":"ROLE_ASSISTANT","parts":[{"text":{"text":"The road"},"thoughtSignature":{` + seal + `}}]}`,
		},
		"signed text": {
			`{"role":"model","parts":[{"text":"a","thoughtSignature":"sig"}]},{"role":"model","parts":[{"text":"b"}]},{"role":"model","parts":[{"text":"c","thoughtSignature":"sig"}]}`,
			`{"role":"ROLE_ASSISTANT","parts":[{"text":{"text":"a"},"thoughtSignature":{` + seal + `}},{"text":{"text":"b"}},{"text":{"text":"c"},"thoughtSignature":{` + seal + `}}]}`,
		},
		"thoughts, text and calls": {
			`{"role":"model","parts":[{"text":"Hm","thought":true}]},{"role":"model","parts":[{"text":"m.","thought":true}]},{"role":"model","parts":[{"text":"I"}]},` +
				`{"role":"model","parts":[{"text":" look"},{"functionCall":{"name":"f"}}]},{"role":"model","parts":[{"functionCall":{"name":"g"}}]}`,
			`{"role":"ROLE_ASSISTANT","parts":[{"thinking":{"text":"Hmm."}},{"text":{"text":"I look"}},{"toolCall":{"name":"f","argumentsJson":"{}"}},{"toolCall":{"name":"g","argumentsJson":"{}"}}]}`,
		},
		"what is more than a turn stays apart": {
			`{"role":"model","parts":[{"text":"a"}]},{"role":"model","parts":[{"text":"b"}],"xNew":1},{"role":"model","parts":[{"text":"c"}]}`,
			`{"role":"ROLE_ASSISTANT","parts":[{"text":{"text":"a"}}]},` +
				`{"role":"ROLE_ASSISTANT","parts":[{"text":{"text":"b"}}],"nativeFields":[{"protocol":"PROTOCOL_GENERATE_CONTENT","name":"xNew","json":"MQ=="}]},` +
				`{"role":"ROLE_ASSISTANT","parts":[{"text":{"text":"c"}}]}`,
		},
		"texts within a content stay apart": {
			`{"role":"model","parts":[{"text":"a"},{"text":"b"}]},{"role":"model","parts":[{"text":"c"},{"text":"d"}]}`,
			`{"role":"ROLE_ASSISTANT","parts":[{"text":{"text":"a"}},{"text":{"text":"bc"}},{"text":{"text":"d"}}]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			const user = `{"role":"user","parts":[{"text":"Go on."}]}`
			got, err := c.DecodeRequest([]byte(`{"contents":[` + user + `,` + x.contents + `,` + user + `,` + user + `]}`))
			if err != nil {
				t.Fatal(err)
			}
			const asked = `{"role":"ROLE_USER","parts":[{"text":{"text":"Go on."}}]}`
			want := parseRequest(t, `{"messages":[`+asked+`,`+x.want+`,`+asked+`,`+asked+`]}`)
			if !proto.Equal(got.GenerateTextRequest, want) {
				t.Errorf("got  %s\nwant %s", protojson.Format(got.GenerateTextRequest), protojson.Format(want))
			}
		})
	}
}

// TestFragmentsReachNoUpstream holds what upstreams of the other protocols are given.
func TestFragmentsReachNoUpstream(t *testing.T) {
	req, err := c.DecodeRequest([]byte(`{"contents":[{"parts":[{"text":"Go on."}]},` +
		`{"role":"model","parts":[{"text":"The"}]},{"role":"model","parts":[{"text":" road"}]},{"role":"model","parts":[{"text":"","thoughtSignature":"sig"}]},` +
		`{"parts":[{"text":"And?"}]}],"generationConfig":{"maxOutputTokens":9}}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Model = "m"
	for target, upstream := range map[string]codec.Codec{"chat": chat.Codec{}, "responses": responses.Codec{}, "messages": messages.Codec{}} {
		body, err := upstream.EncodeRequest(req, &codec.Losses{})
		if err != nil {
			t.Fatal(err)
		}
		back, err := upstream.DecodeRequest(body)
		if err != nil {
			t.Fatal(err)
		}
		if m := back.Messages; len(m) != 3 || m[1].Role != genwayv1.Role_ROLE_ASSISTANT || len(m[1].Parts) != 1 || m[1].Parts[0].GetText().GetText() != "The road" {
			t.Errorf("%s: %s", target, body)
		}
	}
}
