package codec_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"pgregory.net/rapid"
)

func TestAreObject(t *testing.T) {
	for text, want := range map[string]bool{
		`{}`: true, ` {"a":[1,{"b":null}]} `: true, "{\"a\":\"\xff\"}": true,
		``: false, ` `: false, `null`: false, `[]`: false, `"{}"`: false, `7`: false, `{"a":1`: false, `{"a":1}{"a":1}`: false,
		`{"a":1} x`: false, `{"a":1,"a":1}`: false, `{"a":{"b":1,"b":1}}`: false, `{'a':1}`: false, `{"a":NaN}`: false,
	} {
		if got := codec.AreObject(text); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
	for text, want := range map[string]bool{"": true, " \r\n\t": true, //nolint:gocritic // white space is the point
		"{}": false, "\u00a0": false} {
		if got := codec.AreNone(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

// Text arguments are an object with the text in it, whatever it is.
func TestTextArguments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		var got map[string]string
		out := codec.TextArguments(text)
		if err := json.Unmarshal([]byte(out), &got); err != nil || len(got) != 1 || got["arguments_text"] != text || !codec.AreObject(out) {
			t.Fatalf("%q gave %s: %v", text, out, err)
		}
	})
	if out := codec.TextArguments("a\xffb"); !codec.AreObject(out) {
		t.Errorf("no UTF-8 gave %s", out)
	}
}

// Arguments are broken off wherever they are cut, and not if they are wrong in another way.
func TestBrokenOff(t *testing.T) {
	const whole = `{"a":{"b":["x\"\\é}",1.5e3,-2,null,true,false],"":{}},"c":"\ud83d\ude00"}`
	for i := range whole {
		if got := codec.BrokenOff(whole[:i]); got != (i > 0) {
			t.Errorf("%s: %t", whole[:i], got)
		}
	}
	for text, want := range map[string]bool{
		whole: false, ``: false, ` `: false, ` {`: true, `[`: true, `["a"`: true, `{"a":1}{"b"`: false, `{"a":1} and`: false, `{"a":"say "hi""}`: false,
		`{'a`: false, `city=Rome`: false, `"Rome`: false, `7`: false, "{\"a\":\"\xff": true, `{"a":1,"a":2`: true, `{}`: false,
		strings.Repeat(`{"a":`, 10001): false, strings.Repeat(`{"a":`, 9000): true,
	} {
		if got := codec.BrokenOff(text); got != want {
			t.Errorf("%.100s: %t", text, got)
		}
	}
}

// An answer that claims to be complete and ends within a call fails, streamed and unary. The end of the call is
// not sent, even if one frame has both ends.
func TestCheckCalls(t *testing.T) {
	call := func(arguments string) *genwayv1.Part {
		p := codec.CallPart("f", arguments)
		p.GetToolCall().Id = "c"
		return p
	}
	custom := call("")
	custom.GetToolCall().Arguments = &genwayv1.ToolCall_Input{Input: `{"a`}
	for name, c := range map[string]struct {
		parts  []*genwayv1.Part
		reason genwayv1.StopReason
		fails  bool
	}{
		"whole":        {[]*genwayv1.Part{call(`{}`), call(`{"a":1}`)}, genwayv1.StopReason_STOP_REASON_TOOL_CALL, false},
		"broken off":   {[]*genwayv1.Part{call(`{}`), call(`{"a":1`)}, genwayv1.StopReason_STOP_REASON_TOOL_CALL, true},
		"not the last": {[]*genwayv1.Part{call(`{"a`), call(`{}`), codec.TextPart("x")}, genwayv1.StopReason_STOP_REASON_END_TURN, true},
		"cut":          {[]*genwayv1.Part{call(`{"a":1`)}, genwayv1.StopReason_STOP_REASON_MAX_TOKENS, false},
		"unknown":      {[]*genwayv1.Part{call(`{"a":1`)}, genwayv1.StopReason_STOP_REASON_OTHER, false},
		"no reason":    {[]*genwayv1.Part{call(`{"a":1`)}, genwayv1.StopReason_STOP_REASON_UNSPECIFIED, true},
		"no JSON":      {[]*genwayv1.Part{call(`a=1`), custom}, genwayv1.StopReason_STOP_REASON_TOOL_CALL, false},
		"none":         {[]*genwayv1.Part{call(``)}, genwayv1.StopReason_STOP_REASON_TOOL_CALL, false},
	} {
		resp := &genwayv1.GenerateTextResponse{Usage: &genwayv1.Usage{InputTokens: 7}, Candidates: []*genwayv1.Candidate{
			{Parts: []*genwayv1.Part{codec.TextPart("x")}, StopReason: genwayv1.StopReason_STOP_REASON_END_TURN},
			{Index: 1, Parts: c.parts, StopReason: c.reason},
		}}
		unary := codec.CheckCalls(resp)
		events := codec.Events(resp, nil)
		sent, streamed := (&codec.Calls{}).Events(events)
		var one codec.Calls
		var single error
		for _, ev := range events {
			single = cmp.Or(single, one.Check(ev))
		}
		for how, err := range map[string]error{"unary": unary, "streamed": streamed, "one by one": single} {
			if f, ok := errors.AsType[*fault.Error](err); ok != c.fails || ok && (f.Kind != fault.BadUpstream || !strings.Contains(f.Message, `"f"`) || f.Usage.GetInputTokens() != 7) {
				t.Errorf("%s, %s: %v", name, how, err)
			}
		}
		if !c.fails && len(sent) != len(events) || c.fails && (len(sent) == 0 || sent[len(sent)-1].GetPartDelta().GetArgumentsJson() == "") {
			t.Errorf("%s: %d events of %d, %v", name, len(sent), len(events), sent)
		}
	}
}
