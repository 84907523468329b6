package messages_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/chat"
	"github.com/genway/genway/codec/generatecontent"
	"github.com/genway/genway/codec/messages"
	"github.com/genway/genway/codec/responses"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

const breakpoint = `"cache_control":{"type":"ephemeral"}`

// cachedBody is a request as it is sent with breakpoints added.
func cachedBody(t *testing.T, from codec.Codec, body string) (sent string, losses []*genwayv1.Loss) {
	t.Helper()
	body = strings.Replace(body, "{", `{"model":"m",`, 1)
	if from == (codec.Codec)(generatecontent.Codec{}) {
		body = strings.Replace(body, `"model":"m",`, "", 1)
	}
	req, err := from.DecodeRequest([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Model = "m"
	var lost codec.Losses
	raw, err := messages.Codec{}.EncodeRequest(&codec.Request{GenerateTextRequest: messages.Breakpoints(req.GenerateTextRequest)}, &lost)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw), lost.List()
}

// Breakpoints end the tools, the system text and the last two turns of the user; a caller's own are the only ones.
func TestBreakpoints(t *testing.T) {
	const tools = `"tools":[{"type":"function","function":{"name":"a"}},{"type":"function","function":{"name":"b"}}],`
	const png = `{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}`
	for name, tt := range map[string]struct {
		from codec.Codec
		body string
		want []string
	}{
		"one turn": {chat.Codec{}, `{"messages":[{"role":"user","content":"hi"}]}`, []string{`{"type":"text","text":"hi",@}`}},
		"all four": {
			chat.Codec{}, `{` + tools + `"messages":[{"role":"system","content":"s1"},{"role":"developer","content":"s2"},{"role":"user","content":"1"},{"role":"assistant","content":"2"},{"role":"user","content":"3"},{"role":"assistant","content":"4"},{"role":"user","content":[{"type":"text","text":"5"},` + png + `]}]}`,
			[]string{`"name":"b","input_schema":{"type":"object","properties":{}},@}`, `"text":"s2",@}`, `"text":"3",@}`, `"data":"iVBORw0KGgo="},@}`},
		},
		"results come before what the user says": {
			responses.Codec{}, `{"input":[{"role":"user","content":"hi"},{"type":"function_call","call_id":"c","name":"a","arguments":"{}"},{"role":"user","content":"and?"},{"type":"function_call_output","call_id":"c","output":"sun"}]}`,
			[]string{`"text":"hi",@}`, `"text":"and?",@}`},
		},
		"a result ends the turn": {
			generatecontent.Codec{}, `{"contents":[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"functionCall":{"id":"c","name":"a"}}]},{"role":"user","parts":[{"functionResponse":{"id":"c","name":"a","response":{"output":"sun"}}}]}]}`,
			[]string{`"text":"hi",@}`, `"content":"sun",@}`},
		},
		"blank texts are none":               {chat.Codec{}, `{"messages":[{"role":"system","content":"s"},{"role":"system","content":""},{"role":"user","content":[{"type":"text","text":"hi"},{"type":"text","text":""}]}]}`, []string{`"text":"s",@}`, `"text":"hi",@}`}},
		"tools that a choice leaves out":     {chat.Codec{}, `{` + tools + `"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"a"}}]}},"messages":[{"role":"user","content":"hi"}]}`, []string{`"name":"a","input_schema":{"type":"object","properties":{}},@}`, `"text":"hi",@}`}},
		"hosted tools are not sent":          {responses.Codec{}, `{"tools":[{"type":"function","name":"a","parameters":{"type":"object"},"strict":false},{"type":"web_search"}],"input":"hi"}`, []string{`"input_schema":{"type":"object"},"strict":false,@}`, `"text":"hi",@}`}},
		"the caller's own":                   {chat.Codec{}, `{` + tools + `"messages":[{"role":"system","content":[{"type":"text","text":"s",` + breakpoint + `}]},{"role":"user","content":"hi"}]}`, []string{`"text":"s",@}`}},
		"the caller's own, as OpenAI has it": {responses.Codec{}, `{"input":[{"role":"user","content":[{"type":"input_text","text":"hi","prompt_cache_breakpoint":{"mode":"explicit"}}]},{"role":"user","content":"and?"}]}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			sent, losses := cachedBody(t, tt.from, tt.body)
			if n := strings.Count(sent, "cache_control"); n != len(tt.want) && tt.want != nil {
				t.Errorf("%d breakpoints, want %d: %s", n, len(tt.want), sent)
			}
			for _, want := range tt.want {
				if want = strings.ReplaceAll(want, "@", breakpoint); !strings.Contains(sent, want) {
					t.Errorf("no %s in %s", want, sent)
				}
			}
			if i := slices.IndexFunc(losses, func(l *genwayv1.Loss) bool { return strings.Contains(l.GetMember(), "messages[1]") }); tt.want == nil && (i >= 0 || strings.Contains(sent, "and?\","+breakpoint)) {
				t.Errorf("breakpoints beside the caller's: %s, %v", sent, losses)
			}
		})
	}
}

// What precedes a breakpoint is the same in the next request, whose breakpoints are further on.
func TestBreakpointsKeepThePrefix(t *testing.T) {
	const turn = `,{"role":"user","content":"question"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"a","arguments":"{\"z\":1,\"a\":2}"}}]},{"role":"tool","tool_call_id":"c1","content":"sun"},{"role":"assistant","content":"answer"}`
	const head = `{"tools":[{"type":"function","function":{"name":"a"}}],"messages":[{"role":"system","content":"s"}`
	written := func(turns int) (conversation, tools string, ok bool) {
		sent, _ := cachedBody(t, chat.Codec{}, head+strings.Repeat(turn, turns)+`,{"role":"user","content":"question"}]}`)
		if n := strings.Count(sent, breakpoint); n > 4 || n < 3 {
			t.Errorf("%d breakpoints in %s", n, sent)
		}
		// A text is the same to the vendor as a list of one block with it.
		sent = strings.ReplaceAll(strings.ReplaceAll(sent, ","+breakpoint, ""), `"content":"question"`, `"content":[{"type":"text","text":"question"}]`)
		_, sent, _ = strings.Cut(sent, `"system"`)
		return strings.Cut(sent, `],"tools"`)
	}
	before, tools, _ := written(0)
	for turns := 1; turns < 8; turns++ {
		now, same, ok := written(turns)
		if !ok || !strings.HasPrefix(now, before) || same != tools {
			t.Fatalf("turn %d has another prefix:\n%s\n%s", turns, before, now)
		}
		before = now
	}
}

// A request without a place for a breakpoint stays as it is, and the request itself is not changed.
func TestBreakpointsLeaveTheRequest(t *testing.T) {
	for _, body := range []string{`{"model":"m","messages":[{"role":"assistant","content":"x"}]}`, `{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"a"}}]}`} {
		req, err := chat.Codec{}.DecodeRequest([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		was := req.String()
		messages.Breakpoints(req.GenerateTextRequest)
		if now := req.String(); now != was {
			t.Errorf("%s became %s", was, now)
		}
	}
}
