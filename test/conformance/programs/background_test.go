package programs

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/genway/genway/test/conformance/fleet"
	"github.com/genway/genway/test/conformance/rows"
	"github.com/genway/genway/test/conformance/server"
	"github.com/genway/genway/test/conformance/vendors"
)

// backgroundResponses has responses in the background at cores that share a store, of which one is killed.
func backgroundResponses(t *testing.T, s stores) {
	s.each(t, func(t *testing.T, data string) {
		f := fleet.New(t, data)
		first := f.Start(server.Address())
		second := f.Start(server.Address())
		made, other := f.Edge(first.Address), f.Edge(second.Address)
		type response struct {
			ID, Status string
			Error      struct{ Code, Message string }
		}
		call := func(e *fleet.Edge, method, path, body string) (got response) {
			t.Helper()
			req, err := http.NewRequestWithContext(t.Context(), method, e.URL+"/v1/responses"+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+f.Keys["chat"])
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			answer, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Fatalf("%d %s %v", resp.StatusCode, answer, err)
			}
			if err := json.Unmarshal(answer, &got); err != nil {
				t.Fatal(err)
			}
			return got
		}
		create := func(e *fleet.Edge, n int) string {
			t.Helper()
			got := call(e, http.MethodPost, "", `{"model":"`+vendors.Model(vendors.Hold, "cancel-chat", n)+`","input":"the question","background":true}`)
			if got.Status != "queued" {
				t.Fatalf("%+v", got)
			}
			fleet.Within(t, fleet.WaitLimit, "the vendor is not asked", func() bool { return f.Vendors.Answered(n).Calls == 1 })
			return got.ID
		}
		is := func(e *fleet.Edge, id, status string) (got response) {
			t.Helper()
			fleet.Within(t, fleet.WaitLimit, "the response is not "+status, func() bool {
				got = call(e, http.MethodGet, "/"+id, "")
				return got.Status == status
			})
			return got
		}
		complete, cancelled, killed := create(made, 1), create(made, 2), create(made, 3)
		if got := call(other, http.MethodPost, "/"+cancelled+"/cancel", ""); got.Status != "cancelled" {
			t.Errorf("%+v", got)
		}
		db := rows.Open(t, data)
		outcome := func(n int, outcome string) {
			t.Helper()
			fleet.Within(t, fleet.WaitLimit, "the request is not "+outcome, func() bool {
				var of []rows.Row
				for _, row := range db.Ledger(t) {
					if vendors.Number(row.Model) == n {
						of = append(of, row)
					}
				}
				return len(of) == 1 && of[0].Outcome == outcome
			})
		}
		outcome(2, "cancelled")
		f.Vendors.Release()
		is(other, complete, "completed")
		outcome(1, "ok")
		is(other, killed, "completed")
		killed = create(made, 4)
		streamed := func(e *fleet.Edge, method, path, body string) *bufio.Scanner {
			t.Helper()
			req, err := http.NewRequestWithContext(t.Context(), method, e.URL+"/v1/responses"+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+f.Keys["chat"])
			resp, err := http.DefaultClient.Do(req)
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Fatalf("%v %v", resp, err)
			}
			t.Cleanup(func() { _ = resp.Body.Close() })
			return bufio.NewScanner(resp.Body)
		}
		// next is the next event's name and data; empty at the end.
		next := func(s *bufio.Scanner) (event, data string) {
			for s.Scan() {
				if name, ok := strings.CutPrefix(s.Text(), "event: "); ok {
					event = name
				}
				if text, ok := strings.CutPrefix(s.Text(), "data: "); ok {
					return event, text
				}
			}
			return "", ""
		}
		live := streamed(made, http.MethodPost, "", `{"model":"`+vendors.Model(vendors.Hold, "cancel-chat", 5)+`","input":"the question","background":true,"stream":true}`)
		var began struct{ Response response }
		if event, data := next(live); event != "response.created" || json.Unmarshal([]byte(data), &began) != nil {
			t.Fatalf("%s %s", event, data)
		}
		follower := streamed(other, http.MethodGet, "/"+began.Response.ID+"?stream=true", "")
		if event, data := next(follower); event != "response.created" {
			t.Errorf("%s %s", event, data)
		}
		fleet.Within(t, fleet.WaitLimit, "the vendor is not asked", func() bool { return f.Vendors.Answered(5).Calls == 1 })
		first.Kill()
		for name, s := range map[string]*bufio.Scanner{"the caller": live, "a follower": follower} {
			last := ""
			for event, _ := next(s); event != ""; event, _ = next(s) {
				last = event
			}
			if last != "response.failed" {
				t.Errorf("the stream of %s ends with %q", name, last)
			}
		}
		again := streamed(other, http.MethodGet, "/"+began.Response.ID+"?stream=true&starting_after=9", "")
		if event, data := next(again); event != "response.failed" || !strings.Contains(data, `"sequence_number":10,`) {
			t.Errorf("%s %s", event, data)
		}
		if got := is(other, killed, "failed"); got.Error.Code != "server_error" || !strings.Contains(got.Error.Message, "has ended") {
			t.Errorf("%+v", got)
		}
		outcome(4, "interrupted")
		is(other, cancelled, "cancelled")
		is(other, complete, "completed")
	})
}
