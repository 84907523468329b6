//go:build unix

package shared

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/internal/servertest"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"redis://":                     "tcp localhost:6379",
		"redis://host":                 "tcp host:6379",
		"redis://host:1/":              "tcp host:1",
		"redis://user:secret@host:1/2": "tcp host:1",
		"rediss://[::1]:1":             "tcp [::1]:1",
		"unix:///a/b":                  "unix /a/b",
		"unix://:secret@/a/b?db=2":     "unix /a/b",
		"unix://secret":                "unix:///PATH has no path",
		"unix:///a/b?db=secret":        "its database is no number; write redis://host:6379/0",
		"redis://:secret@host/-1":      "its database is no number; write redis://host:6379/0",
		"redis://:secret@host?pool=1":  `its parameter "pool" is not known`,
		"http://:secret@host":          "its scheme is neither redis, rediss nor unix",
		"redis://:secret@host:port":    `invalid port ":port" after host; write redis://host:6379/0`,
	} {
		a, err := parse(text)
		got := fmt.Sprint(err)
		if err == nil {
			got = a.network + " " + a.place
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// listen gives the address of a server that does what is said with each command.
func listen(t *testing.T, answer func(command []string) string) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	t.Cleanup(func() {
		_ = listener.Close()
		<-served
	})
	go func() {
		defer close(served)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			context.AfterFunc(t.Context(), func() { _ = conn.Close() })
			go func() {
				for in := bufio.NewReader(conn); ; {
					command, err := readCommand(in)
					if err != nil {
						return
					}
					if _, err := io.WriteString(conn, answer(command)); err != nil {
						return
					}
				}
			}()
		}
	}()
	return listener.Addr().String()
}

func readCommand(in *bufio.Reader) ([]string, error) {
	var parts, size int
	if _, err := fmt.Fscanf(in, "*%d\r\n", &parts); err != nil {
		return nil, err
	}
	command := make([]string, parts)
	for i := range command {
		if _, err := fmt.Fscanf(in, "$%d\r\n", &size); err != nil {
			return nil, err
		}
		part := make([]byte, size+len("\r\n"))
		if _, err := io.ReadFull(in, part); err != nil {
			return nil, err
		}
		command[i] = string(part[:size])
	}
	return command, nil
}

// clientOf gives a client, and a context that one question of it has.
func clientOf(t *testing.T, url string, within time.Duration) (*client, context.Context) {
	t.Helper()
	server, err := parse(url)
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(server)
	t.Cleanup(func() {
		if err := c.close(); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), within)
	t.Cleanup(cancel)
	return c, ctx
}

// A connection begins with who asks and with what database; then it is kept.
func TestConnectionsAreKept(t *testing.T) {
	said := make(chan string, 9)
	c, ctx := clientOf(t, "redis://user:secret@"+listen(t, func(command []string) string {
		said <- strings.Join(command, " ")
		return "+OK\r\n"
	})+"/3", time.Minute)
	for range 2 {
		if err := c.ping(ctx); err != nil {
			t.Fatal(err)
		}
	}
	close(said)
	var got []string
	for s := range said {
		got = append(got, s)
	}
	if want := []string{"AUTH user secret", "SELECT 3", "PING", "PING"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A server that does not answer in time is left, and its late answer is nobody's.
func TestAnswersInTimeOrNot(t *testing.T) {
	late := true
	c, ctx := clientOf(t, "redis://"+listen(t, func([]string) string {
		if late {
			late = false
			return ""
		}
		return "+PONG\r\n"
	}), 50*time.Millisecond)
	if err := c.ping(ctx); err == nil {
		t.Error("an answer that nobody gave")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := c.ping(ctx); err != nil {
		t.Error(err)
	}
	if len(c.idle) != 1 {
		t.Errorf("%d connections are kept", len(c.idle))
	}
}

// A server that was started anew between two questions answers the second, to a script
// that it does not know too.
func TestAServerThatWasStartedAnew(t *testing.T) {
	server := servertest.NewRedis(t)
	c, ctx := clientOf(t, server.URL(), time.Minute)
	hello := newScript("return {ARGV[1], 7}")
	for range 3 {
		answer, err := hello.run(ctx, c, []string{"k"}, "word")
		if list, ok := answer.([]any); err != nil || !ok || len(list) != 2 || string(list[0].([]byte)) != "word" || list[1] != int64(7) {
			t.Fatalf("%v, %v", answer, err)
		}
		if err := c.ping(ctx); err != nil || len(c.idle) != 1 {
			t.Fatalf("%d kept, %v", len(c.idle), err)
		}
		server.Kill()
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
	}
}

// What a server refuses leaves the connection as good as it was.
func TestRefusalsAreNoBreaks(t *testing.T) {
	c, ctx := clientOf(t, servertest.SharedRedis(t).URL(), time.Minute)
	if _, err := newScript("return redis.error_reply('ERR no')").run(ctx, c, nil); err == nil || len(c.idle) != 1 {
		t.Errorf("%d kept, %v", len(c.idle), err)
	}
}

// A server that has become a replica is left: its name may be another's by now.
func TestReplicasAreLeft(t *testing.T) {
	c, ctx := clientOf(t, servertest.NewRedis(t).URL(), time.Minute)
	order := func(args ...any) {
		t.Helper()
		if err := c.do(ctx, func(conn *connection) error {
			_, err := conn.ask("REPLICAOF", args...)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	write := newScript("return redis.call('SET', KEYS[1], 1)")
	if _, err := write.run(ctx, c, []string{"k"}); err != nil || len(c.idle) != 1 {
		t.Fatalf("%d kept, %v", len(c.idle), err)
	}
	order("127.0.0.1", "1")
	if _, err := write.run(ctx, c, []string{"k"}); err == nil || len(c.idle) != 0 {
		t.Errorf("%d kept, %v", len(c.idle), err)
	}
	order("NO", "ONE")
	if _, err := write.run(ctx, c, []string{"k"}); err != nil {
		t.Error(err)
	}
}

// A question whose time is over is not asked, and costs no connection.
func TestLateQuestionsAreNotAsked(t *testing.T) {
	asked := 0
	c, ctx := clientOf(t, "redis://"+listen(t, func([]string) string {
		asked++
		return "+PONG\r\n"
	}), time.Minute)
	if err := c.ping(ctx); err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(ctx)
	end()
	for range 20 {
		if err := c.ping(ended); err == nil {
			t.Error("a late question was answered")
		}
	}
	if err := c.ping(ctx); err != nil || asked != 2 || len(c.idle) != 1 {
		t.Errorf("%d asked, %d kept, %v", asked, len(c.idle), err)
	}
}

// A batch of settlements is taken in one step or not at all: one that is passed over
// would have a lower number than those the server knows, and never count.
func TestABatchIsOneStep(t *testing.T) {
	said := make(chan string, 99)
	known := false
	c, ctx := clientOf(t, "redis://"+listen(t, func(command []string) string {
		said <- command[0]
		switch command[0] {
		case "EVALSHA":
			return "+QUEUED\r\n"
		case "EXEC":
			if !known {
				return "*2\r\n-NOSCRIPT none\r\n:1\r\n"
			}
			return "*2\r\n:1\r\n:1\r\n"
		case "SCRIPT":
			known = true
		}
		return "+OK\r\n"
	}), time.Minute)
	s := &Store{config: Config{Timeout: time.Minute}, keys: keys{"p"}, client: c, process: "me"}
	if err := s.send(ctx, []*settlement{{number: 1, call: &call{keys: []string{"k"}}}, {number: 2, call: &call{keys: []string{"k"}}}}); err != nil {
		t.Error(err)
	}
	close(said)
	var got []string
	for s := range said {
		got = append(got, s)
	}
	batch := []string{"MULTI", "EVALSHA", "EVALSHA", "EXEC"}
	if want := slices.Concat(batch, []string{"SCRIPT"}, batch); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
