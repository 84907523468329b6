package programs

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/genway/genway/conformance/authority"
	"github.com/genway/genway/conformance/server"
)

// refusedHeads sends what no handler of the edge ever sees over raw connections, behind a good
// request and without one, cut in two and with its own side closed: each answer is JSON of the
// protocol of its path, and its identifier is in the log.
func refusedHeads(t *testing.T, _ stores) {
	const messages, chat, generate = `{"type":"error","error":{"type":"invalid_request_error"`, `{"error":{"message":`, `"status":"INVALID_ARGUMENT"`
	metrics := socket(t)
	for name, options := range map[string]server.Options{
		"one process":   {Cleartext: true, Args: []string{"--metrics-listen", "unix:" + metrics}},
		"two processes": {Cleartext: true, TwoProcess: true, EdgeArgs: []string{"--metrics-listen", "unix:" + metrics}},
	} {
		t.Run(name, func(t *testing.T) {
			s, reasons := server.Start(t, options), map[string]string{}
			for _, c := range []struct {
				sent   string
				status int
				form   string
				reason string
			}{
				{"POST /v1/messages HTTP/1.1\r\n\r\n", 400, messages, "MALFORMED_REQUEST"},
				{"POST /v1/responses HTTP/1.1\r\nHost: a b\r\n\r\n", 400, chat, "MALFORMED_REQUEST"},
				{"POST /v1beta/models/m:generateContent HTTP/1.1\r\nHost: a\r\n: a\r\n\r\n", 400, generate, "MALFORMED_REQUEST"},
				{"GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", 400, chat, "MALFORMED_REQUEST"},
				{"\x16\x03\x01\x00\x05hello, hello, hello, hello\r\n", 400, chat, "MALFORMED_REQUEST"}, //nolint:dupword // bytes without a meaning
				{"POST /v1/messages HTTP/9.1\r\nHost: a\r\n\r\n", 505, messages, "HTTP_VERSION_NOT_SUPPORTED"},
				{"POST /v1/messages HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("a", 1<<20) + "\r\n\r\n", 431, messages, "HEADERS_TOO_LARGE"},
				{"POST /v1/messages?" + strings.Repeat("a", 1<<20), 431, messages, "HEADERS_TOO_LARGE"},
			} {
				for _, ahead := range []string{"", "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n"} {
					got := converse(t, s.HTTP, ahead+c.sent[:12], c.sent[12:])
					reasons[nativelyRefused(t, ahead != "", got, c.status, c.form)] = c.reason
				}
			}
			for _, short := range []string{"GET /\r\n\r\n", "G\r\n\r\n"} { // shorter than the preface of HTTP/2
				reasons[nativelyRefused(t, false, converse(t, s.HTTP, short), 400, chat)] = "MALFORMED_REQUEST"
			}
			logged(t, s, reasons)
			want := `genway_connections_refused_total{port="http",reason="large-head"} 4`
			if text := page(t, metrics, "/metrics"); !strings.Contains(text, want) {
				t.Errorf("%s is not among the metrics:\n%s", want, text)
			}
		})
	}
	t.Run("in clear text to TLS", func(t *testing.T) {
		r := newTLSRig(t)
		r.issue(t, "first", authority.Here)
		s := server.Start(t, server.Options{Args: []string{"--http-cert", r.file("first.pem"), "--http-key", r.file("first.key")}})
		got := converse(t, s.HTTP, "POST /v1/messages HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n"+strings.Repeat("a", 100_000))
		logged(t, s, map[string]string{nativelyRefused(t, false, got, 400, messages): "TLS_REQUIRED"})
	})
}

// nativelyRefused demands that the last answer of a connection is a refusal in that form, and
// gives its identifier.
func nativelyRefused(t *testing.T, behind bool, got string, status int, form string) (id string) {
	t.Helper()
	from := bufio.NewReader(strings.NewReader(got))
	if behind {
		before, err := http.ReadResponse(from, nil)
		if err != nil || before.StatusCode != http.StatusOK {
			t.Fatalf("%v: %.300q", err, got)
		}
		_, _ = io.Copy(io.Discard, before.Body)
	}
	answer, err := http.ReadResponse(from, nil)
	if err != nil {
		t.Fatalf("%v: %.300q", err, got)
	}
	body, err := io.ReadAll(answer.Body)
	id = answer.Header.Get("X-Request-ID")
	if err != nil || answer.StatusCode != status || !json.Valid(body) || !strings.Contains(string(body), form) || answer.Header.Get("Content-Type") != "application/json" || id == "" || !answer.Close {
		t.Errorf("%v: %.500q", err, got)
	}
	if rest, _ := io.ReadAll(from); len(rest) > 0 {
		t.Errorf("behind the answer is %.300q", rest)
	}
	return id
}

// logged waits until each identifier is in the log, with its reason.
func logged(t *testing.T, s *server.Server, reasons map[string]string) {
	t.Helper()
	eventually(t, "the refusals are in the log", func() error {
		log := s.Edge.Log()
		for id, reason := range reasons {
			_, line, _ := strings.Cut(log, id)
			if line, _, _ = strings.Cut(line, "\n"); !strings.Contains(line, reason) {
				return fmt.Errorf("%s of %s is not there:\n%s", id, reason, log)
			}
		}
		return nil
	})
}
