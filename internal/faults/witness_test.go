package faults_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/genway/genway/internal/cases/gate"
)

// body is all that the protocols say in bodies and events, as far as it is looked
// at.
type body struct {
	Type    string
	Object  string
	Error   *told
	Choices []struct {
		Delta, Message struct{ Content string }
		FinishReason   string `json:"finish_reason"`
	}
	Delta      json.RawMessage
	Content    []struct{ Text string }
	StopReason string `json:"stop_reason"`
	Response   *struct {
		Status string
		Error  *told
	}
	Output     []struct{ Content []struct{ Text string } }
	Status     string
	Candidates []struct {
		Content      struct{ Parts []struct{ Text string } }
		FinishReason string
	}
	Data []struct {
		B64 string `json:"b64_json"`
	}
}

// told is an error in the words of some protocol.
type told struct {
	Message, Type, Status string
	Code                  json.RawMessage
}

func parse(data string) (b body) {
	_ = json.Unmarshal([]byte(data), &b) // [DONE] is no JSON; what is missing shows
	return b
}

// judge reads an answer as its caller would, and says what it amounts to. Whatever
// is neither a whole answer nor a failure in the protocol's own shape is an error. Over
// says that the caller may have heard why the answer ended, ahead of a failure.
func judge(p gate.Protocol, streamed, over bool, resp *http.Response) (outcome, error) {
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return outcome{}, fmt.Errorf("the answer is cut: %w: %s", err, raw)
	}
	var got outcome
	mime := resp.Header.Get("Content-Type")
	switch {
	case resp.StatusCode != http.StatusOK:
		if mime != "application/json" || !json.Valid(raw) {
			return got, fmt.Errorf("status %d of %s: %s", resp.StatusCode, mime, raw)
		}
		got, err = failure(p, parse(string(raw)), resp.StatusCode)
	case streamed && strings.HasPrefix(mime, "text/event-stream"):
		got, err = judgeStream(p, over, string(raw))
	case !streamed && mime == "application/json":
		got, err = judgeBody(p, string(raw))
	default:
		err = fmt.Errorf("a 200 of %s", mime)
	}
	if err != nil {
		err = fmt.Errorf("%w: %s", err, raw)
	}
	return got, err
}

// judgeBody demands a whole answer.
func judgeBody(p gate.Protocol, raw string) (outcome, error) {
	b := parse(raw)
	text, ended := "", ""
	switch {
	case p == gate.Chat && len(b.Choices) == 1:
		text, ended = b.Choices[0].Message.Content, b.Choices[0].FinishReason
	case p == gate.Responses && len(b.Output) == 1 && len(b.Output[0].Content) == 1:
		text, ended = b.Output[0].Content[0].Text, b.Status
	case p == gate.Messages && len(b.Content) == 1:
		text, ended = b.Content[0].Text, b.StopReason
	case p == gate.GenerateContent && len(b.Candidates) == 1 && len(b.Candidates[0].Content.Parts) == 1:
		text, ended = b.Candidates[0].Content.Parts[0].Text, b.Candidates[0].FinishReason
	case p == gate.Images && len(b.Data) == 1 && b.Data[0].B64 == picture:
		text, ended = said, "drawn"
	}
	if !json.Valid([]byte(raw)) || text != said || ended == "" {
		return outcome{}, fmt.Errorf("a 200 that is no whole answer (text %q, ended %q)", text, ended)
	}
	return outcome{complete: true}, nil
}

// judgeStream demands a stream that either is whole and ends by the protocol's
// terminator, or ends with an error and nowhere looks whole.
func judgeStream(p gate.Protocol, over bool, raw string) (outcome, error) {
	if !strings.HasSuffix(raw, "\n\n") {
		return outcome{}, fmt.Errorf("the last event is cut")
	}
	var events []body
	text, ended, last := "", "", ""
	for block := range strings.SplitSeq(raw, "\n\n") {
		_, data, found := strings.Cut("\n"+block, "\ndata: ")
		if !found {
			continue // a heartbeat
		}
		last = data
		if data == "[DONE]" {
			continue
		}
		b := parse(data)
		if !json.Valid([]byte(data)) {
			return outcome{}, fmt.Errorf("an event that is not JSON: %s", data)
		}
		events = append(events, b)
		piece, end := b.says(p)
		text += piece
		if end != "" {
			ended = end
		}
	}
	if len(events) == 0 {
		return outcome{}, fmt.Errorf("a stream of nothing")
	}
	final := events[len(events)-1]
	if p == gate.Chat && last != "[DONE]" {
		return outcome{}, fmt.Errorf("no [DONE]")
	}
	if fault := final.fault(p); fault != nil {
		got, err := failure(p, body{Type: final.Type, Error: fault}, 0)
		if err == nil && (ended != "" && !over || !strings.HasPrefix(said, text)) {
			err = fmt.Errorf("failed, and looks like success (ended %q, text %q)", ended, text)
		}
		got.inBand = true
		return got, err
	}
	whole := map[gate.Protocol]bool{
		gate.Chat: ended != "", gate.Responses: final.Type == "response.completed",
		gate.Messages: final.Type == "message_stop" && ended != "", gate.GenerateContent: ended != "",
	}[p]
	for _, e := range events {
		whole = whole && e.fault(p) == nil
	}
	if !whole || text != said {
		return outcome{}, fmt.Errorf("a stream that is neither whole nor failed (text %q, ended %q)", text, ended)
	}
	return outcome{complete: true}, nil
}

// says gives the text of an event, and what it says of the answer's end.
func (b body) says(p gate.Protocol) (text, ended string) {
	switch p {
	case gate.Chat:
		for _, c := range b.Choices {
			text, ended = text+c.Delta.Content, ended+c.FinishReason
		}
	case gate.Responses:
		if b.Type == "response.output_text.delta" {
			_ = json.Unmarshal(b.Delta, &text) // a missing text shows
		}
		if b.Type == "response.completed" || b.Type == "response.incomplete" {
			ended = b.Type
		}
	case gate.Messages:
		var delta struct {
			Text       string
			StopReason string `json:"stop_reason"`
		}
		_ = json.Unmarshal(b.Delta, &delta) // likewise
		text, ended = delta.Text, delta.StopReason
		if b.Type == "message_stop" {
			ended = b.Type
		}
	default:
		for _, c := range b.Candidates {
			for _, part := range c.Content.Parts {
				text += part.Text
			}
			ended += c.FinishReason
		}
	}
	return text, ended
}

// fault gives the error that an event tells of, if any.
func (b body) fault(p gate.Protocol) *told {
	if p == gate.Responses {
		if b.Type == "response.failed" && b.Response != nil && b.Response.Status == "failed" {
			return b.Response.Error
		}
		return nil
	}
	return b.Error
}

// messages are the texts of failures; each belongs to one reason.
var messages = []struct {
	part string
	why  why
}{
	{"could not be reached", unreachable},
	{"did not answer in time", timeout},
	{"cut off before its end", cut},
	{"stream ended", cut},
	{"could not be read", malformed},
	{"has no ", malformed},
}

// words are each protocol's own for a failure: OpenAI's code, Anthropic's type,
// Google's status. Events of responses have codes of their own.
var words = map[gate.Protocol]map[why]string{
	gate.Chat:            {unreachable: "service_unavailable", timeout: "timeout", cut: "bad_gateway", malformed: "bad_gateway"},
	gate.Responses:       {unreachable: "service_unavailable", timeout: "timeout", cut: "bad_gateway", malformed: "bad_gateway"},
	gate.Images:          {unreachable: "service_unavailable", timeout: "timeout", cut: "bad_gateway", malformed: "bad_gateway"},
	gate.Messages:        {unreachable: "api_error", timeout: "timeout_error", cut: "api_error", malformed: "api_error"},
	gate.GenerateContent: {unreachable: "UNAVAILABLE", timeout: "DEADLINE_EXCEEDED", cut: "UNAVAILABLE", malformed: "UNAVAILABLE"},
}

// failure reads an error in the protocol's own shape; status 0 is that of an event.
func failure(p gate.Protocol, b body, status int) (outcome, error) {
	if b.Error == nil {
		return outcome{}, fmt.Errorf("no error member")
	}
	var got outcome
	for _, m := range messages {
		if got.why == "" && strings.Contains(b.Error.Message, m.part) {
			got.why = m.why
		}
	}
	var code string
	_ = json.Unmarshal(b.Error.Code, &code) // Google's is a number
	word := map[gate.Protocol]string{gate.Messages: b.Error.Type, gate.GenerateContent: b.Error.Status}[p]
	if word == "" {
		word = code
	}
	event := status == 0
	if event {
		status = statuses[got.why]
	}
	switch want := words[p][got.why]; {
	case got.why == "" || status != statuses[got.why]:
		return got, fmt.Errorf("status %d, message %q", status, b.Error.Message)
	case event && p == gate.Responses:
		if code != "server_error" {
			return got, fmt.Errorf("code %q in an event of responses", code)
		}
	case word != want:
		return got, fmt.Errorf("%q where the protocol says %q", word, want)
	case p == gate.Messages && b.Type != "error":
		return got, fmt.Errorf("type %q", b.Type)
	case p == gate.GenerateContent && string(b.Error.Code) != fmt.Sprint(status):
		return got, fmt.Errorf("code %s, want %d", b.Error.Code, status)
	case (p == gate.Chat || p == gate.Images) && b.Error.Type != "server_error":
		return got, fmt.Errorf("type %q", b.Error.Type)
	}
	return got, nil
}
