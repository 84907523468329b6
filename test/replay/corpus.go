package main

import (
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/genway/genway/test/recorded"
)

type exchange = recorded.Exchange

// leftOut says why an exchange is not played; empty if it is.
func leftOut(x exchange) string {
	var asked struct{ Background bool }
	_ = json.Unmarshal(x.Request, &asked) // what is of another type asks for no background
	switch {
	case asked.Background:
		return "responses in the background, which the gateway refuses by name (case C1)"
	case x.ResponseSSE != "" && len(events(x.ResponseSSE)) == 0:
		return "recorded streams without any event, which no vendor has sent"
	}
	return ""
}

// target is the path and the query that a client of the gateway asks for.
func target(x exchange) (string, error) {
	switch x.Protocol {
	case "chat":
		return "/v1/chat/completions", nil
	case "responses":
		return "/v1/responses", nil
	case "messages":
		return "/v1/messages", nil
	case "count_tokens":
		return "/v1/messages/count_tokens", nil
	case "generatecontent":
		recorded, err := url.Parse(x.Path)
		if err != nil {
			return "", err
		}
		return "/v1beta/models/" + x.Model() + ":" + method(x) + query(recorded), nil
	}
	return "", fmt.Errorf("%s: protocol %q is unknown", x.ID, x.Protocol)
}

// method is the method of generateContent.
func method(x exchange) string {
	if x.Stream {
		return "streamGenerateContent"
	}
	return "generateContent"
}

// query is what of a recorded address says how the answer is framed.
func query(recorded *url.URL) string {
	if recorded.Query().Get("alt") == "sse" {
		return "?alt=sse"
	}
	return ""
}
