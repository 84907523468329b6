package gateway_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// The forms of errors: of messages, of generateContent, and of the protocols of OpenAI.
const (
	ofMessages        = `{"type":"error","error":{"type":"invalid_request_error"`
	ofGenerateContent = `"status":"INVALID_ARGUMENT"`
	ofChat            = `{"error":{"message":`
)

// refusals are requests that net/http itself refuses, ahead of any handler.
var refusals = map[string]struct {
	sent   string
	status int
	form   string
	reason string
}{
	"no Host":                  {"POST /v1/messages HTTP/1.1\r\nx: a\r\n\r\n", 400, ofMessages, "MALFORMED_REQUEST"},
	"no Host, chat":            {"POST /v1/chat/completions?a=b HTTP/1.1\r\n\r\n", 400, ofChat, "MALFORMED_REQUEST"},
	"no Host, generateContent": {"POST /v1beta/models/m:generateContent HTTP/1.1\r\n\r\n", 400, ofGenerateContent, "MALFORMED_REQUEST"},
	"no Host, unknown path":    {"GET /nowhere HTTP/1.1\r\n\r\n", 400, ofChat, "MALFORMED_REQUEST"},
	"no Host, below a path":    {"GET /v1beta/nowhere HTTP/1.1\r\n\r\n", 400, ofGenerateContent, "MALFORMED_REQUEST"},
	"two Hosts":                {"POST /v1/messages HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, ofMessages, "MALFORMED_REQUEST"},
	"bad Host":                 {"POST /v1/messages HTTP/1.1\r\nHost: a b\r\n\r\n", 400, ofMessages, "MALFORMED_REQUEST"},
	"bad name":                 {"POST /v1/messages HTTP/1.1\r\nHost: a\r\nX Y: a\r\n\r\n", 400, ofMessages, "MALFORMED_REQUEST"},
	"empty name":               {"POST /v1/messages HTTP/1.1\r\nHost: a\r\n: a\r\n\r\n", 400, ofMessages, "MALFORMED_REQUEST"},
	"no colon":                 {"POST /v1/messages HTTP/1.1\r\nHost: a\r\nXY\r\n\r\n", 400, ofMessages, "MALFORMED_REQUEST"},
	"NUL in a value":           {"POST /v1/messages HTTP/1.1\r\nHost: a\r\nX: a\x00b\r\n\r\n", 400, ofMessages, "MALFORMED_REQUEST"},
	"bad escape":               {"POST /v1/messages%zz HTTP/1.1\r\nHost: a\r\n\r\n", 400, ofChat, "MALFORMED_REQUEST"},
	"bad query":                {"POST /v1/messages?\x01 HTTP/1.1\r\nHost: a\r\n\r\n", 400, ofMessages, "MALFORMED_REQUEST"},
	"absolute form":            {"POST http://a/v1/messages HTTP/1.1\r\n\r\n", 400, ofMessages, "MALFORMED_REQUEST"},
	"bad method":               {"P@ST /v1/messages HTTP/1.1\r\nHost: a\r\n\r\n", 400, ofMessages, "MALFORMED_REQUEST"},
	"no method":                {" /v1/messages HTTP/1.1\r\nHost: a\r\n\r\n", 400, ofMessages, "MALFORMED_REQUEST"},
	"no target":                {"POST HTTP/1.1\r\nHost: a\r\n\r\n", 400, ofChat, "MALFORMED_REQUEST"},
	"no version":               {"POST /v1/messages\r\nHost: a\r\n\r\n", 400, ofMessages, "MALFORMED_REQUEST"},
	"bad version":              {"POST /v1/messages HTTP/one\r\nHost: a\r\n\r\n", 400, ofMessages, "MALFORMED_REQUEST"},
	"empty line":               {"\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400, ofChat, "MALFORMED_REQUEST"},
	"garbage":                  {"\x00\xff\x16\x03\r\n\r\n", 400, ofChat, "MALFORMED_REQUEST"},
	"path of no UTF-8":         {"POST /v1/\xff HTTP/1.1\r\n\r\n", 400, ofChat, "MALFORMED_REQUEST"},
	"HTTP/1.2 without Host":    {"POST /v1/messages HTTP/1.2\r\n\r\n", 400, ofMessages, "MALFORMED_REQUEST"},
	"HTTP/2.0":                 {"POST /v1/messages HTTP/2.0\r\nHost: a\r\n\r\n", 505, ofMessages, "HTTP_VERSION_NOT_SUPPORTED"},
	"HTTP/3.0":                 {"GET /v1beta/models/m HTTP/3.0\r\nHost: a\r\n\r\n", 505, ofGenerateContent, "HTTP_VERSION_NOT_SUPPORTED"},
	"HTTP/0.9":                 {"GET / HTTP/0.9\r\nHost: a\r\n\r\n", 505, ofChat, "HTTP_VERSION_NOT_SUPPORTED"},
	"long value":               {"POST /v1/messages HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("a", 80<<10) + "\r\n\r\n", 431, ofMessages, "HEADERS_TOO_LARGE"},
	"many fields":              {"POST /v1/messages HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("X: a\r\n", 16<<10) + "\r\n", 431, ofMessages, "HEADERS_TOO_LARGE"},
	"long target":              {"POST /v1/messages?" + strings.Repeat("a", 80<<10) + " HTTP/1.1\r\nHost: a\r\n\r\n", 431, ofMessages, "HEADERS_TOO_LARGE"},
	"long method":              {strings.Repeat("A", 80<<10) + " /v1/messages HTTP/1.1\r\nHost: a\r\n\r\n", 431, ofChat, "HEADERS_TOO_LARGE"},
}

var linesOfRequests = regexp.MustCompile(`(?m)^.*msg=request .*$`)

// What net/http refuses itself is answered as the edge's own refusals are: in the protocol of
// its path, with the request's identifier, and with a line in the log. It is the last of its
// connection, wherever it is cut, and whatever came before it on the connection is answered.
func TestRefusalsOfTheServer(t *testing.T) {
	const before = "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n"
	for name, c := range refusals {
		for _, ahead := range []string{"", before + before} {
			sent := ahead + c.sent + smuggled
			for cut := 0; cut < len(sent); cut += 1 + len(sent)/10 {
				got, log := converse(t, sent, cut)
				answers := readAll(t, got)
				if len(answers) != 1+strings.Count(ahead, "GET") {
					t.Fatalf("%s, cut at %d: %d answers\n%s", name, cut, len(answers), got)
				}
				last := answers[len(answers)-1]
				id := last.Header.Get("X-Request-ID")
				if last.StatusCode != c.status || !strings.Contains(last.body, c.form) || !json.Valid([]byte(last.body)) || last.Header.Get("Content-Type") != "application/json" ||
					!last.Close || !strings.HasPrefix(id, "req_") || last.Header.Get("Request-Id") != id || last.Header.Get("Date") == "" {
					t.Fatalf("%s, cut at %d:\n%s", name, cut, got)
				}
				lines := linesOfRequests.FindAllString(log, -1)
				if line := lines[len(lines)-1]; !strings.Contains(line, "request_id="+id) || !strings.Contains(line, "reason="+c.reason) || strings.Count(log, "reason="+c.reason) != 1 {
					t.Fatalf("%s, cut at %d: the log is\n%s", name, cut, log)
				}
			}
		}
	}
}

// A head that has ended after fewer bytes than the preface of HTTP/2 has is refused at once, though
// net/http looks for the preface first.
func TestRefusalsOfShortHeads(t *testing.T) {
	for _, sent := range []string{"G\r\n\r\n", "GET /\r\n\r\n", "GET / HTTP\r\n\r\n", "PRI *\r\n\r\n", "P\r\n\r\n", "\x16\x03\x01\r\n\r\n", "a\r\nHost: a\r\n\r\n", "A * HTTP/1\r\n\r\n"} {
		for cut := range len(sent) + 1 {
			got, log := converse(t, sent, cut) // which demands that the connection ends within 5 s
			if !strings.HasPrefix(got, "HTTP/1.1 400 ") || answers(got) != 1 || !strings.Contains(got, ofChat) || strings.Count(log, "reason=MALFORMED_REQUEST") != 1 {
				t.Fatalf("%q, cut at %d: %q\n%s", sent, cut, got, log)
			}
		}
	}
}

// A refused HEAD has no body.
func TestRefusalsOfHead(t *testing.T) {
	got, _ := converse(t, "HEAD /v1/messages HTTP/1.1\r\n\r\n", 0)
	if _, body, _ := strings.Cut(got, "\r\n\r\n"); body != "" || !strings.HasPrefix(got, "HTTP/1.1 400 ") || !strings.Contains(got, "Content-Type: application/json") {
		t.Errorf("%q", got)
	}
}

type answerRead struct {
	*http.Response
	body string
}

// readAll reads the answers of a connection as a client does.
func readAll(t *testing.T, got string) []answerRead {
	t.Helper()
	var all []answerRead
	from := bufio.NewReader(strings.NewReader(got))
	for {
		if _, err := from.Peek(1); err != nil {
			return all
		}
		answer, err := http.ReadResponse(from, nil)
		if err != nil {
			t.Fatalf("%v:\n%s", err, got)
		}
		body, err := io.ReadAll(answer.Body)
		if err != nil || answer.ContentLength != int64(len(body)) {
			t.Fatalf("%v, %d bytes are announced:\n%s", err, answer.ContentLength, got)
		}
		all = append(all, answerRead{answer, string(body)})
	}
}
