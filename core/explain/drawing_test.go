package explain_test

import (
	"slices"
	"testing"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Case C21: what becomes of a request for images at an upstream that draws in answers of text, and of its answer.
func TestExplainDrawing(t *testing.T) {
	const body = `{"model":"any","prompt":"A square","size":"1536x1024","quality":"low","moderation":"low","n":2}`
	for protocol, want := range map[string]struct {
		arrives map[string]string
		lost    []string
		answer  string
		data    string
	}{
		"responses": {
			arrives: map[string]string{"prompt": "input", "size": "tools[0].size", "quality": "tools[0].quality", "moderation": "tools[0].moderation"},
			answer:  `{"id":"r","object":"response","created_at":7,"model":"m","status":"completed","error":null,"output":[{"type":"image_generation_call","id":"ig_1","status":"completed","revised_prompt":"a","result":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="}],"usage":{"input_tokens":3,"output_tokens":5,"total_tokens":8}}`,
			data:    "output[0].result",
		},
		"generate_content": {
			arrives: map[string]string{"prompt": "contents[0].parts[0].text", "size": "generationConfig.imageConfig.aspectRatio"},
			lost:    []string{"quality", "moderation"},
			answer:  `{"candidates":[{"content":{"role":"model","parts":[{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":5,"totalTokenCount":8}}`,
			data:    "candidates[0].content.parts[0].inlineData.data",
		},
	} {
		resp, err := explainer(t).Explain(t.Context(), &adminv1.ExplainRequest{Protocol: genwayv1.Protocol_PROTOCOL_IMAGES, UpstreamProtocol: named(protocol), Body: []byte(body), Answer: []byte(want.answer)})
		if err != nil || resp.GetRefusal() != nil {
			t.Fatalf("%s: %v, %v", protocol, err, resp.GetRefusal())
		}
		is := fates(resp.GetMembers())
		for member, there := range want.arrives {
			if !slices.Contains(is[member].GetArrives(), there) {
				t.Errorf("%s: %s is %v, want %s; %s", protocol, member, is[member], there, resp.GetUpstreamBody())
			}
		}
		for _, member := range want.lost {
			if is[member].GetFate() != adminv1.Fate_FATE_LOST {
				t.Errorf("%s: %s is %v", protocol, member, is[member])
			}
		}
		if is["n"].GetFate() != adminv1.Fate_FATE_IMPLIED || is["n"].GetReason() != "each image is drawn by a call of its own" {
			t.Errorf("%s: n is %v", protocol, is["n"])
		}
		if m := fates(resp.GetAnswer().GetMembers())[want.data]; !slices.Contains(m.GetArrives(), "data[0].b64_json") {
			t.Errorf("%s: %s is %v in %v", protocol, want.data, m, resp.GetAnswer())
		}
	}
}

// What asks for images in an answer of text arrives as what the upstream has for it.
func TestDrawnInText(t *testing.T) {
	const (
		chat, responses      = genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, genwayv1.Protocol_PROTOCOL_RESPONSES
		gemini, interactions = genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT, genwayv1.Protocol_PROTOCOL_INTERACTIONS
	)
	for _, c := range []struct {
		from, to            genwayv1.Protocol
		body, path, arrives string
	}{
		{chat, responses, `{"model":"m","messages":[{"role":"user","content":"A fox"}],"modalities":["text","image"]}`, "modalities[1]", "tools[0].type"},
		{gemini, responses, `{"contents":[{"parts":[{"text":"A fox"}]}],"tools":[{"functionDeclarations":[{"name":"f","description":"d"}]}],"generationConfig":{"responseModalities":["TEXT","IMAGE"]}}`, "generationConfig.responseModalities[1]", "tools[1].type"},
		{responses, gemini, `{"model":"m","input":"A fox","tools":[{"type":"image_generation"}],"tool_choice":"required"}`, "tool_choice", "generationConfig.responseModalities[0]"},
		{responses, interactions, `{"model":"m","input":"A fox","tools":[{"type":"image_generation"}],"tool_choice":{"type":"image_generation"}}`, "tool_choice.type", "response_modalities[0]"},
	} {
		resp, err := explainer(t).Explain(t.Context(), &adminv1.ExplainRequest{Protocol: c.from, UpstreamProtocol: c.to, Model: "m", Body: []byte(c.body)})
		if err != nil || resp.GetRefusal() != nil {
			t.Fatal(c.from, err, resp.GetRefusal())
		}
		if m := fates(resp.GetMembers())[c.path]; m.GetFate() != adminv1.Fate_FATE_MAPPED || !slices.Equal(m.GetArrives(), []string{c.arrives}) {
			t.Errorf("%s to %s: %v of %v", c.from, c.to, m, resp.GetMembers())
		}
	}
}
