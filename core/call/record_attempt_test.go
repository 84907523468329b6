package call_test

import (
	"sync/atomic"
	"testing"

	"github.com/genway/genway/core/call"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Nothing of a call that failed is the caller's once another one has begun: headers, model, usage, text, or that its answer had begun.
func TestACallForgetsTheOneBefore(t *testing.T) {
	r := &call.Record{}
	var begun []string
	r.StartCall(func() { begun = append(begun, "first") })
	r.Headers, r.RawModel, r.RawUsage = map[string]string{"X-Request-Id": "of the first"}, "of the first", &genwayv1.Usage{InputTokens: 1}
	r.Flow, r.Gathers = &atomic.Int64{}, true
	r.AnswerBegins()
	r.AnswerBegins()
	if !r.AnswerBegun() {
		t.Error("an answer that has begun has not")
	}
	r.StartCall(func() { begun = append(begun, "second") })
	if r.Headers != nil || r.RawModel != "" || r.RawUsage != nil || r.Flow != nil || r.Gathers || r.AnswerBegun() {
		t.Errorf("of the call before there is left: %v %q %v %v, gathers: %v, begun: %v", r.Headers, r.RawModel, r.RawUsage, r.Flow, r.Gathers, r.AnswerBegun())
	}
	r.AnswerBegins()
	if len(begun) != 2 || begun[0] != "first" || begun[1] != "second" {
		t.Errorf("told: %q", begun)
	}
	r.StartCall(nil)
	r.AnswerBegins() // nothing to tell
}
