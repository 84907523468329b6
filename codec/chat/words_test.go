package chat_test

import (
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/messages"
	"github.com/genway/genway/codec/responses"
)

// Words that only this protocol's next version may know stay what they are, and are not taken for
// those that are known.
func TestUnknownWordsStay(t *testing.T) {
	for name, test := range map[string]struct {
		member string
		// lost is what messages loses; empty is a refusal by both other protocols.
		lost string
	}{
		"type of a cache control": {`"messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"durable"}}]}]`, "messages[0].parts[0].cache_control.type"},
		"mode of a breakpoint":    {`"messages":[{"role":"user","content":[{"type":"text","text":"hi","prompt_cache_breakpoint":{"mode":"implicit"}}]}]`, "messages[0].parts[0].cache_control.mode"},
		"type of an allowed tool": {hello + `,"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"novel","function":{"name":"f"}}]}}`, ""},
		"allowed without mode":    {hello + `,"tool_choice":{"type":"allowed_tools","allowed_tools":{"tools":[{"type":"function","function":{"name":"f"}}]}}`, ""},
		"allowed without tools":   {hello + `,"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required"}}`, ""},
		"none allowed":            {hello + `,"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[]}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			req, err := c.DecodeRequest([]byte(`{"model":"m",` + test.member + `}`))
			if err != nil {
				t.Fatal(err)
			}
			if body, err := c.EncodeRequest(req, nil); err != nil || !strings.Contains(string(body), test.member[strings.LastIndex(test.member, `":{`):len(test.member)-1]) {
				t.Errorf("%v, the same protocol gets %s", err, body)
			}
			var losses codec.Losses
			body, err := messages.Codec{}.EncodeRequest(req, &losses)
			if lost := losses.List(); test.lost != "" && (err != nil || len(lost) != 1 || lost[0].Member != test.lost) {
				t.Errorf("%v, lost %v in %s", err, lost, body)
			} else if test.lost == "" && err == nil {
				t.Errorf("messages gets %s", body)
			}
			if body, err := (responses.Codec{}).EncodeRequest(req, nil); test.lost == "" && err == nil {
				t.Errorf("responses gets %s", body)
			}
		})
	}
}

const hello = `"messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"f"}}]`

// The deprecated call of a function without a name is none, and with arguments it is malformed. Some
// engines write one without either for null.
func TestFunctionCallHasAName(t *testing.T) {
	for call, ok := range map[string]bool{
		`{"name":"","arguments":"{\"a\":1}"}`: false,
		`{"arguments":"{}"}`:                  false,
		`{"name":"","arguments":""}`:          true,
		`{}`:                                  true,
	} {
		_, err := c.DecodeResponse([]byte(`{"id":"c","choices":[{"message":{"content":"-","function_call":` + call + `},"finish_reason":"stop"}]}`))
		if f := fault.From(err); (err == nil) != ok || err != nil && f.Kind != fault.BadUpstream {
			t.Errorf("an answer with %s: %v", call, err)
		}
		_, err = c.DecodeRequest([]byte(`{"model":"m","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"-","function_call":` + call + `}]}`))
		if f := fault.From(err); (err == nil) != ok || err != nil && f.Param != "messages[1].function_call.name" {
			t.Errorf("a request with %s: %v", call, err)
		}
	}
}
