package cases_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
	"github.com/genway/genway/test/cases/transcript"
)

func splitBetweenEvents(t *testing.T) {
	t.Run("surrogates", func(t *testing.T) { splitLetters(t, `\ud83d`, `\ude00`) })
	t.Run("bytes", func(t *testing.T) { splitLetters(t, "\xf0\x9f", "\x98\x80") })
}

func splitLetters(t *testing.T, first, second string) {
	reply := answers.Text("xxxxxxabcdyyyyyy").Then(answers.Tool("call_1", "weather", `{"q":"abcdEFGH"}`))
	split := strings.NewReplacer("abcd", "ab"+first+second+"cd", `ab"`, "ab"+first+`"`, `"cd`, `"`+second+"cd")
	everyWay(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
		if w.caller == w.upstream {
			return // every byte passes
		}
		whole, halves := reply.Body(w.upstream), 0
		events := reply.Events(w.upstream)
		for i, event := range events {
			events[i] = split.Replace(event)
			if strings.Contains(events[i], first+`"`) {
				halves++
			}
		}
		if halves == 0 {
			t.Fatalf("nothing is split in %q", events)
		}
		if w.streamed {
			w.Upstream(w.upstream).Answer(fake.Stream(fake.Events(events...)...))
		} else {
			w.Upstream(w.upstream).Answer(fake.JSON(split.Replace(whole)))
		}
		got := transcript.Read(t, w.caller, w.ask(w.caller.Hello()), w.streamed)
		var arguments struct{ Q string }
		if len(got.Calls) != 1 || json.Unmarshal([]byte(got.Calls[0].Arguments), &arguments) != nil ||
			got.Text != "xxxxxxab\U0001F600cdyyyyyy" || arguments.Q != "ab\U0001F600cdEFGH" {
			t.Errorf("got %+v", got)
		}
	})
}
