//go:build captures

package captures

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/genway/genway/test/conformance/check"
	"github.com/genway/genway/test/conformance/server"
	"github.com/genway/genway/test/conformance/wire"
)

var gateway *server.Server

func TestMain(m *testing.M) { server.Main(m, &gateway) }

// TestCaptures replays every request below the folder GENWAY_CAPTURES. Where a server
// answered with success then, the answer now is one of the request's protocol and
// form; where it answered with a failure, it is the protocol's error with that
// status.
func TestCaptures(t *testing.T) {
	t.Parallel()
	folder := os.Getenv("GENWAY_CAPTURES")
	if folder == "" {
		t.Fatal("GENWAY_CAPTURES names no folder")
	}
	captures, err := load(folder)
	if err != nil {
		t.Fatal(err)
	}
	if len(captures) == 0 {
		t.Fatalf("no captures below %s", folder)
	}
	for _, c := range captures {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := replay(t, c)
			switch status := c.expected(); {
			case status >= http.StatusBadRequest:
				check.Equal(t, "status", a.status, status)
				failed(t, c, a)
			case a.status != status:
				t.Errorf("status is %d, not %d: %s", a.status, status, wire.Clip(a.raw))
			case c.Method == http.MethodHead:
				check.Equal(t, "body", a.raw, "")
			case c.streams():
				streamed(t, c, a)
			default:
				whole(t, c, a)
			}
		})
	}
}

// expected is the status that a capture's answer has now. The server of then knew
// keys of other groups as little as wrong ones; a gateway says that they are of
// another group.
func (c capture) expected() int {
	if c.foreign() {
		return http.StatusForbidden
	}
	return c.Response.Status
}

type answer struct {
	status int
	kind   string
	raw    string
	header http.Header
}

func replay(t *testing.T, c capture) answer {
	t.Helper()
	body, err := c.body()
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), c.Method, gateway.URL()+c.target(gateway.Keys), bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range c.Headers {
		switch strings.ToLower(h[0]) {
		case "host", "content-length", "accept-encoding": // the transport's own
		case "connection":
			if !strings.EqualFold(h[1], "keep-alive") {
				req.Header.Add(h[0], h[1])
			}
		default:
			req.Header.Add(h[0], keyed(h[1], gateway.Keys))
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	return answer{status: resp.StatusCode, kind: kind, raw: string(raw), header: resp.Header}
}

// document is a JSON answer.
func document(t *testing.T, a answer) any {
	t.Helper()
	check.Equal(t, "content type", a.kind, "application/json")
	doc, err := wire.Decode(a.raw)
	if err != nil {
		t.Fatalf("%v: %s", err, wire.Clip(a.raw))
	}
	return doc
}

func satisfies(t *testing.T, doc any, raw, table string) {
	t.Helper()
	for _, fault := range wire.Faults(doc, table) {
		t.Errorf("%s: %s", fault, wire.Clip(raw))
	}
}

// failed demands the protocol's error.
func failed(t *testing.T, c capture, a answer) {
	t.Helper()
	tables := map[string]string{
		"messages": `
			type           string  error
			error.type     string
			error.message  string
			request_id     string`,
		"generatecontent": `
			error.code     integer
			error.message  string
			error.status   string`,
	}
	table, ok := tables[c.protocol()]
	if !ok {
		table = `
			error.message  string
			error.type     string
			error.param    string|null
			error.code     string|null`
	}
	satisfies(t, document(t, a), a.raw, table)
	check.Truef(t, a.header.Get("X-Request-ID") != "" && a.header.Get("Request-Id") != "", "no request id")
}

// whole demands an answer that is no stream.
func whole(t *testing.T, c capture, a answer) {
	t.Helper()
	table, ok := map[string]string{
		"chat/models":            "object string list\n data array",
		"chat/model":             "object string model\n id string sandbox-text",
		"messages/models":        "data array\n has_more boolean",
		"messages/model":         "type string model\n id string sandbox-text",
		"generatecontent/models": "models array",
		"generatecontent/count":  "totalTokens integer",
		"messages/count":         "input_tokens integer",
		"chat": `
			id                          string
			object                      string   chat.completion
			created                     integer
			choices[0].index            integer  0
			choices[0].finish_reason    string
			choices[0].message.role     string   assistant
			choices[0].message.content  string|null
			usage.total_tokens          integer`,
		"responses": `
			id                          string
			object                      string   response
			created_at                  integer
			status                      string
			output[0].type              string
			output[0].id                string
			usage.total_tokens          integer`,
		"images": `
			created                     integer
			data[0].b64_json            string
			size                        string
			usage.total_tokens          integer`,
		"messages": `
			id                          string
			type                        string   message
			role                        string   assistant
			content[0].type             string
			stop_reason                 string
			usage.input_tokens          integer
			usage.output_tokens         integer`,
		"generatecontent": `
			candidates[0].content.role         string  model
			candidates[0].content.parts        array
			candidates[0].finishReason         string
			usageMetadata.totalTokenCount      integer
			responseId                         string`,
	}[c.operation()]
	if !ok {
		t.Fatalf("%s %s is no operation this test knows", c.Method, c.Path)
	}
	satisfies(t, document(t, a), a.raw, table)
}

// operation names what a capture asks for: a protocol, or one's listing or counting.
func (c capture) operation() string {
	switch {
	case strings.HasSuffix(c.Path, "/models"):
		return c.protocol() + "/models"
	case strings.HasSuffix(c.Path, ":countTokens"), strings.HasSuffix(c.Path, "/count_tokens"):
		return c.protocol() + "/count"
	case strings.Contains(c.Path, "/models/") && c.Method == http.MethodGet:
		return c.protocol() + "/model"
	default:
		return c.protocol()
	}
}
