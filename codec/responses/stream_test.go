package responses_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/codectest"
	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

// frames makes a stream of data lines.
func frames(lines ...string) []codec.Frame {
	var out []codec.Frame
	for _, l := range lines {
		out = append(out, codec.Frame{Data: []byte(l)})
	}
	return out
}

const (
	created = `{"type":"response.created","response":{"id":"resp_1","model":"m"}}`
	ended   = `{"type":"response.completed","response":{"id":"resp_1","model":"m","status":"completed","usage":{"input_tokens":1,"output_tokens":2,"total_tokens":3}}}`
)

func gist(resp *genwayv1.GenerateTextResponse) string {
	var out []string
	for _, p := range resp.GetCandidates()[0].GetParts() {
		switch {
		case p.GetText() != nil:
			out = append(out, p.GetText().Text)
		case p.GetToolCall() != nil:
			out = append(out, p.GetToolCall().Name+p.GetToolCall().GetArgumentsJson()+p.GetToolCall().GetInput())
		case p.GetThinking() != nil:
			out = append(out, "("+strings.Join(p.GetThinking().Summary, "/")+"|"+p.GetThinking().Text+")")
		case p.GetRefusal() != nil:
			out = append(out, "!"+p.GetRefusal().Text)
		default:
			out = append(out, "?")
		}
	}
	return strings.Join(out, " ")
}

// Upstreams that leave events out, repeat or mix them mean what they seem to.
func TestLenientStreams(t *testing.T) {
	message := `{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"Hi","annotations":[]}]}`
	call := func(i, id string) string {
		return `{"type":"function_call","id":"fc_` + i + `","call_id":"` + id + `","name":"` + id + `","arguments":""}`
	}
	for _, test := range []struct {
		name   string
		frames []codec.Frame
		want   string
	}{
		{"no item events", frames(created, `{"type":"response.completed","response":{"id":"resp_1","status":"completed","output":[`+message+`]}}`), "Hi"},
		{"no created", frames(`{"type":"response.output_item.done","output_index":0,"item":`+message+`}`, ended), "Hi"},
		{"deltas alone", frames(created,
			`{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":"H"}`,
			`{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":"i"}`, ended), "Hi"},
		{"no deltas", frames(created,
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","content":[]}}`,
			`{"type":"response.output_item.done","output_index":0,"item":`+message+`}`, ended), "Hi"},
		{"T2 empty deltas", frames(created,
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","content":[]}}`,
			`{"type":"response.content_part.added","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}}`,
			`{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":""}`,
			`{"type":"response.content_part.done","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"","annotations":[]}]}}`,
			`{"type":"response.output_item.added","output_index":1,"item":`+call("1", "f")+`}`,
			`{"type":"response.function_call_arguments.delta","output_index":1,"delta":"[1]"}`, ended), "f[1]"},
		{"T10 no arguments", frames(created, `{"type":"response.output_item.added","output_index":0,"item":`+call("1", "f")+`}`,
			`{"type":"response.output_item.done","output_index":0,"item":`+call("1", "f")+`}`, ended), "f{}"},
		{"T11 repeated", frames(created, `{"type":"response.output_item.done","output_index":0,"item":`+message+`}`,
			`{"type":"response.output_item.done","output_index":0,"item":`+message+`}`, ended, ended), "Hi"},
		{"T9 mixed items", frames(created,
			`{"type":"response.output_item.added","output_index":0,"item":`+call("1", "f")+`}`,
			`{"type":"response.output_item.added","output_index":1,"item":`+call("2", "g")+`}`,
			`{"type":"response.function_call_arguments.delta","output_index":1,"delta":"[2"}`,
			`{"type":"response.function_call_arguments.delta","output_index":0,"delta":"[1"}`,
			`{"type":"response.function_call_arguments.delta","output_index":1,"delta":"]"}`,
			`{"type":"response.function_call_arguments.delta","output_index":0,"delta":"]"}`,
			`{"type":"response.output_item.done","output_index":1,"item":`+call("2", "g")+`}`,
			`{"type":"response.output_item.done","output_index":0,"item":`+call("1", "f")+`}`, ended), "f[1] g[2]"},
		{"mixed and never done", frames(created,
			`{"type":"response.output_item.added","output_index":0,"item":`+call("1", "f")+`}`,
			`{"type":"response.output_item.added","output_index":1,"item":`+call("2", "g")+`}`,
			`{"type":"response.function_call_arguments.delta","output_index":1,"delta":"[2]"}`,
			`{"type":"response.function_call_arguments.delta","output_index":0,"delta":"[1]"}`, ended), "f[1] g[2]"},
		{"summaries out of step", frames(created,
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[]}}`,
			`{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":1,"delta":"b"}`,
			`{"type":"response.reasoning_text.delta","output_index":0,"content_index":0,"delta":"t"}`,
			`{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"a"}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"a"},{"type":"summary_text","text":"b"},{"type":"summary_text","text":"c"}]}}`, ended), "(a/b/c|t)"},
		{"two parts", frames(created,
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","content":[]}}`,
			`{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"a"}`,
			`{"type":"response.refusal.delta","output_index":0,"content_index":1,"delta":"no"}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"a","annotations":[]},{"type":"refusal","refusal":"no"}]}}`, ended), "a !no"},
		{"custom", frames(created,
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"custom_tool_call","id":"ctc_1","call_id":"c","name":"x","input":""}}`,
			`{"type":"response.custom_tool_call_input.delta","output_index":0,"delta":"ls"}`,
			`{"type":"response.custom_tool_call_input.done","output_index":0,"input":"ls"}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"custom_tool_call","id":"ctc_1","call_id":"c","name":"x","input":"ls"}}`, ended), "xls"},
		{"noise", frames(created, ``, `[DONE]`, `{"type":"keepalive"}`, `{"type":"response.brand_new","output_index":7}`,
			`{"type":"response.shell_call_output_content.delta","output_index":0,"delta":{"stdout":"x"}}`,
			`{"type":"response.output_item.done","output_index":0,"item":`+message+`}`, ended), "Hi"},
	} {
		t.Run(test.name, func(t *testing.T) {
			resp, err := codectest.DecodeStream(c, test.frames)
			if err != nil {
				t.Fatal(err)
			}
			if got := gist(resp); got != test.want || resp.Id != "resp_1" && test.name != "no created" {
				t.Errorf("%q: %v", got, resp)
			}
		})
	}
}

// The end of the bytes is not the end of the answer (cases S5, T5).
func TestS5CutStreams(t *testing.T) {
	for _, cut := range [][]codec.Frame{
		nil,
		frames(created),
		frames(created, `{"type":"response.output_text.delta","item_id":"m","output_index":0,"content_index":0,"delta":"H"}`, `[DONE]`),
	} {
		_, err := codectest.DecodeStream(c, cut)
		if f := fault.From(err); f == nil || f.Kind != fault.BadUpstream || f.Reason != fault.ReasonStreamCut {
			t.Errorf("%v", err)
		}
	}
}

// A last event that says that the answer failed is a failure, whatever the event is called.
func TestLastEventsThatFail(t *testing.T) {
	for name, response := range map[string]string{
		"status": `{"id":"resp_1","status":"failed","error":{"code":"server_error","message":"no"}}`,
		"error":  `{"id":"resp_1","status":"completed","error":{"code":"server_error","message":"no"}}`,
		"bare":   `{"id":"resp_1","status":"failed","error":null}`,
	} {
		for _, kind := range []string{"response.completed", "response.incomplete", "response.failed"} {
			got, err := codectest.DecodeStream(c, frames(created, `{"type":"`+kind+`","response":`+response+`}`))
			if err == nil {
				t.Errorf("%s in %s passes for %v", name, kind, got)
			}
		}
	}
}

func TestS11BrokenFrames(t *testing.T) {
	for _, broken := range []string{
		`{`, `[]`, `"x"`, `{"type":"response.completed"}`, `{"type":"response.completed","response":[]}`,
		`{"type":"response.created","response":{"id":1}}`,
		`{"type":"response.output_item.added","output_index":0,"item":5}`,
		`{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call"}}`,
		`{"type":"response.output_text.annotation.added","item_id":"m","output_index":0,"content_index":0,"annotation":3}`,
		`{"type":"response.content_part.done","item_id":"m","output_index":0,"content_index":0,"part":{}}`,
	} {
		d := c.NewStreamDecoder()
		_, err := d.Decode(codec.Frame{Data: []byte(broken)})
		if f := fault.From(err); f == nil || f.Kind != fault.BadUpstream || f.Reason != fault.ReasonMalformedAnswer {
			t.Errorf("%s: %v", broken, err)
		}
		if events, err := d.Close(); events != nil || err != nil {
			t.Errorf("%s: %v, %v", broken, events, err)
		}
	}
}

// Usage comes with every terminal event (case U7).
func TestU7UsageOfIncomplete(t *testing.T) {
	resp, err := codectest.DecodeStream(c, frames(created,
		`{"type":"response.incomplete","response":{"id":"resp_1","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"usage":{"input_tokens":1,"output_tokens":2,"total_tokens":3}}}`))
	if err != nil || resp.Usage.GetTotalTokens() != 3 || resp.Candidates[0].StopReason != genwayv1.StopReason_STOP_REASON_MAX_TOKENS {
		t.Errorf("%v, %v", resp, err)
	}
}

// Events of the upstream pass through unchanged, and the end adds none.
func TestWireEventsPassThrough(t *testing.T) {
	e := c.NewStreamEncoder(codec.Answer{})
	for _, f := range frames(created, ended) {
		got, err := e.Encode(codec.Event(&genwayv1.WireFrame{Protocol: protocol, Event: "x", Data: f.Data}))
		if err != nil || len(got) != 1 || got[0].Event != "x" || !bytes.Equal(got[0].Data, f.Data) {
			t.Errorf("%s, %v", got, err)
		}
	}
	if got, err := e.Encode(codec.Event(&genwayv1.TextCompleted{})); len(got) > 0 || err != nil {
		t.Errorf("%s, %v", got, err)
	}
}

// A failure after events that passed through continues their numbers and names the same response.
func TestWireEventsThatFail(t *testing.T) {
	e := c.NewStreamEncoder(codec.Answer{})
	if _, err := e.Encode(codec.Event(&genwayv1.WireFrame{Protocol: protocol, Data: []byte(created)})); err != nil {
		t.Fatal(err)
	}
	got := e.Fail(fault.New(fault.BadUpstream, fault.ReasonStreamCut, "cut"))
	if len(got) != 1 || !strings.HasPrefix(string(got[0].Data), `{"type":"response.failed","sequence_number":1,"response":{"id":"resp_1"`) {
		t.Errorf("%s", got)
	}
}

// An event out of order is an error, not a panic.
func TestEventsOutOfOrder(t *testing.T) {
	for name, events := range map[string][]proto.Message{
		"delta":     {&genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Text{Text: "x"}}},
		"completed": {&genwayv1.PartCompleted{}},
		"overlap":   {&genwayv1.PartStarted{Part: textOf("", "")}, &genwayv1.PartStarted{Index: 1, Part: textOf("", "")}},
		"kind":      {&genwayv1.PartStarted{Part: textOf("", "")}, &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_ArgumentsJson{ArgumentsJson: "{"}}},
		"summary":   {&genwayv1.PartStarted{Part: textOf("", "")}, &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Summary{Summary: &genwayv1.SummaryDelta{Index: 9}}}},
	} {
		e := c.NewStreamEncoder(codec.Answer{})
		var err error
		for _, ev := range events {
			if _, failed := e.Encode(codec.Event(ev)); failed != nil {
				err = failed
			}
		}
		if err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

// Only the first candidate has a place in the protocol; the others are declared as losses.
func TestFurtherCandidates(t *testing.T) {
	var losses codec.Losses
	resp := &genwayv1.GenerateTextResponse{Id: "resp_1", Candidates: []*genwayv1.Candidate{
		{Parts: []*genwayv1.Part{textOf("msg_1", "a")}}, {Index: 1, Parts: []*genwayv1.Part{textOf("msg_2", "b")}}}}
	got, err := codectest.DecodeStream(c, codectest.EncodeStream(t, c, codec.Events(resp, nil), codec.Answer{Losses: &losses}))
	if err != nil || gist(got) != "a" || len(losses.List()) != 1 || losses.List()[0].Member != "candidates[1]" {
		t.Errorf("%v, %v, %v", got, losses.List(), err)
	}
}
