package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"regexp"
)

// exchange is one line of the corpus: a request that a client once sent to a vendor, and the
// vendor's answer.
type exchange struct {
	ID          string          `json:"id"`
	Source      string          `json:"source"`
	Protocol    string          `json:"protocol"`
	Path        string          `json:"path"`
	Status      int             `json:"status"`
	Stream      bool            `json:"stream"`
	Request     json.RawMessage `json:"request"`
	Response    json.RawMessage `json:"response"`
	ResponseSSE string          `json:"response_sse"`
}

// load reads a gzipped corpus.
func load(path string) ([]exchange, error) {
	zipped, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var all []exchange
	lines := bufio.NewScanner(unzipped)
	lines.Buffer(nil, 256<<20)
	for lines.Scan() {
		var x exchange
		if err := json.Unmarshal(lines.Bytes(), &x); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, len(all)+1, err)
		}
		if x.Status == 0 {
			x.Status = 200
		}
		all = append(all, x)
	}
	return all, lines.Err()
}

var modelInPath = regexp.MustCompile(`/models/([^/:?]+):`)

// model is the model that the request names, in its path or its body.
func (x exchange) model() string {
	if m := modelInPath.FindStringSubmatch(x.Path); m != nil {
		return m[1]
	}
	var named struct{ Model string }
	_ = json.Unmarshal(x.Request, &named) // a request without a model has none
	return named.Model
}

// leftOut says why an exchange is not played; empty if it is.
func (x exchange) leftOut() string {
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
func (x exchange) target() (string, error) {
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
		return "/v1beta/models/" + x.model() + ":" + x.method() + query(recorded), nil
	}
	return "", fmt.Errorf("%s: protocol %q is unknown", x.ID, x.Protocol)
}

// method is the method of generateContent.
func (x exchange) method() string {
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
