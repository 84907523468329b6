package programs

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/genway/genway/test/conformance/caller"
	"github.com/genway/genway/test/conformance/server"
	"github.com/genway/genway/test/conformance/vendors"
)

// way is a way into the gateway for keys of one group.
type way struct{ group, path, body string }

// ways are all that an upstream would be asked by; %s is the model.
func ways() []way {
	turn := `"messages":[{"role":"user","content":"hi"}]`
	contents := `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`
	var all []way
	for _, stream := range []string{"false", "true"} {
		all = append(all,
			way{"chat", "/v1/chat/completions", `{"model":"%s","stream":` + stream + `,` + turn + `}`},
			way{"chat", "/v1/responses", `{"model":"%s","stream":` + stream + `,"input":"hi"}`},
			way{"messages", "/v1/messages", `{"model":"%s","max_tokens":9,"stream":` + stream + `,` + turn + `}`},
		)
	}
	return append(all,
		way{"chat", "/v1/images/generations", `{"model":"%s","prompt":"a red square"}`},
		way{"messages", "/v1/messages/count_tokens", `{"model":"%s",` + turn + `}`},
		way{"generatecontent", "/v1beta/models/%s:generateContent", contents},
		way{"generatecontent", "/v1beta/models/%s:streamGenerateContent?alt=sse", contents},
		way{"generatecontent", "/v1beta/models/%s:countTokens", contents},
	)
}

// post makes a request and returns its status and answer.
func (r *rig) post(t *testing.T, w way, model, key string) (int, string) {
	t.Helper()
	path, body := w.path, w.body
	if strings.Contains(path, "%s") {
		path = fmt.Sprintf(path, model)
	} else {
		body = fmt.Sprintf(body, model)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Anthropic-Version", "2023-06-01")
	req.Header.Set(map[string]string{"chat": "Authorization", "messages": "X-Api-Key", "generatecontent": "X-Goog-Api-Key"}[w.group],
		strings.TrimPrefix(map[bool]string{true: "Bearer "}[w.group == "chat"]+key, ""))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// onePoint tries each way with keys that may not: one that has used up its requests, one
// that may not name the model, and one with which no model is named.
func onePoint(t *testing.T, on stores) {
	on.each(t, func(t *testing.T, data string) {
		r := start(t, server.Options{Data: data}, "")
		made := map[string]map[string]string{"used up": {}, "other models": {}}
		for _, group := range server.Groups() {
			for name, flags := range map[string][]string{"used up": {"--requests-per-minute", "1"}, "other models": {"--models", "others-*"}} {
				key, err := server.CreateKey(data, group, name, flags...)
				if err != nil {
					t.Fatal(err)
				}
				made[name][group] = key
			}
		}
		for i, protocol := range []string{"chat", "messages", "generatecontent", "grpc"} {
			if got := r.call(t, caller.Call{Protocol: protocol, Model: vendors.Model(vendors.Answer, "cancel-own", 1+i), Key: made["used up"][caller.Group(protocol)]}); !got.Whole {
				t.Fatalf("%s: the first request gets %d %s", protocol, got.Status, got.Body)
			}
		}
		const never = 99
		model := vendors.Model(vendors.Answer, "cancel-own", never)
		for _, w := range ways() {
			if status, body := r.post(t, w, model, made["used up"][w.group]); status != http.StatusTooManyRequests {
				t.Errorf("%s with a key that is used up: %d %s", w.path, status, body)
			}
			if status, body := r.post(t, w, model, made["other models"][w.group]); status != http.StatusNotFound && status != http.StatusForbidden {
				t.Errorf("%s for a model that the key may not name: %d %s", w.path, status, body)
			}
			if status, body := r.post(t, w, "", r.Keys[w.group]); status < 400 || status >= 500 {
				t.Errorf("%s without a model: %d %s", w.path, status, body)
			}
		}
		for _, stream := range []bool{false, true} {
			for name, says := range map[string]string{"used up": "ResourceExhausted", "other models": "NotFound"} {
				got := r.call(t, caller.Call{Protocol: "grpc", Stream: stream, Model: model, Key: made[name]["internal"]})
				if got.Status == http.StatusOK || !strings.Contains(got.Body, says) && !strings.Contains(got.Body, "PermissionDenied") {
					t.Errorf("grpc, streamed %t, with a key of %s: %s", stream, name, got.Body)
				}
			}
		}
		if answered := r.vendors.Answered(never); answered.Calls > 0 {
			t.Errorf("the upstream was asked %d times", answered.Calls)
		}
		for _, row := range r.db.Ledger(t) {
			if vendors.Number(row.Model) == never {
				t.Errorf("what was refused has a row: %+v", row)
			}
		}
	})
}
