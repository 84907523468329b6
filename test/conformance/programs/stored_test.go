package programs

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/test/conformance/fleet"
	"github.com/genway/genway/test/conformance/server"
	"github.com/genway/genway/test/conformance/vendors"
)

// storedResponses has two cores that share a store, each behind an edge of its own.
func storedResponses(t *testing.T, s stores) {
	s.each(t, func(t *testing.T, data string) {
		f := fleet.New(t, data)
		first := f.Start(server.Address())
		f.Start(server.Address())
		made, other := f.Edge(first.Address), f.Edge(f.Cores[1].Address)
		key := f.Keys["chat"]
		call := func(e *fleet.Edge, key, method, path, body string) (int, string) {
			t.Helper()
			req, err := http.NewRequestWithContext(t.Context(), method, e.URL+"/v1/responses"+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+key)
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			answer, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			return resp.StatusCode, string(answer)
		}
		create := func(e *fleet.Edge, more string) (id, body string) {
			t.Helper()
			status, body := call(e, key, http.MethodPost, "", `{"model":"`+vendors.Model(vendors.Answer, "cancel-chat", 1)+`","input":"the question"`+more+`}`)
			var response struct {
				ID    string `json:"id"`
				Store bool   `json:"store"`
			}
			if err := json.Unmarshal([]byte(body), &response); err != nil || status != http.StatusOK || !response.Store {
				t.Fatalf("%d %s", status, body)
			}
			return response.ID, body
		}
		// Rows are written within moments of the answer.
		fetched := func(e *fleet.Edge, key, id, body string) {
			t.Helper()
			var last string
			fleet.Within(t, fleet.WaitLimit, "the response is not found", func() bool {
				var status int
				status, last = call(e, key, http.MethodGet, "/"+id, "")
				return status == http.StatusOK
			})
			if last != body {
				t.Errorf("created\n%s\nfetched\n%s", body, last)
			}
		}
		id, body := create(made, "")
		fetched(other, key, id, body)
		if status, list := call(other, key, http.MethodGet, "/"+id+"/input_items", ""); status != http.StatusOK || !strings.Contains(list, "the question") {
			t.Errorf("%d %s", status, list)
		}
		next, nextBody := create(other, `,"previous_response_id":"`+id+`"`)
		fetched(made, key, next, nextBody)

		stranger, err := server.Output("genway", slices.Concat([]string{"keys", "create", "--group", "chat", "--name", "stranger"}, server.At(data))...)
		if err != nil {
			t.Fatal(err)
		}
		stranger = strings.TrimSpace(stranger)
		fleet.Within(t, fleet.WaitLimit, "the new key is not known", func() bool {
			status, _ := call(other, stranger, http.MethodGet, "/resp_unknown", "")
			return status == http.StatusNotFound
		})
		for _, method := range []string{http.MethodGet, http.MethodDelete} {
			if status, answer := call(other, stranger, method, "/"+id, ""); status != http.StatusNotFound || strings.Contains(answer, "question") {
				t.Errorf("%s by another key: %d %s", method, status, answer)
			}
		}
		rotated, err := server.Output("genway", slices.Concat([]string{"keys", "rotate", "fleet-chat"}, server.At(data))...)
		if err != nil {
			t.Fatal(err)
		}
		rotated = strings.TrimSpace(rotated)
		fleet.Within(t, fleet.WaitLimit, "the rotated key is not known", func() bool {
			status, _ := call(other, rotated, http.MethodGet, "/resp_unknown", "")
			return status == http.StatusNotFound
		})
		fetched(other, rotated, id, body)

		late, lateBody := create(made, "")
		first.Kill()
		// The journal of the core that was killed has the rest of its rows.
		f.Start(server.Address())
		fetched(other, key, late, lateBody)
		if status, answer := call(other, key, http.MethodDelete, "/"+late, ""); status != http.StatusOK {
			t.Errorf("%d %s", status, answer)
		}
		back := f.Edge(f.Cores[2].Address)
		if status, answer := call(back, key, http.MethodGet, "/"+late, ""); status != http.StatusNotFound {
			t.Errorf("%d %s", status, answer)
		}
		fetched(back, key, next, nextBody)
	})
}
