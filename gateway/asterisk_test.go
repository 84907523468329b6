package gateway_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
)

// OPTIONS of the whole server (RFC 9110, section 9.3.7) is answered by the edge, not by net/http: with an
// identifier, a line in the log, and the end of the connection if it has a body.
func TestOptionsOfTheServer(t *testing.T) {
	for name, c := range map[string]struct {
		sent    string
		status  int
		allow   string
		answers int
	}{
		"OPTIONS":             {"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", http.StatusOK, "", 2},
		"OPTIONS with a body": {"OPTIONS * HTTP/1.1\r\nHost: a\r\nContent-Length: 50\r\n\r\n", http.StatusOK, "", 1},
		"another method":      {"GET * HTTP/1.1\r\nHost: a\r\n\r\n", http.StatusMethodNotAllowed, "OPTIONS", 2},
	} {
		got, log := converse(t, c.sent+"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 0)
		all := readAll(t, got)
		if len(all) != c.answers {
			t.Fatalf("%s: %d answers\n%s", name, len(all), got)
		}
		first := all[0]
		id := first.Header.Get("X-Request-ID")
		if first.StatusCode != c.status || first.Header.Get("Allow") != c.allow || first.Close != (c.answers == 1) || !strings.Contains(log, "request_id="+id) || id == "" {
			t.Errorf("%s:\n%s\n%s", name, got, log)
		}
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
