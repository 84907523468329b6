package cases_test

import (
	"maps"
	"net/http"
	"testing"

	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/upstream"
	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
)

// What a vendor's answer says in its headers reaches the programs of its callers: what its clients
// read to those of its protocol, its name for the call to all. Whose account it is, and what is
// left of its quota, reaches no caller.
func TestHeadersOfAnswers(t *testing.T) {
	vendors := map[string]string{
		"X-Ratelimit-Remaining-Tokens": "3", "Anthropic-Ratelimit-Requests-Remaining": "7", "Anthropic-Ratelimit-Unified-Status": "rejected",
		"Anthropic-Priority-Input-Tokens-Remaining": "1", "Anthropic-Fast-Output-Tokens-Remaining": "1", "Openai-Version": "2020-10-01",
		"Anthropic-Thinking-Prefix-Mismatch": "block=messages.1.content.0; kind=edited", "Anthropic-Anything-New": "yes",
		"Request-Id": "req_theirs", "Openai-Organization": "ours", "Anthropic-Organization-Id": "ours", "Anthropic-Workspace-Id": "ours", "Set-Cookie": "a=b",
	}
	own := map[harness.Protocol]map[string]string{
		harness.Chat:      {"Openai-Version": "2020-10-01"},
		harness.Responses: {"Openai-Version": "2020-10-01"},
		harness.Messages:  {"Anthropic-Thinking-Prefix-Mismatch": "block=messages.1.content.0; kind=edited", "Anthropic-Anything-New": "yes"},
	}
	everyWay(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
		w.Gateway = harness.New(t, harness.Config{Wrap: func(all upstream.Upstream) upstream.Upstream {
			target := route.Target{Name: "u", Upstream: all, Protocol: w.upstream.ID()}
			return route.New([]route.Route{{Model: "*", Targets: []route.Target{target}}})
		}})
		refusal := fake.Refusal(http.StatusTooManyRequests, refusals[w.upstream])
		for name, answer := range map[string]fake.Answer{"answer": answers.Text("fine").Answer(w.upstream, w.streamed), "refusal": refusal} {
			header := maps.Clone(vendors)
			maps.Copy(header, answer.Header)
			answer.Header = header
			w.Upstream(w.upstream).Answer(answer)
			a := w.ask(w.caller.Hello())
			want := map[string]string{}
			if w.caller == w.upstream {
				want = own[w.caller]
			}
			for k := range vendors {
				if got := a.Header.Get(k); k != "Request-Id" && got != want[k] {
					t.Errorf("%s: %s: %q, want %q", name, k, got, want[k])
				}
			}
			if got := a.Header.Get("X-Genway-Upstream-Request-Id"); got != "req_theirs" {
				t.Errorf("%s: their name for it is %q", name, got)
			}
			if id := a.Header.Get("Request-Id"); id == "req_theirs" || id != a.Header.Get("X-Genway-Request-Id") {
				t.Errorf("%s: our name for it is %q", name, id)
			}
		}
	})
}
