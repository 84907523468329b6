package main

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite docs/reference/replay.md")

const intro = `# What places change

*Generated from test/replay by ` + "`go test ./test/replay -update`" + `.*

` + "`make replay`" + ` plays recorded exchanges of vendors through the gateway. Each recorded request is sent
to the gateway, and the recorded answer is returned in its upstream's place, in the place's own
framing. The request that arrives must be the recorded one, and the answer that the caller gets must
be the recorded one: the same JSON values, the same spelling of numbers, the same events. The
requests are proved as the place demands it: signatures are computed again, tokens come from an
issuer that verifies the assertion.

What a [provider](providers.md) changes is in this table. Anything else that differs fails the run. The
recordings are no part of the repository; without them the target says that it is skipped.

`

const outro = `
A change of a request is the gateway's work. A change of an answer is the place's: the fake of the
place makes it, and callers get it as it is. ` + "`anthropic_beta`" + ` is there only if the caller sends the
header.
`

// docs/reference/replay.md says what the program allows.
func TestDocs(t *testing.T) {
	file, got := filepath.Join("..", "..", "docs", "reference", "replay.md"), intro+table()+outro
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || string(want) != got {
		t.Errorf("%s is stale (-update): %v", file, err)
	}
}

func placeOf(t *testing.T, name string) place {
	t.Helper()
	at := slices.IndexFunc(places, func(p place) bool { return p.name == name })
	if at < 0 {
		t.Fatalf("no place %s", name)
	}
	return places[at]
}

// What a place changes is no loss, and anything else is one.
func TestJudge(t *testing.T) {
	const (
		asked  = `{"model":"claude-1","max_tokens":9,"stream":true,"x":1e2}`
		placed = `{"max_tokens":9,"x":1e2,"anthropic_version":"bedrock-2023-05-31","anthropic_beta":["beta-1","beta-2"]}`
		sse    = "event: a\ndata: {\"type\":\"a\",\"n\":1}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
		path   = "/model/claude-1/invoke-with-response-stream"
	)
	p := placeOf(t, "bedrock-invoke")
	x := exchange{ID: "i", Protocol: "messages", Status: 200, Stream: true, Request: json.RawMessage(asked), ResponseSSE: sse}
	told, err := p.streamed(x)
	if err != nil {
		t.Fatal(err)
	}
	good := answer{200, written(told)}
	for name, test := range map[string]struct {
		arrived call
		got     answer
		says    string
	}{
		"whole":            {call{path, []byte(placed), nil}, good, ""},
		"model stays":      {call{path, []byte(asked), nil}, good, "$.model is added"},
		"another number":   {call{path, []byte(strings.Replace(placed, "1e2", "100", 1)), nil}, good, "$.x is 100, not 1e2"},
		"another path":     {call{"/model/claude-1/invoke", []byte(placed), nil}, good, "the path is"},
		"no signature":     {call{path, []byte(placed), errors.New("not signed")}, good, "not signed"},
		"metrics lost":     {call{path, []byte(placed), nil}, answer{200, []byte(sse)}, "amazon-bedrock-invocationMetrics is lost"},
		"event lost":       {call{path, []byte(placed), nil}, answer{200, written(told[1:])}, "2 events became 1"},
		"event renamed":    {call{path, []byte(placed), nil}, answer{200, []byte(strings.Replace(string(written(told)), "event: a", "event: b", 1))}, `event "a" became "b"`},
		"answer not JSON":  {call{path, []byte(placed), nil}, answer{200, []byte(strings.Replace(string(written(told)), `"n":1`, `"n"`, 1))}, "received: "},
		"status":           {call{path, []byte(placed), nil}, answer{502, []byte("{}")}, "status 200 became 502"},
		"request not JSON": {call{path, []byte("{"), nil}, good, "received: "},
	} {
		t.Run(name, func(t *testing.T) {
			wrong := strings.Join(p.judge(x, []call{test.arrived}, test.got), "; ")
			if (test.says == "") != (wrong == "") || !strings.Contains(wrong, test.says) {
				t.Errorf("got %q", wrong)
			}
		})
	}
	for _, calls := range [][]call{nil, {{path, []byte(placed), nil}, {path, []byte(placed), nil}}} {
		if len(p.judge(x, calls, good)) == 0 {
			t.Errorf("%d calls are fine", len(calls))
		}
	}
}

// Errors of AWS have another shape; the gateway's own request_id is compared with nothing.
func TestJudgeErrors(t *testing.T) {
	p := placeOf(t, "bedrock-invoke")
	x := exchange{Protocol: "messages", Status: 404, Response: json.RawMessage(`{"type":"error","error":{"type":"not_found_error","message":"no such"},"request_id":"req_1"}`)}
	for body, fine := range map[string]bool{
		`{"type":"error","error":{"type":"not_found_error","message":"ResourceNotFoundException: no such"},"request_id":"other"}`: true,
		`{"type":"error","error":{"type":"not_found_error","message":"no such"},"request_id":"req_1"}`:                            false,
		`{"type":"error","error":{"type":"api_error","message":"ResourceNotFoundException: no such"},"request_id":"other"}`:       false,
	} {
		if wrong := p.judgeAnswer(x, answer{404, []byte(body)}); (len(wrong) == 0) != fine {
			t.Errorf("%s: %v", body, wrong)
		}
	}
}

func TestRefusal(t *testing.T) {
	for status, fine := range map[int]bool{200: false, 400: true, 404: true, 500: false, 501: true} {
		got := answer{status, []byte(`{"error":{"message":"tokens cannot be counted there"}}`)}
		if wrong := got.refusal(nil); (wrong == "") != fine {
			t.Errorf("%d: %q", status, wrong)
		}
		if got.refusal([]call{{}}) == "" {
			t.Errorf("%d: a call was made", status)
		}
	}
	if (answer{400, []byte("no JSON")}).refusal(nil) == "" {
		t.Error("a refusal without a text is fine")
	}
}
