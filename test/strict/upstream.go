package strict

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// Received judges a request as a vendor's service receives it: the protocol, and for some the model, is in the path. Where a
// rule is broken, answer is the body of the vendor's error, whose status is 400. A request for anything but text is not judged.
func Received(place, path string, body []byte) (all []Refusal, answer []byte) {
	target := received(place, path, body)
	if all = Judge(target, body); len(all) > 0 {
		answer = failure(target.Protocol, all[0])
	}
	return all, answer
}

func received(place, path string, body []byte) Target {
	var named struct{ Model string }
	_ = json.Unmarshal(body, &named) // the judge says what is wrong with it
	t := Target{Place: place, Model: named.Model}
	path, _, _ = strings.Cut(path, "?")
	model, method, inPath := strings.Cut(path[strings.LastIndexByte(path, '/')+1:], ":")
	switch {
	case inPath && strings.HasSuffix(strings.ToLower(method), "generatecontent"):
		t.Protocol, t.Model = "generatecontent", model
	case inPath && strings.HasSuffix(method, "awPredict"):
		t.Protocol, t.Model = "messages", model
	case strings.HasSuffix(path, "/messages"):
		t.Protocol = "messages"
	case strings.HasSuffix(path, "/chat/completions"):
		t.Protocol = "chat"
	case strings.HasSuffix(path, "/interactions"):
		t.Protocol = "interactions"
	case strings.HasSuffix(path, "/responses"):
		t.Protocol = "responses"
	}
	return t
}

// failure returns the error of a protocol's vendor.
func failure(protocol string, r Refusal) []byte {
	var body any
	switch protocol {
	case "messages":
		body = map[string]any{"type": "error", "error": map[string]any{"type": "invalid_request_error", "message": r.String()}, "request_id": "req_strict"}
	case "generatecontent":
		body = map[string]any{"error": map[string]any{"code": http.StatusBadRequest, "message": r.String(), "status": "INVALID_ARGUMENT"}}
	case "interactions":
		body = map[string]any{"error": map[string]any{"code": "invalid_argument", "message": r.String()}}
	default:
		body = map[string]any{"error": map[string]any{"message": r.String(), "type": "invalid_request_error", "param": r.Member, "code": nil}}
	}
	text, err := json.Marshal(body)
	if err != nil {
		panic(fmt.Sprintf("strict: %v", err)) // it is strings and numbers
	}
	return text
}
