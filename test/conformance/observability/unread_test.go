package observability

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/server"
)

// unwritten is a gateway whose standard error the test has in its hands.
type unwritten struct {
	cmd    *exec.Cmd
	client *http.Client
	key    string
	dir    string
	ended  chan error
}

// startUnwritten starts one that logs to a file, and waits until it is ready.
func startUnwritten(t *testing.T, log *os.File) *unwritten {
	t.Helper()
	dir := shortDir(t)
	data := filepath.Join(dir, "data")
	key, err := server.Output("genway", "keys", "create", "--data", data, "--group", "chat")
	if err != nil {
		t.Fatal(err)
	}
	path, err := server.Binary("genway")
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "http")
	u := &unwritten{key: strings.TrimSpace(key), dir: dir, ended: make(chan error, 1)}
	u.client = &http.Client{Timeout: patience, Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	u.cmd = exec.Command(path, "serve", "--data", data, "--http", "unix:"+socket, "--grpc", "unix:"+filepath.Join(dir, "grpc"), "--metrics-listen", "unix:"+filepath.Join(dir, "core"), "--log-format", "json")
	u.cmd.Stderr = log
	u.cmd.Env = append([]string{"GENWAY_OVERLOAD_DELAY=-1ms"}, os.Environ()...)
	if err := u.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { u.ended <- u.cmd.Wait() }()
	t.Cleanup(func() { _ = u.cmd.Process.Kill() })
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); ; <-tick.C {
		if resp, err := u.client.Get("http://genway/readyz"); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return u
			}
		}
		if time.Now().After(deadline) {
			t.Fatal("the gateway does not get ready")
		}
	}
}

// ask makes requests, which all must be answered.
func (u *unwritten) ask(t *testing.T, n int) {
	t.Helper()
	for range n {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://genway/v1/chat/completions", strings.NewReader(`{"model":"sandbox-text","messages":[{"role":"user","content":"Hello."}]}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+u.key)
		resp, err := u.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%d %s %v", resp.StatusCode, body, err)
		}
	}
}

// end ends the gateway, properly.
func (u *unwritten) end(t *testing.T) {
	t.Helper()
	if err := u.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case err := <-u.ended:
		if err != nil {
			t.Errorf("the gateway ended: %v", err)
		}
	case <-late.C:
		t.Error("the gateway does not end")
	}
}

// lost is the metric of lines that are lost.
func (u *unwritten) lost(t *testing.T) float64 {
	t.Helper()
	r := &rig{dir: u.dir, moved: map[string]bool{}}
	all, _ := r.scrapeSide(t, "core")
	for _, s := range all {
		if s.name == "genway_log_lines_lost_total" {
			return s.value
		}
	}
	t.Error("genway_log_lines_lost is not in the scrape")
	return 0
}

// enough are requests whose lines are far more than a pipe holds.
const enough = 400

// logsUnread has gateways serve whose log nothing takes.
func logsUnread(t *testing.T, _ bases) {
	t.Run("nothing reads the pipe", func(t *testing.T) {
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer read.Close()
		u := startUnwritten(t, write)
		write.Close()
		u.ask(t, enough)
		if lost := u.lost(t); lost != 0 {
			t.Errorf("%v lines are lost that fit into memory", lost)
		}
		lines := make(chan int)
		go func() { lines <- requestLines(t, read) }()
		u.end(t)
		if n := <-lines; n != 2*enough {
			t.Errorf("%d lines of requests, want %d", n, 2*enough)
		}
	})
	t.Run("the pipe has no reader any more", func(t *testing.T) {
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		u := startUnwritten(t, write)
		write.Close()
		u.ask(t, 1)
		read.Close()
		u.ask(t, enough)
		if lost := u.lost(t); lost == 0 {
			t.Error("no line is counted as lost")
		}
		u.end(t)
	})
	t.Run("the disk is full", func(t *testing.T) {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer full.Close()
		u := startUnwritten(t, full)
		u.ask(t, enough)
		if lost := u.lost(t); lost == 0 {
			t.Error("no line is counted as lost")
		}
		u.end(t)
	})
}

// requestLines counts the lines of requests of a log until its end. Each line must be JSON.
func requestLines(t *testing.T, log io.Reader) int {
	t.Helper()
	n := 0
	for lines := bufio.NewScanner(log); lines.Scan(); {
		var line struct{ Msg, Path string }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Errorf("%v: %q", err, lines.Text())
		}
		if line.Msg == "call" || line.Path == "/v1/chat/completions" {
			n++
		}
	}
	return n
}
