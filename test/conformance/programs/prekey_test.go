package programs

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/caller"
	"github.com/genway/genway/test/conformance/server"
)

// strangersMemory is what the bodies of strangers may add to a process, in MiB. 200 that were
// announced once took 2,000, and eight that inflate 3,700.
const strangersMemory = 64

// costlessStrangers has strangers announce large bodies, and send compressed ones that inflate, without
// a key and with one that does not exist: each is refused by its head, and the programs do not grow.
func costlessStrangers(t *testing.T, _ stores) {
	bomb := string(bomb(`{"model":"sandbox-text","messages":[{"role":"user","content":"`, "a", `"}]}`, 1<<30))
	eachForm(t, server.Options{Cleartext: true}, func(t *testing.T, s *server.Server) {
		client, err := caller.New(s.URL(), s.GRPC)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		if seen, err := client.Do(t.Context(), caller.Call{Protocol: "chat", Model: "sandbox-text", Key: s.Keys["chat"]}); err != nil || !seen.Whole {
			t.Fatalf("%+v %v", seen, err)
		}
		processes := slices.Compact([]*server.Process{s.Core, s.Edge})
		before := make([]int, len(processes))
		for i, p := range processes {
			_, before[i] = resident(t, p)
		}
		nobody := "Authorization: Bearer " + swapped(s.Keys["chat"]) + "\r\n"
		var all sync.WaitGroup
		refused := func(sent string, status string) {
			all.Go(func() {
				answer, err := answered(t, s.HTTP, sent)
				if got := statusLine.FindAllStringSubmatch(answer, -1); err != nil || len(got) != 1 || got[0][1] != status {
					t.Errorf("%.80q: %v %.300q, want %s", sent, err, answer, status)
				}
			})
		}
		for n := range 200 {
			path, key := []string{"/v1/chat/completions", "/v1/responses", "/v1/images/generations"}[n%3], []string{"", nobody}[n%2]
			refused(fmt.Sprintf("POST %s HTTP/1.1\r\nHost: a\r\n%sContent-Type: application/json\r\nContent-Length: 60000000\r\n\r\n{", path, key), "401")
		}
		for n := range 8 {
			refused(fmt.Sprintf("POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\n%sContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", []string{"", nobody}[n%2], len(bomb), bomb), "401")
		}
		all.Wait()
		for i, p := range processes {
			if _, most := resident(t, p); most-before[i] > strangersMemory {
				t.Errorf("the process of the %s grew by %d MiB", []string{"core", "edge"}[i], most-before[i])
			}
		}
	})
}

// answered sends as much as the server takes, and returns what it answers.
func answered(t *testing.T, address, sent string) (string, error) {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(floodLimit))
	go func() { _, _ = io.WriteString(conn, sent) }()
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	return answer.Proto + " " + answer.Status, nil
}

// exactNames holds paths, keys and headers to what they are: an escaped slash is none, a space of another
// alphabet is a part of a key, and two keys are none.
func exactNames(t *testing.T, _ stores) {
	eachForm(t, server.Options{Cleartext: true}, func(t *testing.T, s *server.Server) {
		const body = `{"model":"sandbox-text","messages":[{"role":"user","content":"hi"}]}`
		key := s.Keys["chat"]
		for _, c := range []struct{ path, headers, want string }{
			{"/v1/chat/completions", "Authorization: Bearer " + key, "200"},
			{"/v1%2Fchat/completions", "Authorization: Bearer " + key, "404"},
			{"/v1%2fchat%2fcompletions", "Authorization: Bearer " + key, "404"},
			{"/v1/chat%2Fcompletions", "Authorization: Bearer " + key, "404"},
			{"/v1/./chat/completions", "Authorization: Bearer " + key, "404"},
			{"/v1/chat/completions%00", "Authorization: Bearer " + key, "404"},
			{"/V1/Chat/Completions", "Authorization: Bearer " + key, "404"},
			{"/v1/chat/completions", "Authorization: Bearer \u00a0" + key, "401"},
			{"/v1/chat/completions", "Authorization: Bearer " + key + "\u00a0", "401"},
			{"/v1/chat/completions", "Authorization: Bearer " + key + "\u2003", "401"},
			{"/v1/chat/completions", "Authorization: Bearer " + key + "\r\nAuthorization: Bearer " + key, "401"},
			{"/v1/chat/completions", "Authorization: Bearer " + key + "\r\nauthorization: Bearer " + swapped(key), "401"},
			{"/v1/chat/completions", "Authorization: Bearer " + key + ", Bearer " + key, "401"},
			{"/v1/chat/completions", "Authorization: " + key, "401"},
			{"/v1/messages", "X-Api-Key: " + s.Keys["messages"] + "\r\nX-Api-Key: " + s.Keys["messages"] + "\r\nAnthropic-Version: 2023-06-01", "401"},
			{"/v1/messages", "X-Api-Key: \u00a0" + s.Keys["messages"] + "\r\nAnthropic-Version: 2023-06-01", "401"},
		} {
			answer := converse(t, s.HTTP, fmt.Sprintf("POST %s HTTP/1.1\r\nHost: a\r\n%s\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", c.path, c.headers, len(body), body))
			if got := statusLine.FindAllStringSubmatch(answer, -1); len(got) != 1 || got[0][1] != c.want {
				t.Errorf("%s, %q: %.300q, want %s", c.path, c.headers, answer, c.want)
			}
		}
		if strings.HasPrefix(s.GRPC, "unix:") {
			return
		}
		good := "Bearer " + s.Keys["internal"]
		for status, keys := range map[string][]string{"0": {"authorization", good}, "16": {"authorization", good, "authorization", good}} {
			conn := dialPort(t, s.GRPC)
			stream := conn.open("/genway.v1.Generation/ListModels", keys)
			if err := conn.framer.WriteData(stream, true, make([]byte, 5)); err != nil {
				t.Fatal(err)
			}
			if got := conn.read(1)[stream]; got != status {
				t.Errorf("a call with %d keys ends with %q, want %s", len(keys)/2, got, status)
			}
		}
	})
}

// unansweredBodies has 100 callers with good keys announce bodies and send none, and ends the programs: the
// end does not wait for them beyond the grace.
func unansweredBodies(t *testing.T, _ stores) {
	eachForm(t, server.Options{Cleartext: true, Args: []string{"--grace", "1s"}}, func(t *testing.T, s *server.Server) {
		for n := range 100 {
			conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", s.HTTP)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close() })
			key := []string{s.Keys["chat"], swapped(s.Keys["chat"])}[n%2]
			if _, err := fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s\r\nContent-Length: 200000\r\n\r\n", key); err != nil {
				t.Fatal(err)
			}
		}
		begun := time.Now()
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took > 20*time.Second {
			t.Errorf("the end took %v, with a grace of a second", took)
		}
	})
}
