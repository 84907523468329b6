package programs

import (
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/caller"
	"github.com/genway/genway/test/conformance/hostile"
	"github.com/genway/genway/test/conformance/server"
)

var statusLine = regexp.MustCompile(`HTTP/1\.[01] ([0-9]{3}) `)

// smuggledRequests sends requests whose end two readers may see in two places, cut at every
// byte, to the real programs: one answer comes, 400, and the connection ends.
func smuggledRequests(t *testing.T, _ stores) {
	s := server.Start(t, server.Options{Cleartext: true})
	hidden := "POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + s.Keys["chat"] + "\r\nContent-Length: 2\r\n\r\n{}"
	const head = "POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\n"
	for name, c := range map[string]struct{ sent, want string }{
		"CL+TE":            {head + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "401"},
		"TE+CL":            {head + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n1\r\n{\r\n0\r\n\r\n", "401"},
		"folded":           {head + "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n", "401"},
		"bare LF":          {head + "X: a\nTransfer-Encoding: chunked\n\n0\r\n\r\n", "401"},
		"two lengths":      {head + "Content-Length: 0\r\nContent-Length: 2\r\n\r\n", "400"},
		"malformed chunk":  {head + "Transfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n", "401"},
		"another coding":   {head + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "501"},
		"coding of 1.0":    {"POST /v1/chat/completions HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "401"},
		"an expectation":   {head + "Expect: 200-ok\r\nContent-Length: 2\r\n\r\n", "417"},
		"after a good one": {"GET / HTTP/1.1\r\nHost: a\r\n\r\n" + head + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "200 401"},
	} {
		sent := c.sent + hidden
		for cut := range len(c.sent) + 20 {
			var got []string
			answer := converse(t, s.HTTP, sent[:cut], sent[cut:])
			for _, line := range statusLine.FindAllStringSubmatch(answer, -1) {
				got = append(got, line[1])
			}
			if strings.Join(got, " ") != c.want {
				t.Fatalf("%s, cut at %d: %v\n%s", name, cut, got, answer)
			}
		}
	}
}

// unsentBodies announces bodies and sends none, without a key, with an unknown one and with
// a good one where no body is needed: each is answered, and the connection ends.
func unsentBodies(t *testing.T, _ stores) {
	eachForm(t, server.Options{Cleartext: true}, func(t *testing.T, s *server.Server) {
		good, unknown := "Authorization: Bearer "+s.Keys["chat"]+"\r\n", "Authorization: Bearer "+swapped(s.Keys["chat"])+"\r\n"
		// Each answer is followed by half a second in which the server waits for the rest of the body, or ten where
		// net/http refuses an expectation, so the requests run at once.
		var all sync.WaitGroup
		for what, want := range map[[2]string]string{
			{"POST /v1/chat/completions", ""}:     "401",
			{"POST /nowhere", ""}:                 "404",
			{"PUT /v1/chat/completions", good}:    "405",
			{"GET /livez", ""}:                    "200",
			{"GET /readyz", unknown}:              "200",
			{"GET /v1/models", ""}:                "401",
			{"GET /v1/models", unknown}:           "401",
			{"GET /v1/models", good}:              "200",
			{"GET /v1/models/sandbox-text", good}: "200",
			{"HEAD /livez", ""}:                   "200",
			{"OPTIONS *", ""}:                     "200",
		} {
			for _, body := range []string{"Content-Length: 1", "Content-Length: 262144", "Content-Length: 9223372036854775807", "Transfer-Encoding: chunked", "Content-Length: 50\r\nExpect: 100-continue", "Expect: a miracle\r\nContent-Length: 50", "Content-Length: 50\r\nExpect: " + strings.Repeat("a", 1000)} {
				all.Go(func() {
					status := want
					if strings.Contains(body, "Expect: a") {
						status = "417"
					}
					answer, err := conversation(s.HTTP, what[0]+" HTTP/1.1\r\nHost: a\r\n"+what[1]+body+"\r\n\r\n")
					if got := statusLine.FindAllStringSubmatch(answer, -1); err != nil || len(got) != 1 || got[0][1] != status {
						t.Errorf("%q, %s: %s, %v, want %s", what, body, answer, err, status)
					}
				})
			}
		}
		all.Wait()
	})
}

// swapped makes an unknown key of the form of another.
func swapped(key string) string {
	n := len(key) / 2
	return key[:n] + strings.Map(func(c rune) rune {
		if c == 'a' {
			return 'b'
		}
		return 'a'
	}, key[n:])
}

// converse sends the pieces on one connection and returns all that comes until its end.
func converse(t *testing.T, address string, pieces ...string) string {
	t.Helper()
	answer, err := conversation(address, pieces...)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// conversation does the same for tests with several goroutines.
func conversation(address string, pieces ...string) (string, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(floodLimit))
	for _, piece := range pieces {
		if _, err := io.WriteString(conn, piece); err != nil {
			return "", err
		}
	}
	all, err := io.ReadAll(conn)
	if err != nil && (len(all) == 0 || !errors.Is(err, syscall.ECONNRESET)) { // what comes after the last request is not read
		return "", fmt.Errorf("the connection did not end: %w\n%s", err, all)
	}
	return string(all), nil
}

// boundedConnections opens more connections from an address than may be, to each port:
// those beyond the bound are closed at once, all others stay, a caller from elsewhere is
// served, and the log and the metrics have the refusals.
func boundedConnections(t *testing.T, _ stores) {
	const bound = 50
	metrics := socket(t)
	s := server.Start(t, server.Options{Args: []string{"--max-connections-per-address", strconv.Itoa(bound), "--metrics-listen", "unix:" + metrics}})
	client, err := caller.New(s.URL(), s.GRPC)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for port, address := range map[string]string{"http": s.HTTP, "grpc": s.GRPC} {
		idle, err := hostile.Idle(t.Context(), hostile.Port{Address: address, GRPC: port == "grpc"}, 3*bound)
		if err != nil {
			t.Fatal(err)
		}
		if ended := idle.Ended(2 * bound); ended != 2*bound {
			t.Errorf("%s: of %d connections %d were ended", port, 3*bound, ended)
		}
		for _, protocol := range []string{"chat", "grpc"} {
			healthy(t, client, caller.Call{Protocol: protocol, Model: "sandbox-text", Key: s.Keys[caller.Group(protocol)]})
		}
		idle.Close()
		if text := page(t, metrics, "/metrics"); !strings.Contains(text, fmt.Sprintf(`genway_connections_refused_total{port=%q,reason="address"} %d`, port, 2*bound)) {
			t.Errorf("%s: the metrics:\n%s", port, text)
		}
	}
	if log := s.Core.Log(); strings.Count(log, "connections were refused or ended") > 20 || !strings.Contains(log, hostile.From) {
		t.Errorf("the log:\n%s", log)
	}
}
