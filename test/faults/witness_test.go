package faults_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/genway/genway/test/cases/harness"
)

// body is all that the protocols say in bodies and events, as far as it is looked
// at.
type body struct {
	Type    string
	Object  string
	Error   *nativeError
	Choices []struct {
		Delta, Message struct{ Content string }
		FinishReason   string `json:"finish_reason"`
	}
	Delta      json.RawMessage
	Content    []struct{ Text string }
	StopReason string `json:"stop_reason"`
	Response   *struct {
		Status string
		Error  *nativeError
	}
	Output      []struct{ Content []struct{ Text string } }
	Steps       []struct{ Content []struct{ Text string } }
	EventType   string `json:"event_type"`
	Interaction struct{ Status string }
	Status      string
	Candidates  []struct {
		Content      struct{ Parts []struct{ Text string } }
		FinishReason string
	}
	Data []struct {
		B64 string `json:"b64_json"`
	}
}

// nativeError is an error of some protocol.
type nativeError struct {
	Message, Type, Status string
	Code                  json.RawMessage
}

func parse(data string) (b body) {
	_ = json.Unmarshal([]byte(data), &b) // [DONE] is no JSON; what is missing shows
	return b
}

// judge reads an answer as its caller would, and says what it amounts to. Whatever
// is neither a whole answer nor a failure in the protocol's own shape is an error. Over
// says that the caller may have got the reason of the end, before a failure.
func judge(p harness.Protocol, streamed, over bool, resp *http.Response) (outcome, error) {
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
func judgeBody(p harness.Protocol, raw string) (outcome, error) {
	b := parse(raw)
	text, ended := "", ""
	switch {
	case p == harness.Chat && len(b.Choices) == 1:
		text, ended = b.Choices[0].Message.Content, b.Choices[0].FinishReason
	case p == harness.Responses && len(b.Output) == 1 && len(b.Output[0].Content) == 1:
		text, ended = b.Output[0].Content[0].Text, b.Status
	case p == harness.Interactions && len(b.Steps) == 1 && len(b.Steps[0].Content) == 1:
		text, ended = b.Steps[0].Content[0].Text, b.Status
	case p == harness.Messages && len(b.Content) == 1:
		text, ended = b.Content[0].Text, b.StopReason
	case p == harness.GenerateContent && len(b.Candidates) == 1 && len(b.Candidates[0].Content.Parts) == 1:
		text, ended = b.Candidates[0].Content.Parts[0].Text, b.Candidates[0].FinishReason
	case p == harness.Images && len(b.Data) == 1 && b.Data[0].B64 == picture:
		text, ended = answerText, "drawn"
	}
	if !json.Valid([]byte(raw)) || text != answerText || ended == "" {
		return outcome{}, fmt.Errorf("a 200 that is no whole answer (text %q, ended %q)", text, ended)
	}
	return outcome{complete: true}, nil
}

// judgeStream demands a stream that either is whole and ends by the protocol's
// terminator, or ends with an error and nowhere looks whole.
func judgeStream(p harness.Protocol, over bool, raw string) (outcome, error) {
	if !strings.HasSuffix(raw, "\n\n") {
		return outcome{}, errors.New("the last event is cut")
	}
	var events []body
	var text strings.Builder
	ended, last := "", ""
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
		text.WriteString(piece)
		if end != "" {
			ended = end
		}
	}
	if len(events) == 0 {
		return outcome{}, errors.New("a stream of nothing")
	}
	final := events[len(events)-1]
	if p == harness.Chat && last != "[DONE]" {
		return outcome{}, errors.New("no [DONE]")
	}
	if fault := final.fault(p); fault != nil {
		got, err := failure(p, body{Type: final.Type, Error: fault}, 0)
		if err == nil && (ended != "" && !over || !strings.HasPrefix(answerText, text.String())) {
			err = fmt.Errorf("failed, and looks like success (ended %q, text %q)", ended, text.String())
		}
		got.inBand = true
		return got, err
	}
	whole := map[harness.Protocol]bool{
		harness.Chat: ended != "", harness.Responses: final.Type == "response.completed",
		harness.Messages: final.Type == "message_stop" && ended != "", harness.GenerateContent: ended != "",
		harness.Interactions: ended != "" && last == "[DONE]",
	}[p]
	for _, e := range events {
		whole = whole && e.fault(p) == nil
	}
	if !whole || text.String() != answerText {
		return outcome{}, fmt.Errorf("a stream that is neither whole nor failed (text %q, ended %q)", text.String(), ended)
	}
	return outcome{complete: true}, nil
}

// says returns the text of an event, which has at most one piece here, and what it says of the answer's end.
func (b body) says(p harness.Protocol) (text, ended string) {
	switch p {
	case harness.Chat:
		for _, c := range b.Choices {
			text, ended = c.Delta.Content, c.FinishReason
		}
	case harness.Responses:
		if b.Type == "response.output_text.delta" {
			_ = json.Unmarshal(b.Delta, &text) // a missing text shows
		}
		if b.Type == "response.completed" || b.Type == "response.incomplete" {
			ended = b.Type
		}
	case harness.Messages:
		var delta struct {
			Text       string
			StopReason string `json:"stop_reason"`
		}
		_ = json.Unmarshal(b.Delta, &delta) // likewise
		text, ended = delta.Text, delta.StopReason
		if b.Type == "message_stop" {
			ended = b.Type
		}
	case harness.Interactions:
		var delta struct{ Text string }
		_ = json.Unmarshal(b.Delta, &delta) // likewise
		if text = delta.Text; b.EventType == "interaction.completed" {
			ended = b.Interaction.Status
		}
	default:
		for _, c := range b.Candidates {
			for _, part := range c.Content.Parts {
				text = part.Text
			}
			ended = c.FinishReason
		}
	}
	return text, ended
}
