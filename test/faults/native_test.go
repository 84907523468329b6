package faults_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/genway/genway/test/cases/harness"
)

// fault returns the error in an event, if any.
func (b body) fault(p harness.Protocol) *nativeError {
	if p == harness.Responses {
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
// Google's status, in lower case for interactions. Events of responses have codes of their own.
var words = map[harness.Protocol]map[why]string{
	harness.Chat:            {unreachable: "service_unavailable", timeout: "timeout", cut: "bad_gateway", malformed: "bad_gateway"},
	harness.Responses:       {unreachable: "service_unavailable", timeout: "timeout", cut: "bad_gateway", malformed: "bad_gateway"},
	harness.Images:          {unreachable: "service_unavailable", timeout: "timeout", cut: "bad_gateway", malformed: "bad_gateway"},
	harness.Messages:        {unreachable: "api_error", timeout: "timeout_error", cut: "api_error", malformed: "api_error"},
	harness.GenerateContent: {unreachable: "UNAVAILABLE", timeout: "DEADLINE_EXCEEDED", cut: "UNAVAILABLE", malformed: "UNAVAILABLE"},
	harness.Interactions:    {unreachable: "unavailable", timeout: "deadline_exceeded", cut: "unavailable", malformed: "unavailable"},
}

// failure reads an error in the protocol's own shape; status 0 is that of an event.
func failure(p harness.Protocol, b body, status int) (outcome, error) {
	if b.Error == nil {
		return outcome{}, errors.New("no error member")
	}
	var got outcome
	for _, m := range messages {
		if got.why == "" && strings.Contains(b.Error.Message, m.part) {
			got.why = m.why
		}
	}
	var code string
	_ = json.Unmarshal(b.Error.Code, &code) // Google's is a number
	word := map[harness.Protocol]string{harness.Messages: b.Error.Type, harness.GenerateContent: b.Error.Status}[p]
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
	case event && p == harness.Responses:
		if code != "server_error" {
			return got, fmt.Errorf("code %q in an event of responses", code)
		}
	case word != want:
		return got, fmt.Errorf("%q where the protocol says %q", word, want)
	case p == harness.Messages && b.Type != "error":
		return got, fmt.Errorf("type %q", b.Type)
	case p == harness.GenerateContent && string(b.Error.Code) != strconv.Itoa(status):
		return got, fmt.Errorf("code %s, want %d", b.Error.Code, status)
	case (p == harness.Chat || p == harness.Images) && b.Error.Type != "server_error":
		return got, fmt.Errorf("type %q", b.Error.Type)
	}
	return got, nil
}
