package cases_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
)

// imageCases are the cases of clients that ask for images.
func imageCases() []Case {
	return []Case{
		{"C20", "images asked for as events come as the upstream's own events, previews as soon as they are drawn and heartbeats between them; a cut or failed stream never looks complete, an upstream without streams gives its images as events", streamedImages},
		{"C21", "images are drawn by upstreams that draw in answers of text, each by a call, in the actual size and with the sum of what they used; what such an upstream cannot carry is named, and an answer without an image is a native error that is paid", drawnInText},
		{"C22", "images are edited: a form with all that it has and JSON by upstreams of images, the same by upstreams that draw in answers of text, whose answers are image_edit events in a stream; a mask that an upstream has no place for is refused by name", edits},
		{"C23", "an image that a model draws in an answer of text is an image of the caller's protocol, whole and in a stream, with its share of the tokens; it is asked for as the upstream does, by modalities or the tool; callers without images are told that it is lost", drawnNatively},
	}
}

const (
	imageRequest  = `{"prompt":"a fox","partial_images":2,"new_member":{"a":1}}`
	imagePreview  = `{"type":"image_generation.partial_image","b64_json":"AQ==","partial_image_index":0,"created_at":7,"new_member":1}`
	imageFinished = `{"type":"image_generation.completed","b64_json":"Ag==","created_at":7,"size":"8x8","usage":{"input_tokens":3,"output_tokens":4,"total_tokens":7},"new_member":1}`
)

func streamedImages(t *testing.T) {
	bill := &ledger{}
	g := harness.New(t, harness.Config{Heartbeat: 5 * time.Millisecond, Wrap: bill.wrap})
	ask := func() harness.Answer { return g.Stream(harness.Images, "images/m", imageRequest) }
	t.Run("as the upstream draws", func(t *testing.T) {
		drawn := make(chan struct{})
		steps := append(fake.Events(imagePreview), fake.Wait(drawn))
		g.Images.Answer(fake.Stream(append(steps, fake.Events(imageFinished)...)...))
		r := g.Open(t.Context(), harness.Images, "images/m", imageRequest)
		first, _ := r.Next()
		if first.Event != "image_generation.partial_image" || first.Data != imagePreview {
			t.Errorf("%+v", first)
		}
		if beat, _ := r.Next(); beat.Comment != "ping" {
			t.Errorf("%+v", beat)
		}
		close(drawn)
		last := first
		for f, ok := r.Next(); ok; f, ok = r.Next() {
			if f.Data != "" {
				last = f
			}
		}
		if last.Event != "image_generation.completed" || last.Data != imageFinished {
			t.Errorf("%+v", last)
		}
		if asked := string(g.Images.Last(t).Body); asked != `{"model":"m","stream":true,`+imageRequest[1:] {
			t.Errorf("asked %s", asked)
		}
		if bill.usage().GetTotalTokens() != 7 {
			t.Errorf("the bill is %v", bill.usage())
		}
	})
	t.Run("cut", func(t *testing.T) {
		g.Images.Answer(fake.Stream(append(fake.Events(imagePreview), fake.Cut())...))
		frames := ask().Frames()
		if last := frames[len(frames)-1]; last.Event != "error" || last.JSON().At("error.message").Text() == "" {
			t.Errorf("%+v", last)
		}
	})
	t.Run("failed", func(t *testing.T) {
		const failure = `{"type":"error","error":{"message":"no","type":"image_generation_user_error","code":"moderation_blocked","param":null}}`
		g.Images.Answer(fake.Stream(fake.Events(imagePreview, failure)...))
		frames := ask().Frames()
		failures := 0
		for _, f := range frames {
			if strings.Contains(f.Data, "moderation_blocked") {
				failures++
			}
		}
		if failures != 1 || frames[len(frames)-1].Data != failure {
			t.Errorf("%d times in %+v", failures, frames)
		}
	})
	t.Run("refused", func(t *testing.T) {
		g.Images.Answer(fake.Refusal(400, `{"error":{"message":"no such size","type":"invalid_request_error","param":"size","code":null}}`))
		native(t, harness.Images, ask(), 400)
	})
	t.Run("without streams", func(t *testing.T) {
		g.Images.Answer(fake.JSON(`{"created":7,"data":[{"b64_json":"Ag=="}],"usage":{"input_tokens":3,"output_tokens":4,"total_tokens":7}}`))
		frames := ask().Frames()
		if len(frames) != 1 || frames[0].Event != "image_generation.completed" || frames[0].JSON().At("b64_json").Text() != "Ag==" {
			t.Errorf("%+v", frames)
		}
	})
}

// drawnOver are answers of upstreams that draw in answers of text: with an image of 2 by 1 pixels, and without one.
var drawnOver = map[harness.Protocol]struct{ whole, without string }{
	harness.Responses: {
		`{"id":"resp_1","object":"response","created_at":7,"model":"m","status":"completed","error":null,"output":[{"type":"image_generation_call","id":"ig_1","status":"completed","quality":"low","background":"opaque","output_format":"png","size":"9x9","revised_prompt":"a red fox","result":"` + twoByOne + `"}],"usage":{"input_tokens":10,"output_tokens":4,"total_tokens":14},"tools":[{"type":"image_generation","model":"painter"}],"tool_usage":{"image_gen":{"input_tokens":5,"output_tokens":20,"total_tokens":25,"output_tokens_details":{"image_tokens":20}}}}`,
		`{"id":"resp_1","object":"response","created_at":7,"model":"m","status":"completed","error":null,"output":[{"type":"message","id":"m","role":"assistant","status":"completed","content":[{"type":"output_text","text":"A fox is red.","annotations":[]}]}],"usage":{"input_tokens":10,"output_tokens":4,"total_tokens":14}}`,
	},
	harness.Chat: {
		`{"id":"c","object":"chat.completion","created":7,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"","images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + twoByOne + `"}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":15,"completion_tokens":24,"total_tokens":39,"completion_tokens_details":{"text_tokens":4,"image_tokens":20}}}`,
		`{"id":"c","object":"chat.completion","created":7,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"A fox is red."},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":4,"total_tokens":14}}`,
	},
	harness.GenerateContent: {
		`{"candidates":[{"content":{"role":"model","parts":[{"inlineData":{"mimeType":"image/png","data":"` + twoByOne + `"}}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":15,"candidatesTokenCount":24,"totalTokenCount":39,"candidatesTokensDetails":[{"modality":"IMAGE","tokenCount":20},{"modality":"TEXT","tokenCount":4}]},"modelVersion":"m","responseId":"r"}`,
		`{"candidates":[{"content":{"role":"model","parts":[{"text":"A fox is red."}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":4,"totalTokenCount":14}}`,
	},
}

// twoByOne begins a PNG of 2 by 1 pixels.
const twoByOne = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAAB"

func drawnInText(t *testing.T) {
	for over, answers := range drawnOver {
		t.Run(string(over), func(t *testing.T) {
			recorder, rows := newBook(t)
			g := harness.New(t, harness.Config{Ledger: recorder})
			u, model := g.Upstream(over), string(over)+"/m"
			stream := func(body string) fake.Answer {
				switch over { //nolint:exhaustive // those that are drawn over
				case harness.GenerateContent:
					return fake.Stream(fake.Events(body)...)
				case harness.Chat:
					return fake.Stream(fake.Events(strings.NewReplacer(`"message"`, `"delta"`, "chat.completion", "chat.completion.chunk").Replace(body), "[DONE]")...)
				}
				events := fake.Events(`{"type":"response.image_generation_call.partial_image","item_id":"ig_1","output_index":0,"sequence_number":1,"partial_image_index":0,"partial_image_b64":"`+twoByOne+`"}`, `{"type":"response.completed","sequence_number":2,"response":`+body+`}`)
				if body == answers.without {
					events = events[1:] // behind a preview it would be an event of the stream
				}
				return fake.Stream(events...)
			}
			u.Answer(fake.JSON(answers.whole), fake.JSON(answers.whole))
			a := g.Post(harness.Images, model, `{"prompt":"a fox","n":2,"size":"1024x1536","quality":"low","output_format":"png"}`)
			got := a.JSON()
			if got.At("size").Text() != "2x1" || got.At("data[1].b64_json").Text() != twoByOne || got.At("data[1].size").Text() != "2x1" || got.At("output_format").Text() != "png" {
				t.Errorf("%s", a.Body)
			}
			got.At("usage").Is(t, `{"input_tokens":30,"output_tokens":48,"total_tokens":78`+map[harness.Protocol]string{harness.Responses: `,"input_tokens_details":{"image_tokens":0,"text_tokens":30}`}[over]+`,"output_tokens_details":{"image_tokens":40,"text_tokens":8}}`)
			if lost := a.Header.Get("X-Genway-Lost"); lost != map[harness.Protocol]string{harness.GenerateContent: "quality", harness.Chat: "size, quality"}[over] {
				t.Errorf("lost %q", lost)
			}
			if row := settled(t, rows, 1); row.Usage.Images != 2 || row.Attempts != 2 || row.Usage.Input != 30 {
				t.Errorf("the row is %+v", row)
			}

			u.Answer(stream(answers.whole))
			frames := slices.DeleteFunc(g.Stream(harness.Images, model, `{"prompt":"a fox","partial_images":1}`).Frames(), func(f harness.Frame) bool { return f.Event == "" })
			last := frames[len(frames)-1]
			if previews := map[harness.Protocol]int{harness.Responses: 1}[over]; len(frames) != previews+1 || last.Event != "image_generation.completed" ||
				last.JSON().At("b64_json").Text() != twoByOne || last.JSON().At("size").Text() != "2x1" || string(last.JSON().At("usage.total_tokens").Raw) != "39" {
				t.Errorf("%+v", frames)
			}
			if frames[0].Event != "image_generation.partial_image" && over == harness.Responses {
				t.Errorf("%+v", frames[0])
			}

			for n, body := range []string{`{"prompt":"a fox"}`, `{"prompt":"a fox","stream":true}`} {
				u.Answer([]fake.Answer{fake.JSON(answers.without), stream(answers.without)}[n])
				refused := g.Post(harness.Images, model, body)
				if message := native(t, harness.Images, refused, 422); !strings.Contains(message, "without an image") || refused.JSON().At("error.code").Text() != "unprocessable_entity" {
					t.Errorf("%s", refused.Body)
				}
				if row := settled(t, rows, 3+n); row.Usage.Input != 10 || row.Outcome != "failed" || row.Usage.Images != 0 {
					t.Errorf("the row is %+v", row)
				}
			}
			native(t, harness.Images, g.Post(harness.Images, model, `{"prompt":"a fox","response_format":"url"}`), 400)
		})
	}
}
