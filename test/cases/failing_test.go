package cases_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
	"github.com/genway/genway/test/cases/probe"
)

// preambles is how many events each protocol's stream has before its first
// content; generateContent begins with it.
var preambles = map[harness.Protocol]int{harness.Chat: 1, harness.Responses: 4, harness.Messages: 3, harness.GenerateContent: 0, harness.Interactions: 2}

// hello is the beginning of a stream, up to where content would come.
func hello(p harness.Protocol) []fake.Step {
	if p == harness.GenerateContent {
		return fake.Events(answers.Chunk(`[]`, ""))
	}
	return fake.Events(answers.Text("fine").Events(p)[:preambles[p]]...)
}

// begun is the beginning of a stream, up to its first content: "fi".
func begun(p harness.Protocol) []fake.Step {
	return fake.Events(answers.Text("fine").Events(p)[:preambles[p]+1]...)
}

// unfinished is a stream without what says that the answer has ended.
func unfinished(p harness.Protocol) []fake.Step {
	events := answers.Text("fine").Events(p)
	drop := map[harness.Protocol]int{harness.Chat: 3, harness.Responses: 1, harness.Messages: 2, harness.GenerateContent: 1, harness.Interactions: 2}[p]
	return fake.Events(events[:len(events)-drop]...)
}

// sorry is how each vendor reports a failure in the middle of a stream that has
// begun.
var sorry = map[harness.Protocol]string{
	harness.Chat:            `{"error":{"message":"too many cooks","type":"server_error","param":null,"code":null}}`,
	harness.Responses:       `{"type":"error","sequence_number":5,"code":"server_error","message":"too many cooks","param":null}`,
	harness.Messages:        `{"type":"error","error":{"type":"overloaded_error","message":"too many cooks"}}`,
	harness.GenerateContent: `{"error":{"code":503,"message":"too many cooks","status":"UNAVAILABLE"}}`,
	harness.Interactions:    `{"error":{"code":"unavailable","message":"too many cooks"},"event_type":"error"}`,
}

// then is a stream of the steps, and more.
func then(steps []fake.Step, more ...fake.Step) fake.Answer {
	return fake.Stream(append(append([]fake.Step(nil), steps...), more...)...)
}

// native demands an error in full, in the protocol's own shape and by the
// protocol's own words, and returns its message.
func native(t *testing.T, p harness.Protocol, a harness.Answer, status int) string {
	t.Helper()
	if a.Status != status || a.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s: status %d, want %d; %s: %s", p, a.Status, status, a.Header.Get("Content-Type"), a.Body)
	}
	if a.Header.Get("X-Request-ID") == "" || strings.Contains(string(a.Body), "None") {
		t.Errorf("%s: no request id, or None: %v %s", p, a.Header, a.Body)
	}
	return envelope(t, p, a.JSON(), status)
}

// envelope demands the protocol's error object, and that it agrees with the
// status; 0 is any.
func envelope(t *testing.T, p harness.Protocol, v probe.Value, status int) string {
	t.Helper()
	e := v.At("error")
	message := e.At("message").Text()
	switch p {
	case harness.Messages:
		v.At("type").Is(t, `"error"`)
		if want := messagesErrors[status]; want != "" {
			e.At("type").Is(t, `"`+want+`"`)
		}
		if e.At("type").Text() == "" {
			t.Errorf("no type: %s", v.Raw)
		}
	case harness.GenerateContent:
		if want := googleErrors[status]; want != "" {
			e.At("status").Is(t, `"`+want+`"`)
		}
		if status != 0 && int(e.At("code").Int()) != status || e.At("status").Text() == "" || e.At("code").Int() < 400 {
			t.Errorf("code %s, status %s, want %d", e.At("code").Raw, e.At("status").Raw, status)
		}
	case harness.Interactions: // ErrorT of the SDK: a word
		if want := googleErrors[status]; want != "" && e.At("status").Exists() {
			e.At("status").Is(t, `"`+want+`"`)
		}
		if word := e.At("code").Text(); word == "" || word != strings.ToLower(word) || e.At("status").Exists() && word != strings.ToLower(e.At("status").Text()) {
			t.Errorf("code %s, status %s", e.At("code").Raw, e.At("status").Raw)
		}
	default:
		for _, member := range []string{"message", "type", "param", "code"} {
			if !e.At(member).Exists() {
				t.Errorf("no error.%s: %s", member, v.Raw)
			}
		}
		if want := openAIErrors[status]; want != "" {
			e.At("type").Is(t, `"`+want+`"`)
		}
	}
	if message == "" {
		t.Errorf("no message: %s", v.Raw)
	}
	return message
}

// The vendors' words, by status.
var (
	messagesErrors = map[int]string{
		400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error", 413: "request_too_large",
		429: "rate_limit_error", 500: "api_error", 502: "api_error", 529: "overloaded_error",
	}
	googleErrors = map[int]string{
		400: "INVALID_ARGUMENT", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
	}
	openAIErrors = map[int]string{400: "invalid_request_error", 401: "invalid_request_error", 404: "invalid_request_error", 413: "invalid_request_error", 500: "server_error", 502: "server_error"}
)

// failsInBand demands a stream that ends with the protocol's error event and
// nothing that looks like success (cases S4, S5), and returns the message.
func failsInBand(t *testing.T, p harness.Protocol, a harness.Answer) string {
	t.Helper()
	if a.Status != http.StatusOK {
		t.Fatalf("%s: status %d: %s", p, a.Status, a.Body)
	}
	for _, success := range []string{`"finish_reason":"`, "message_stop", `"stop_reason":"`, "response.completed", `"finishReason"`, "interaction.completed"} {
		if strings.Contains(string(a.Body), success) {
			t.Errorf("%s: looks like success: %s\n%s", p, success, a.Body)
		}
	}
	var frames []harness.Frame
	for _, f := range a.Frames() {
		if f.Comment == "" {
			frames = append(frames, f)
		}
	}
	last := frames[len(frames)-1]
	switch p {
	case harness.GenerateContent, harness.Images: // an error object, and no name
	case harness.Chat:
		if last.Data != "[DONE]" {
			t.Errorf("ends with %s", last.Data)
		}
		return envelope(t, p, frames[len(frames)-2].JSON(), 0)
	case harness.Responses:
		last.JSON().At("type").Is(t, `"`+last.Event+`"`)
		if last.JSON().At("sequence_number").Int() != int64(len(frames)-1) {
			t.Errorf("sequence_number %s of the last of %d", last.JSON().At("sequence_number").Raw, len(frames))
		}
		if last.Event == "error" {
			return last.JSON().At("message").Text()
		}
		last.JSON().At("type").Is(t, `"response.failed"`)
		failed := last.JSON().At("response")
		failed.At("status").Is(t, `"failed"`)
		failed.At("id").Is(t, string(frames[0].JSON().At("response.id").Raw))
		if failed.At("error.code").Text() == "" {
			t.Errorf("no code: %s", last.Data)
		}
		return failed.At("error.message").Text()
	case harness.Messages, harness.Interactions:
		if last.Event != "error" {
			t.Errorf("ends with %s", last.Event)
		}
	}
	return envelope(t, p, last.JSON(), 0)
}
