package responses_test

import (
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/chat"
	"github.com/genway/genway/codec/responses"
)

// Parts of reasoning whose types only this protocol's next version may know stay what they are,
// and other protocols name them as lost.
func TestUnknownPartsOfReasoningStay(t *testing.T) {
	for name, test := range map[string]struct{ members, lost string }{
		"content alone":         {`"summary":[],"content":[{"type":"reasoning_image","data":"x"}]`, "content"},
		"content with a text":   {`"summary":[],"content":[{"type":"reasoning_note","text":"c"}]`, "content"},
		"content behind a text": {`"summary":[],"content":[{"type":"reasoning_text","text":"c"},{"type":"reasoning_image","data":"x"}]`, "content"},
		"a summary":             {`"summary":[{"type":"summary_image","data":"x"}]`, "summary"},
	} {
		for _, id := range []string{`"id":"rs_1",`, ``} {
			item := `{` + id + `"type":"reasoning",` + test.members + `}`
			req, err := responses.Codec{}.DecodeRequest([]byte(`{"model":"m","input":[` + item + `,{"role":"user","content":"hi"}]}`))
			if err != nil {
				t.Fatal(err)
			}
			// Upstreams of the protocol know an item by its id.
			if body, err := (responses.Codec{}).EncodeRequest(req, nil); err != nil || strings.Contains(string(body), item) != (id != "") {
				t.Errorf("%s: %v, the same protocol gets %s", name, err, body)
			}
			var losses codec.Losses
			if body, err := (chat.Codec{}).EncodeRequest(req, &losses); err != nil || !names(&losses, test.lost) {
				t.Errorf("%s: %v, lost %v, chat gets %s", name, err, losses.List(), body)
			}
			answer, err := responses.Codec{}.DecodeResponse([]byte(`{"id":"r","status":"completed","output":[` + item + `,{"type":"message","role":"assistant","content":[{"type":"output_text","text":"-"}]}]}`))
			if err != nil {
				t.Fatal(err)
			}
			losses = codec.Losses{}
			if body, err := (chat.Codec{}).EncodeResponse(answer, codec.Answer{Losses: &losses}); err != nil || !names(&losses, test.lost) {
				t.Errorf("%s: %v, lost %v, a caller of chat gets %s", name, err, losses.List(), body)
			}
		}
	}
}

// names reports whether the member of a part is among what is lost.
func names(losses *codec.Losses, member string) bool {
	for _, l := range losses.List() {
		if strings.HasSuffix(l.Member, "."+member) {
			return true
		}
	}
	return false
}

// A list of allowed tools without its mode is none that other protocols can have.
func TestAllowedToolsHaveAMode(t *testing.T) {
	const choice = `"tool_choice":{"type":"allowed_tools","tools":[{"type":"function","name":"f"}]}`
	req, err := responses.Codec{}.DecodeRequest([]byte(`{"model":"m","input":"hi","tools":[{"type":"function","name":"f"}],` + choice + `}`))
	if err != nil {
		t.Fatal(err)
	}
	if body, err := (responses.Codec{}).EncodeRequest(req, nil); err != nil || !strings.Contains(string(body), choice) {
		t.Errorf("%v, the same protocol gets %s", err, body)
	}
	if body, err := (chat.Codec{}).EncodeRequest(req, nil); err == nil {
		t.Errorf("chat gets %s", body)
	}
}
