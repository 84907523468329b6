package cases_test

import (
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
