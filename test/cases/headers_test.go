package cases_test

import (
	"maps"
	"net/http"
	"testing"

	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
)

// protocols are those of the text gates, in the contract's words.
var protocols = map[harness.Protocol]genwayv1.Protocol{
	harness.Chat: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, harness.Responses: genwayv1.Protocol_PROTOCOL_RESPONSES,
	harness.Messages: genwayv1.Protocol_PROTOCOL_MESSAGES, harness.GenerateContent: genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT,
}

// What a vendor's answer says in its headers reaches the programs of its callers: of
// limits to those of its protocol, its name for the call to all. Whose account it is
// reaches no caller.
func TestHeadersOfAnswers(t *testing.T) {
	vendors := map[string]string{
		"X-Ratelimit-Remaining-Tokens": "3", "Anthropic-Ratelimit-Requests-Remaining": "7", "Openai-Version": "2020-10-01",
		"Request-Id": "req_theirs", "Openai-Organization": "ours", "Anthropic-Organization-Id": "ours", "Set-Cookie": "a=b",
	}
	own := map[harness.Protocol]map[string]string{
		harness.Chat:      {"X-Ratelimit-Remaining-Tokens": "3", "Openai-Version": "2020-10-01"},
		harness.Responses: {"X-Ratelimit-Remaining-Tokens": "3", "Openai-Version": "2020-10-01"},
		harness.Messages:  {"Anthropic-Ratelimit-Requests-Remaining": "7"},
	}
	everyWay(t, harness.Texts(), harness.Texts(), func(t *testing.T, w way) {
		w.Gateway = harness.New(t, harness.Config{Wrap: func(all upstream.Upstream) upstream.Upstream {
			target := route.Target{Name: "u", Upstream: all, Protocol: protocols[w.upstream]}
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
