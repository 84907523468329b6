package messages_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/codectest"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Tool results that stand in one another cost what they are long, however deep they are.
func TestU43NestedResultsAreCheap(t *testing.T) {
	const deep = 4000
	body := `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[` +
		strings.Repeat(`{"type":"tool_result","tool_use_id":"c","content":[`, deep) + `{"type":"text","text":"x"}` + strings.Repeat(`]}`, deep) + `]}]}`
	codectest.CostsItsLength(t, len(body), func() {
		if _, err := c.DecodeRequest([]byte(body)); err != nil {
			t.Error(err)
		}
	})
}

// A direct caller's result in a result is refused by its name.
func TestU43NestedResultsAreRefused(t *testing.T) {
	result := func(parts ...*genwayv1.Part) *genwayv1.Part {
		return &genwayv1.Part{Kind: &genwayv1.Part_ToolResult{ToolResult: &genwayv1.ToolResult{ToolCallId: "c", Parts: parts}}}
	}
	_, err := c.EncodeRequest(&codec.Request{GenerateTextRequest: &genwayv1.GenerateTextRequest{Model: "m", Messages: []*genwayv1.Message{
		{Role: genwayv1.Role_ROLE_USER, Parts: []*genwayv1.Part{result(text("a"), result(text("b")))}},
	}}}, nil)
	if err == nil || !strings.Contains(err.Error(), "messages[0].parts[0].tool_result.parts[1].tool_result: a tool result cannot stand in another one") {
		t.Errorf("%v", err)
	}
}

// Tool results in messages of their own are joined to one turn in linear time, also where other
// messages stand between them.
func TestU43JoiningResultsIsCheap(t *testing.T) {
	const many = 4000
	part := func(i int) *genwayv1.Part {
		if i%8 == 7 {
			return text("and")
		}
		return &genwayv1.Part{Kind: &genwayv1.Part_ToolResult{ToolResult: &genwayv1.ToolResult{ToolCallId: "c", Parts: []*genwayv1.Part{text("done")}}}}
	}
	req := &genwayv1.GenerateTextRequest{Model: "m"}
	for i := range many {
		req.Messages = append(req.Messages, &genwayv1.Message{Role: genwayv1.Role_ROLE_TOOL, Parts: []*genwayv1.Part{part(i)}})
	}
	codectest.CostsItsLength(t, 64*many, func() {
		body, err := c.EncodeRequest(&codec.Request{GenerateTextRequest: req}, nil)
		if err != nil || bytes.LastIndex(body, []byte(`"tool_result"`)) > bytes.Index(body, []byte(`"and"`)) || bytes.Count(body, []byte(`"role":"user"`)) != 1 {
			t.Errorf("%v: %.300s", err, body)
		}
	})
}
