package programs

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/server"
)

// The numbers of hand-written files that a request and an event run through at most. They only go
// down; the aims are 110 and 20.
const (
	maxFilesOfRequest = 110
	maxFilesOfEvent   = 25
)

// TestPath counts the files that a chat request to a chat upstream runs through, and one translated
// event of a stream of a messages caller, in one process. It serves some of them and some more with a
// program that counts what it executes: a statement of the path is one that ran for each that was added.
// -v prints the files.
func TestPath(t *testing.T) {
	program := counting(t)
	const few, many = 5, 105
	path := func(t *testing.T, serve func(t *testing.T, p *pathServer, n int)) []string {
		t.Helper()
		before := executed(t, program, func(p *pathServer) { serve(t, p, few) })
		after := executed(t, program, func(p *pathServer) { serve(t, p, many) })
		var files []string
		for block, n := range after {
			file, _, _ := strings.Cut(block, ":")
			if n-before[block] >= many-few && !slices.Contains(files, file) {
				files = append(files, file)
			}
		}
		slices.Sort(files)
		t.Logf("%d files:\n%s", len(files), strings.Join(files, "\n"))
		return files
	}
	t.Run("chat request", func(t *testing.T) {
		files := path(t, func(t *testing.T, p *pathServer, n int) {
			for range n {
				p.ask(t, "chat", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hi"}]}`)
			}
		})
		if len(files) > maxFilesOfRequest {
			t.Errorf("it runs through %d files, more than %d", len(files), maxFilesOfRequest)
		}
	})
	t.Run("translated event", func(t *testing.T) {
		files := path(t, func(t *testing.T, p *pathServer, n int) {
			p.ask(t, "messages", "/v1/messages", fmt.Sprintf(`{"model":"%d","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"hi"}]}`, n))
		})
		if len(files) > maxFilesOfEvent {
			t.Errorf("it runs through %d files, more than %d", len(files), maxFilesOfEvent)
		}
	})
}

// counting builds genway to count how often each statement of what serves requests runs.
func counting(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "genway")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-tags=grpcnotrace", "-cover", "-covermode=count",
		"-coverpkg=./cmd/...,./codec/...,./core/...,./gateway/...,./internal/...,./protocol/...,./telemetry/...", "-o", program, "./cmd/genway")
	cmd.Dir, cmd.Env = filepath.Join("..", "..", ".."), append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// pathServer is a gateway, and a chat upstream that writes each event of a stream when the
// caller has read the one before.
type pathServer struct {
	url  string
	keys map[string]string // by group
	read chan struct{}
}

// executed serves with the program and returns how often each block of it ran.
func executed(t *testing.T, program string, serve func(*pathServer)) map[string]int {
	t.Helper()
	p := &pathServer{keys: map[string]string{}, read: make(chan struct{})}
	upstream := httptest.NewServer(p)
	defer upstream.Close()
	data, counters := t.TempDir(), t.TempDir()
	file := filepath.Join(data, "genway.yaml")
	write(t, file, fmt.Sprintf("upstreams: {u: {kind: chat, base_url: %q, api_key: k}}\nroutes: [{model: '*', targets: [{upstream: u}]}]\n", upstream.URL))
	var err error
	for _, group := range []string{"chat", "messages"} {
		if p.keys[group], err = server.CreateKey(data, group, group); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOCOVERDIR", counters)
	process, err := server.StartProgram("genway", program, append([]string{"serve", "--config", file, "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--log-format", "json"}, server.At(data)...)...)
	if err != nil {
		t.Fatal(err)
	}
	up, err := process.Await("genway is up")
	if err != nil {
		process.Kill()
		t.Fatal(err)
	}
	p.url = "http://" + up["http"]
	serve(p)
	if err := process.Stop(); err != nil {
		t.Fatal(err)
	}
	text := filepath.Join(counters, "text")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "go", "tool", "covdata", "textfmt", "-i="+counters, "-o="+text).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	raw, err := os.ReadFile(text)
	if err != nil {
		t.Fatal(err)
	}
	blocks := map[string]int{}
	for line := range strings.Lines(string(raw)) {
		block, numbers, ok := strings.Cut(strings.TrimSpace(line), " ")
		_, n, counted := strings.Cut(numbers, " ")
		if !ok || !counted || strings.Contains(block, "/gen/") || generatedFile.MatchString(block) {
			continue
		}
		runs, err := strconv.Atoi(n)
		if err != nil {
			t.Fatal(err)
		}
		blocks[strings.TrimPrefix(block, "github.com/genway/genway/")] += runs
	}
	return blocks
}

// generatedFile matches the names of files that no one writes by hand.
var generatedFile = regexp.MustCompile(`/zz_[a-z_]*\.go:|\.pb(\.gw)?\.go:`)

// ask sends a request and reads its answer whole.
func (p *pathServer) ask(t *testing.T, group, path, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+p.keys[group])
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	for {
		line, err := lines.ReadString('\n')
		if strings.Contains(line, `"text_delta"`) {
			select {
			case p.read <- struct{}{}:
			case <-t.Context().Done():
			}
		}
		if err == io.EOF && resp.StatusCode == http.StatusOK {
			return
		}
		if err != nil {
			t.Fatalf("%s: %v, %s", resp.Status, err, line)
		}
	}
}

// ServeHTTP answers as the upstream. The name of the model is the number of events of a stream.
func (p *pathServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Model  string
		Stream bool
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	const head = `{"id":"c","created":1,"model":"m",`
	if !asked.Stream {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, head+`"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	event := func(rest string) {
		_, _ = io.WriteString(w, "data: "+head+`"object":"chat.completion.chunk",`+rest+"}\n\n")
		_ = http.NewResponseController(w).Flush()
	}
	n, _ := strconv.Atoi(asked.Model)
	for range n {
		event(`"choices":[{"index":0,"delta":{"content":"word "},"finish_reason":null}]`)
		select {
		case <-p.read:
		case <-r.Context().Done():
			return
		}
	}
	event(`"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]`)
	event(`"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}`)
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}
