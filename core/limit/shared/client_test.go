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
	"sync/atomic"
	"testing"
	"time"

	"github.com/genway/genway/core/limit/shared/endpoint"
	"github.com/genway/genway/test/servers"
)

// listen returns the address of a server that answers each command by answer.
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
					if text := answer(command); text == "" && strings.EqualFold(command[0], "EVALSHA") {
						_ = conn.Close()
						return
					} else if _, err := io.WriteString(conn, text); err != nil {
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

// clientOf returns a client, and a context that one command of it has.
func clientOf(t *testing.T, url string, within time.Duration) (*client, context.Context) {
	t.Helper()
	server, err := endpoint.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	c, err := newClient(server, within, "{p}:probe")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.close(); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), within)
	t.Cleanup(cancel)
	return c, ctx
}

// kept is how many connections a client keeps.
func (c *client) kept() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return int(c.current.PoolStats().IdleConns)
}

// old answers as a server that does not know HELLO.
func old(answer func(command []string) string) func([]string) string {
	return func(command []string) string {
		if strings.EqualFold(command[0], "HELLO") {
			return "-ERR unknown command\r\n"
		}
		return answer(command)
	}
}

// A connection begins with who asks and with what database; then it is kept.
func TestConnectionsAreKept(t *testing.T) {
	received := make(chan string, 9)
	c, ctx := clientOf(t, "redis://user:secret@"+listen(t, old(func(command []string) string {
		if strings.EqualFold(command[0], "EVALSHA") {
			command = append(command[:1], command[3:]...) // without the hash and the number of keys
		}
		received <- strings.ToUpper(command[0]) + " " + strings.Join(command[1:], " ")
		return "+OK\r\n"
	}))+"/3", time.Minute)
	for range 2 {
		if err := c.probe(ctx); err != nil {
			t.Fatal(err)
		}
	}
	close(received)
	var got []string
	for s := range received {
		got = append(got, s)
	}
	const (
		request = "EVALSHA {p}:probe probe 1000000 rate 1000000000 1"
		place   = "EVALSHA {p}:probe:running probe 1000000 many 1000000000"
	)
	if want := []string{"AUTH user secret", "SELECT 3", request, place, request, place}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A server that does not answer in time is left, and its late answer is dropped.
func TestAnswersInTimeOrNot(t *testing.T) {
	var late atomic.Bool
	late.Store(true)
	c, ctx := clientOf(t, "redis://"+listen(t, old(func([]string) string {
		if late.CompareAndSwap(true, false) {
			return ""
		}
		return ":0\r\n"
	})), time.Second)
	if err := c.probe(ctx); err == nil {
		t.Error("an answer that was not given")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := c.probe(ctx); err != nil {
		t.Error(err)
	}
	if c.kept() != 1 {
		t.Errorf("%d connections are kept", c.kept())
	}
}

// A command is sent once, also where the server ends the connection in place of an answer: it
// may have been run.
func TestX50CommandsAreSentOnce(t *testing.T) {
	for _, scheme := range []string{"redis", "redis+cluster"} {
		var runs atomic.Int64
		var address string
		address = listen(t, old(func(command []string) string {
			switch strings.ToUpper(command[0]) {
			case "CLUSTER":
				host, port, _ := net.SplitHostPort(address)
				return fmt.Sprintf("*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n$%d\r\n%s\r\n:%s\r\n$1\r\nn\r\n", len(host), host, port)
			case "EVALSHA":
				runs.Add(1)
				return "" // and the connection ends
			}
			return "+OK\r\n"
		}))
		c, ctx := clientOf(t, scheme+"://"+address, time.Minute)
		if _, err := newScript("return 1").run(ctx, c, []string{"{p}:k"}); err == nil {
			t.Error("an answer that was not given")
		}
		if runs.Load() != 1 {
			t.Errorf("%s: sent %d times", scheme, runs.Load())
		}
	}
}

// A server that was restarted between two questions answers the second, to a script
// that it does not know too.
func TestAServerThatWasStartedAnew(t *testing.T) {
	server := servers.NewRedis(t)
	c, ctx := clientOf(t, server.URL(), time.Minute)
	hello := newScript("return {ARGV[1], 7}")
	for range 3 {
		answer, err := hello.run(ctx, c, []string{"k"}, "word")
		if list, ok := answer.([]any); err != nil || !ok || len(list) != 2 || list[0] != "word" || list[1] != int64(7) {
			t.Fatalf("%v, %v", answer, err)
		}
		if err := c.probe(ctx); err != nil || c.kept() != 1 {
			t.Fatalf("%d kept, %v", c.kept(), err)
		}
		server.Kill()
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
	}
}

// What a server refuses leaves the connection as good as it was.
func TestRefusalsAreNoBreaks(t *testing.T) {
	c, ctx := clientOf(t, servers.SharedRedis(t).URL(), time.Minute)
	if _, err := newScript("return redis.error_reply('ERR no')").run(ctx, c, nil); err == nil || c.kept() != 1 {
		t.Errorf("%d kept, %v", c.kept(), err)
	}
}

// A server that has become a replica is left: its name may be another's by now. To probe it is
// to find out.
func TestReplicasAreLeft(t *testing.T) {
	c, ctx := clientOf(t, servers.NewRedis(t).URL(), time.Minute)
	order := func(args ...any) {
		t.Helper()
		if _, err := c.run(ctx, append([]any{"REPLICAOF"}, args...)...); err != nil {
			t.Fatal(err)
		}
	}
	write := newScript("return redis.call('SET', KEYS[1], 1)")
	if _, err := write.run(ctx, c, []string{"k"}); err != nil || c.kept() != 1 {
		t.Fatalf("%d kept, %v", c.kept(), err)
	}
	order("127.0.0.1", "1")
	if _, err := write.run(ctx, c, []string{"k"}); err == nil || c.kept() != 0 {
		t.Errorf("%d kept, %v", c.kept(), err)
	}
	if err := c.probe(ctx); err == nil {
		t.Error("a replica is taken for the primary")
	}
	order("NO", "ONE")
	if _, err := write.run(ctx, c, []string{"k"}); err != nil {
		t.Error(err)
	}
}

// A question whose time is over is not asked, and costs no connection.
func TestLateQuestionsAreNotAsked(t *testing.T) {
	var asked atomic.Int64
	c, ctx := clientOf(t, "redis://"+listen(t, old(func([]string) string {
		asked.Add(1)
		return ":0\r\n"
	})), time.Minute)
	if err := c.probe(ctx); err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(ctx)
	end()
	for range 20 {
		if err := c.probe(ended); err == nil {
			t.Error("a late question was answered")
		}
	}
	if err := c.probe(ctx); err != nil || asked.Load() != 4 || c.kept() != 1 {
		t.Errorf("%d asked, %d kept, %v", asked.Load(), c.kept(), err)
	}
}

// A batch of settlements is taken in one step or not at all: one that is passed over
// would have a lower number than those the server knows, and never count.
func TestABatchIsOneStep(t *testing.T) {
	received := make(chan string, 99)
	var known atomic.Bool
	c, ctx := clientOf(t, "redis://"+listen(t, old(func(command []string) string {
		name := strings.ToUpper(command[0])
		received <- name
		switch name {
		case "EVALSHA":
			return "+QUEUED\r\n"
		case "EXEC":
			if !known.Load() {
				return "*2\r\n-NOSCRIPT none\r\n:1\r\n"
			}
			return "*2\r\n:1\r\n:1\r\n"
		case "SCRIPT":
			known.Store(true)
			return "$4\r\nhash\r\n"
		}
		return "+OK\r\n"
	})), time.Minute)
	s := &Store{config: Config{Timeout: time.Minute}, keys: keys{"p"}, client: c, process: "me"}
	if err := s.send(ctx, []*settlement{{number: 1, call: &call{keys: []string{"k"}}}, {number: 2, call: &call{keys: []string{"k"}}}}); err != nil {
		t.Error(err)
	}
	close(received)
	var got []string
	for s := range received {
		got = append(got, s)
	}
	batch := []string{"MULTI", "EVALSHA", "EVALSHA", "EXEC"}
	if want := slices.Concat(batch, []string{"SCRIPT"}, batch); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
