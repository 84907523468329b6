package strict

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Upstream is a vendor's service that judges: it answers a body that breaks a rule with 400, in the vendor's own shape, and
// leaves all others to Next. Requests for anything but text are Next's.
type Upstream struct {
	// Place is Target.Place.
	Place string
	// Next answers what is accepted.
	Next http.Handler
	// Refused is told what is refused, if it is not nil.
	Refused func(t Target, body []byte, all []Refusal)
}

func (u *Upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the gateway broke off
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	target := u.target(r.URL.Path, body)
	all := Judge(target, body)
	if len(all) == 0 {
		u.Next.ServeHTTP(w, r)
		return
	}
	if u.Refused != nil {
		u.Refused(target, body, all)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write(failure(target.Protocol, all[0]))
}

// target returns what a request is sent to. One for anything but text has no protocol, and so no rules.
func (u *Upstream) target(path string, body []byte) Target {
	var named struct{ Model string }
	_ = json.Unmarshal(body, &named) // the judge says what is wrong with it
	t := Target{Place: u.Place, Model: named.Model}
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
	case strings.HasSuffix(path, "/responses"):
		t.Protocol = "responses"
	}
	return t
}

// failure returns the error of a protocol's vendor.
func failure(protocol string, r Refusal) []byte {
	message := fmt.Sprintf("%s: %s", r.Member, r.Rule)
	var body any
	switch protocol {
	case "messages":
		body = map[string]any{"type": "error", "error": map[string]any{"type": "invalid_request_error", "message": message}, "request_id": "req_strict"}
	case "generatecontent":
		body = map[string]any{"error": map[string]any{"code": http.StatusBadRequest, "message": message, "status": "INVALID_ARGUMENT"}}
	default:
		body = map[string]any{"error": map[string]any{"message": message, "type": "invalid_request_error", "param": r.Member, "code": nil}}
	}
	text, _ := json.Marshal(body) // it is strings and numbers
	return text
}
