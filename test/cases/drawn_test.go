package cases_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
	"github.com/genway/genway/test/cases/probe"
)

// saying is a first request with more members.
func saying(p harness.Protocol, members string) string {
	return strings.TrimSuffix(p.Hello(), "}") + "," + members + "}"
}

// drawings are answers of each protocol with a text and then an image, of which 20 tokens are, whole and as events.
var drawings = map[harness.Protocol]struct {
	whole  string
	events []string
}{
	harness.Chat: {
		`{"id":"c","object":"chat.completion","created":7,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Here: ","images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + twoByOne + `"}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":15,"completion_tokens":24,"total_tokens":39,"completion_tokens_details":{"image_tokens":20}}}`,
		[]string{
			`{"id":"c","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"Here: "},"finish_reason":null}]}`,
			`{"id":"c","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":{"images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + twoByOne + `"}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":15,"completion_tokens":24,"total_tokens":39,"completion_tokens_details":{"image_tokens":20}}}`,
			`[DONE]`,
		},
	},
	harness.Responses: {
		drawnResponse,
		[]string{
			`{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","created_at":7,"model":"m","status":"in_progress","output":[]}}`,
			`{"type":"response.image_generation_call.partial_image","item_id":"ig_1","output_index":1,"sequence_number":1,"partial_image_index":0,"partial_image_b64":"AA=="}`,
			`{"type":"response.completed","sequence_number":2,"response":` + drawnResponse + `}`,
		},
	},
	harness.GenerateContent: {
		`{"candidates":[{"content":{"role":"model","parts":[{"text":"Here: "},{"inlineData":{"mimeType":"image/png","data":"` + twoByOne + `"},"thoughtSignature":"c2ln"}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":15,"candidatesTokenCount":24,"totalTokenCount":39,"candidatesTokensDetails":[{"modality":"IMAGE","tokenCount":20}]},"modelVersion":"m","responseId":"r"}`,
		[]string{
			`{"candidates":[{"content":{"role":"model","parts":[{"text":"Here: "}]},"index":0}],"modelVersion":"m","responseId":"r"}`,
			`{"candidates":[{"content":{"role":"model","parts":[{"inlineData":{"mimeType":"image/png","data":"` + twoByOne + `"},"thoughtSignature":"c2ln"}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":15,"candidatesTokenCount":24,"totalTokenCount":39,"candidatesTokensDetails":[{"modality":"IMAGE","tokenCount":20}]},"modelVersion":"m","responseId":"r"}`,
		},
	},
	harness.Interactions: {
		`{"id":"i","object":"interaction","status":"completed","model":"m","created":"2026-11-28T10:00:00Z","steps":[{"type":"model_output","content":[{"type":"text","text":"Here: "},{"type":"image","data":"` + twoByOne + `","mime_type":"image/png"}]}],"usage":{"total_tokens":39,"total_input_tokens":15,"total_output_tokens":24,"output_tokens_by_modality":[{"modality":"image","tokens":20}]}}`,
		[]string{
			`{"interaction":{"id":"i","object":"interaction","status":"in_progress","model":"m","created":"2026-11-28T10:00:00Z"},"event_type":"interaction.created"}`,
			`{"index":0,"step":{"type":"model_output"},"event_type":"step.start"}`,
			`{"index":0,"delta":{"type":"text","text":"Here: "},"event_type":"step.delta"}`,
			`{"index":0,"delta":{"type":"image","data":"` + twoByOne + `","mime_type":"image/png"},"event_type":"step.delta"}`,
			`{"index":0,"event_type":"step.stop"}`,
			`{"interaction":{"id":"i","object":"interaction","status":"completed","model":"m","created":"2026-11-28T10:00:00Z","usage":{"total_tokens":39,"total_input_tokens":15,"total_output_tokens":24,"output_tokens_by_modality":[{"modality":"image","tokens":20}]}},"event_type":"interaction.completed"}`,
		},
	},
}

const drawnResponse = `{"id":"resp_1","object":"response","created_at":7,"model":"m","status":"completed","error":null,"output":[{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Here: ","annotations":[]}]},{"type":"image_generation_call","id":"ig_1","status":"completed","output_format":"png","result":"` + twoByOne + `"}],"usage":{"input_tokens":15,"output_tokens":24,"total_tokens":39}}`

// drawnAt are where callers find the image, of the last of a list in an answer and of an event of a stream.
var drawnAt = map[harness.Protocol]struct{ list, whole, event, tokens string }{
	harness.Chat:            {"choices[0].message.images", "image_url.url", "choices[0].delta.images[0].image_url.url", `"image_tokens":20`},
	harness.Responses:       {"output", "result", "item.result", ""},
	harness.GenerateContent: {"candidates[0].content.parts", "inlineData.data", "candidates[0].content.parts[0].inlineData.data", `{"modality":"IMAGE","tokenCount":20}`},
	harness.Interactions:    {"steps", "content[0].data", "delta.data", `{"modality":"image","tokens":20}`},
}

func drawnNatively(t *testing.T) {
	g := harness.New(t, harness.Config{})
	for over, drawn := range drawings {
		for _, caller := range harness.Texts() {
			if caller == over {
				continue // its bytes pass
			}
			t.Run(string(caller)+" over "+string(over), func(t *testing.T) {
				at, has := drawnAt[caller]
				g.Upstream(over).Answer(fake.JSON(drawn.whole), fake.Stream(fake.Events(drawn.events...)...))
				hello := caller.Hello()
				whole := g.Post(caller, string(over)+"/m", hello)
				if caller == harness.Chat {
					hello = saying(caller, `"stream_options":{"include_usage":true}`)
				}
				streamed := g.Stream(caller, string(over)+"/m", hello)
				if last := whole.JSON().At(at.list).List(); has && !strings.HasSuffix(last[len(last)-1].At(at.whole).Text(), twoByOne) {
					t.Errorf("%s", whole.Body)
				}
				drew := 0
				for _, f := range streamed.Frames() {
					if has && strings.HasPrefix(f.Data, "{") && strings.HasSuffix(f.JSON().At(at.event).Text(), twoByOne) {
						drew++
					}
				}
				if has != (drew == 1) {
					t.Errorf("%d images in %s", drew, streamed.Body)
				}
				for _, a := range []harness.Answer{whole, streamed} {
					lost := append(a.Header.Values("X-Genway-Lost"), a.Trailer.Values("X-Genway-Lost")...)
					names := strings.Split(strings.Join(lost, ", "), ", ")
					if !strings.Contains(string(a.Body), "Here: ") || !has && strings.Contains(string(a.Body), twoByOne) || has == slices.Contains(names, "content") {
						t.Errorf("lost %q: %s", names, a.Body)
					}
					// Responses counts the tokens of images in tool_usage, and these two have no place for them.
					if over != harness.Responses && (at.tokens == "") != slices.Contains(names, "usage.output_image_tokens") || over != harness.Responses && !strings.Contains(string(a.Body), at.tokens) {
						t.Errorf("lost %q of the usage: %s", names, a.Body)
					}
				}
			})
		}
	}
	for _, c := range []struct {
		caller, over   harness.Protocol
		members        string
		at, want, lost string
	}{
		{harness.Chat, harness.GenerateContent, `"modalities":["image","text"]`, "generationConfig.responseModalities", `["IMAGE","TEXT"]`, ""},
		{harness.Chat, harness.Interactions, `"modalities":["image","text"]`, "response_modalities", `["image","text"]`, ""},
		{harness.Chat, harness.Responses, `"modalities":["image","text"]`, "tools", `[{"type":"image_generation"}]`, ""},
		{harness.Chat, harness.Responses, `"modalities":["image"]`, "tool_choice", `{"type":"image_generation"}`, ""},
		{harness.GenerateContent, harness.Responses, `"generationConfig":{"responseModalities":["TEXT","IMAGE"]}`, "tools", `[{"type":"image_generation"}]`, ""},
		{harness.GenerateContent, harness.Chat, `"generationConfig":{"responseModalities":["TEXT","IMAGE"]}`, "modalities", `["text","image"]`, ""},
		{harness.Interactions, harness.Responses, `"response_modalities":["image"]`, "tool_choice", `{"type":"image_generation"}`, ""},
		{harness.Responses, harness.GenerateContent, `"tools":[{"type":"image_generation","quality":"low"}],"tool_choice":{"type":"image_generation"}`, "generationConfig.responseModalities", `["IMAGE"]`, "tools[0].quality"},
		{harness.Responses, harness.Interactions, `"tools":[{"type":"image_generation"}],"tool_choice":"required"`, "response_modalities", `["image"]`, ""},
		{harness.Responses, harness.GenerateContent, `"tools":[{"type":"image_generation"}]`, "generationConfig.responseModalities", ``, "tools[0]"},
	} {
		g.Upstream(c.over).Answer(fake.JSON(drawings[c.over].whole))
		a := g.Post(c.caller, string(c.over)+"/m", saying(c.caller, c.members))
		if lost := a.Header.Get("X-Genway-Lost"); a.Status != http.StatusOK || !strings.HasPrefix(lost, c.lost) {
			t.Errorf("%s over %s %s: %d, lost %q: %s", c.caller, c.over, c.members, a.Status, lost, a.Body)
			continue
		}
		if got := string(probe.Parse(t, g.Upstream(c.over).Last(t).Body).At(c.at).Raw); got != c.want {
			t.Errorf("%s over %s %s: %s is %s, want %s", c.caller, c.over, c.members, c.at, got, c.want)
		}
	}
	for caller, members := range map[harness.Protocol][2]string{
		harness.Chat:            {`"modalities":["image"]`, "modalities"},
		harness.GenerateContent: {`"generationConfig":{"responseModalities":["IMAGE"]}`, "generationConfig.responseModalities"},
		harness.Responses:       {`"tools":[{"type":"image_generation"}],"tool_choice":"required"`, "tools[0].type"},
	} {
		if message := native(t, caller, g.Post(caller, "messages/m", saying(caller, members[0])), 400); !strings.HasPrefix(message, members[1]) {
			t.Errorf("%s over messages: %s", caller, message)
		}
	}
}
