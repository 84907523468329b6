package programs

import (
	"net/http"
	"strings"
	"testing"

	"github.com/genway/genway/test/conformance/caller"
	"github.com/genway/genway/test/conformance/server"
	"github.com/genway/genway/test/conformance/vendors"
)

// absurdWays ask for more than an int64 of tokens or of nano-dollars holds, in every
// protocol; %s is the model.
func absurdWays() []way {
	turn := `"messages":[{"role":"user","content":"hi"}]`
	contents := `"contents":[{"role":"user","parts":[{"text":"hi"}]}]`
	var all []way
	for _, most := range []string{"9223372036854775807", "5000000000000000"} {
		all = append(all,
			way{"chat", "/v1/chat/completions", `{"model":"%s","max_tokens":` + most + `,` + turn + `}`},
			way{"chat", "/v1/chat/completions", `{"model":"%s","stream":true,"max_completion_tokens":` + most + `,` + turn + `}`},
			way{"chat", "/v1/responses", `{"model":"%s","input":"hi","max_output_tokens":` + most + `}`},
			way{"messages", "/v1/messages", `{"model":"%s","max_tokens":` + most + `,` + turn + `}`},
		)
	}
	return append(all,
		way{"chat", "/v1/chat/completions", `{"model":"%s","n":4,"max_tokens":2305843009213693952,` + turn + `}`},
		way{"chat", "/v1/chat/completions", `{"model":"%s","n":2,"max_tokens":9223371487098961920,` + turn + `}`},
		way{"generatecontent", "/v1beta/models/%s:generateContent", `{"generationConfig":{"candidateCount":8,"maxOutputTokens":2147483647},` + contents + `}`},
	)
}

// absurdClaims asks for them with keys whose budget is spent, and of a model whose tokens
// a minute are limited for all callers, by a store of the core's own and by a shared one.
func absurdClaims(t *testing.T, on stores) {
	for _, name := range []string{"in memory", "in a shared store"} {
		t.Run(name, func(t *testing.T) {
			on.each(t, func(t *testing.T, data string) {
				store := ""
				if name != "in memory" {
					store = "store: \"" + server.StartRedis(t).URL(t) + "\", timeout: 10s, "
				}
				const never = 99
				model := vendors.Model(vendors.Answer, "cancel-own", never)
				r := start(t, server.Options{Data: data}, "limits: {"+store+"models: [{model: \""+model+"\", tokens_per_minute: 1000}]}\n")
				poor := map[string]string{}
				for _, group := range server.Groups() {
					key, err := server.CreateKey(data, group, "poor", "--budget-day", "0.0001")
					if err != nil {
						t.Fatal(err)
					}
					poor[group] = key
				}
				other := vendors.Model(vendors.Answer, "drain-own", never)
				for _, w := range absurdWays() {
					for range 2 {
						if status, body := r.post(t, w, other, poor[w.group]); status != http.StatusTooManyRequests || !strings.Contains(body, "whole budget of this key") {
							t.Errorf("%s %s with a budget: %d %s", w.path, w.body, status, body)
						}
					}
					if status, body := r.post(t, w, model, r.Keys[w.group]); status != http.StatusBadRequest || !strings.Contains(body, "Lower") {
						t.Errorf("%s %s of a limited model: %d %s", w.path, w.body, status, body)
					}
				}
				if answered := r.vendors.Answered(never); answered.Calls > 0 {
					t.Errorf("the upstream was asked %d times", answered.Calls)
				}
				// The model is free for all that it was.
				if got := r.call(t, caller.Call{Protocol: "messages", Model: model, MaxTokens: 900}); !got.Whole {
					t.Errorf("after the refusals: %d %s", got.Status, got.Body)
				}
			})
		})
	}
}
