package translation

import (
	"strings"
	"testing"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/images"
)

// A text that is not Unicode is refused by its member, in a request of each protocol: a vendor refuses it too, and a
// repaired text would be another one.
func TestTextsThatAreNotUnicode(t *testing.T) {
	decode := map[string]func(body string) error{"images": func(body string) error { _, err := images.Codec{}.DecodeRequest([]byte(body)); return err }}
	for name, c := range codecOf {
		decode[name] = func(body string) error { _, err := c.DecodeRequest([]byte(body)); return err }
	}
	for protocol, places := range map[string]map[string]string{
		"chat": {
			`{"model":"m","messages":[{"role":"user","content":"?"}]}`:                                                                                  "messages[0].content",
			`{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"?"}]}]}`:                                                         "messages[0].content[0].text",
			`{"model":"m","messages":[{"role":"user","content":"a"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"title":"?"}}}]}`: "tools[0].function.parameters.title",
			`{"model":"m","messages":[{"role":"user","content":"a"}],"unknown":{"?":1}}`:                                                                "unknown",
		},
		"responses": {
			`{"model":"m","input":"?"}`: "input",
			`{"model":"m","input":[{"type":"function_call","call_id":"c","name":"f","arguments":"?"},{"type":"function_call_output","call_id":"c","output":"a"}]}`: "input[0].arguments",
			`{"model":"m","input":"a","user":"?"}`: "user",
		},
		"messages": {
			`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"?"}]}`:              "messages[0].content",
			`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"a"}],"system":"?"}`: "system",
		},
		"generatecontent": {
			`{"contents":[{"parts":[{"text":"?"}]}]}`: "contents[0].parts[0].text",
			`{"contents":[{"parts":[{"functionCall":{"name":"f","args":{"a":"?"}}}],"role":"model"},{"parts":[{"text":"a"}]}]}`: "contents[0].parts[0].functionCall.args.a",
		},
		"interactions": {
			`{"model":"m","input":"?"}`: "input",
			`{"model":"m","input":[{"type":"user_input","content":[{"type":"text","text":"?"}]}]}`:           "input[0].content[0].text",
			`{"model":"m","input":[{"type":"function_call","id":"c","name":"f","arguments":{"a":"?"}}]}`:     "input[0].arguments.a",
			`{"model":"m","input":[{"type":"function_result","call_id":"c","name":"f","result":{"a":"?"}}]}`: "input[0].result.a",
		},
		"images": {`{"model":"m","prompt":"?"}`: "prompt"},
	} {
		for body, param := range places {
			for _, text := range []string{`\ud83d`, `a\ude00b`, `\ude00\ud83d`, `\ud83dx`, `\ud83d\n`, `\ud83d\ud83d\ude00`, `\\\ud83d`, `\uDBFF`, `\udC00`, "\xff", "a\xf0\x9f", "\xed\xa0\xbd\xed\xb8\x80", "\xc0\x80"} {
				err := decode[protocol](strings.Replace(body, "?", text, 1))
				f := fault.From(err)
				if err == nil || f.Kind != fault.InvalidRequest || f.Param != param || !strings.Contains(f.Message, "not Unicode") {
					t.Errorf("%s: %q at %s: got %v of %q", protocol, text, param, err, f.Param)
				}
			}
			for _, text := range []string{`\ud83d\ude00`, `\\ud83d`, `\\\\ud83d`, `\uD83D\uDE00\ud83d\ude00`, "\U0001F600", `\u00e9`, `\u0000`, "\uFFFD", `\ufffd`, `\ue000`, `\ud7ff`} {
				if err := decode[protocol](strings.Replace(body, "?", text, 1)); err != nil {
					t.Errorf("%s: %q at %s: %v", protocol, text, param, err)
				}
			}
		}
	}
}
