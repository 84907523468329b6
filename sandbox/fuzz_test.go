package sandbox

import (
	"testing"
	"unicode/utf8"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
	"google.golang.org/protobuf/proto"
)

// FuzzReply lets any prompt, tool and limit through: the answer is one that can be
// sent, and no call panics.
func FuzzReply(f *testing.F) {
	f.Add("Say hello.", "get_weather", `{"type":"object"}`, int64(0))
	f.Add(`Call the tool read with {"a":"}"}. Call the tool read with "x`, "read", `{"properties":{"a":{"type":"string"}}}`, int64(3))
	f.Add("<a-b>use `read` Größe 🌦️", "read", `{`, int64(1))
	f.Add("<x></x>", "", "", int64(7))
	f.Fuzz(func(t *testing.T, prompt, tool, schema string, limit int64) {
		if !utf8.ValidString(prompt) || !utf8.ValidString(tool) || !utf8.ValidString(schema) {
			return
		}
		req := ask(prompt, offer(function(tool, schema, schema), custom))
		if limit > 0 {
			req.MaxOutputTokens = &limit
		}
		req.StopSequences = []string{tool}
		req.Sampling = &genwayv1.Sampling{Logprobs: new(true), Seed: &limit}
		resp, err := newSandbox(t).GenerateText(t.Context(), deferred.New(req))
		if err != nil {
			return
		}
		if _, err := proto.Marshal(resp); err != nil {
			t.Fatalf("%v: %v", err, resp)
		}
	})
}
