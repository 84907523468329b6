package lifecycle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/server"
	"mvdan.cc/sh/v3/shell"
)

// run runs a command that is expected to fail, and returns its exit code and output.
func run(t *testing.T, name string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	path, err := server.Binary(name)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	var out, diagnostics bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &diagnostics
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), diagnostics.String()
}

func TestStartsThatFailSayWhyInOneLine(t *testing.T) {
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	free := "127.0.0.1:0"
	for _, c := range []struct {
		name string
		code int
		says string
		args []string
	}{
		{"HTTP port taken", 1, "taken by another process", []string{"serve", "--data", data, "--http", taken.Addr().String(), "--grpc", free}},
		{"gRPC port taken", 1, "taken by another process", []string{"serve", "--data", data, "--http", free, "--grpc", taken.Addr().String()}},
		{"data is a file", 1, file, []string{"serve", "--data", filepath.Join(file, "x"), "--http", free, "--grpc", free}},
		{"no such flag", 2, "--htp", []string{"serve", "--htp", free}},
		{"no such command", 2, "serv", []string{"serv"}},
		{"no address", 2, "expected host:port", []string{"serve", "--data", data, "--http", "nonsense", "--grpc", free}},
		{"no such group", 2, "generatecontent", []string{"keys", "create", "--data", data, "--group", "everyone"}},
		{"no such key", 1, "no such key", []string{"keys", "revoke", "--data", data, "key_nothing"}},
		{"no secret file", 2, "edge-secret-file", []string{"serve", "--edge-secret-file", filepath.Join(data, "none")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, _, stderr := run(t, "genway", c.args...)
			lines := strings.Split(strings.TrimSpace(stderr), "\n")
			if code != c.code || !strings.Contains(lines[len(lines)-1], c.says) || len(lines) > 1 {
				t.Errorf("exit %d: %s", code, stderr)
			}
		})
	}
}

func TestHelp(t *testing.T) {
	for _, name := range []string{"genway", "genway-core", "genway-edge"} {
		code, stdout, stderr := run(t, name, "--help")
		if code != 0 || !strings.Contains(stdout, "Usage: "+name) || stderr != "" {
			t.Errorf("%s: exit %d, %s%s", name, code, stdout, stderr)
		}
	}
}

// The first start prints a key a group and lines that work as they stand; later
// starts print no key.
func TestFirstStart(t *testing.T) {
	data := t.TempDir()
	first := start(t, data, "--first-keys=print")
	blocks := strings.Split(first.welcome, "\n\n")
	worked := 0
	for _, block := range blocks {
		if !strings.HasPrefix(block, "curl ") {
			continue
		}
		fields, err := shell.Fields(block, nil)
		if err != nil {
			t.Fatal(err)
		}
		if status, body := curl(t, fields); status != http.StatusOK {
			t.Errorf("%s\ngets %d %s", block, status, body)
		}
		worked++
	}
	if worked != 6 || !strings.Contains(first.welcome, "grpcurl -plaintext") {
		t.Errorf("%d of the six lines were printed:\n%s", worked, first.welcome)
	}
	first.stop(t)
	second := start(t, data)
	if strings.Contains(second.welcome, "gwk_") || !strings.Contains(second.welcome, "genway keys create") {
		t.Errorf("the second start prints\n%s", second.welcome)
	}
	second.stop(t)
}

// Without a terminal, the first start writes keys into a file that only its user can read, and
// prints lines that work with it. No key is in what it prints or logs, and no file is ever
// overwritten.
func TestFirstKeysInAFile(t *testing.T) {
	data := t.TempDir()
	older := filepath.Join(data, "first-keys")
	if err := os.WriteFile(older, []byte("of another store"), 0o600); err != nil {
		t.Fatal(err)
	}
	first := start(t, data)
	file := older + "-2"
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v\n%s", info, err, first.welcome)
	}
	// A shell reads it, for the lines that are printed and for SDKs.
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `. "$0" && env`, file)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	variables, exported := map[string]string{}, 0
	for line := range strings.Lines(string(out)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if variables[name] = value; strings.HasSuffix(name, "_KEY") && !strings.HasSuffix(name, "_API_KEY") {
			exported++
		}
	}
	base := variables["BASE"]
	for name, want := range map[string]string{
		"OPENAI_BASE_URL": base + "/v1", "OPENAI_API_KEY": variables["CHAT_KEY"],
		"ANTHROPIC_BASE_URL": base, "ANTHROPIC_API_KEY": variables["MESSAGES_KEY"],
		"GOOGLE_GEMINI_BASE_URL": base, "GEMINI_API_KEY": variables["GENERATECONTENT_KEY"],
	} {
		if variables[name] != want || !strings.HasPrefix(base, "http://127.0.0.1:") {
			t.Errorf("%s is %q, want %q", name, variables[name], want)
		}
	}
	if !slices.ContainsFunc(first.logged, func(m string) bool { return strings.HasPrefix(m, "the store has no keys though") }) {
		t.Errorf("the log does not warn that the store of earlier keys may be lost: %q", first.logged)
	}
	if strings.Contains(first.welcome, "gwk_") || !strings.Contains(first.welcome, ". "+file+"\n") || exported != 4 {
		t.Errorf("%d keys are in the file, and printed is\n%s", exported, first.welcome)
	}
	worked := 0
	for block := range strings.SplitSeq(first.welcome, "\n\n") {
		if !strings.HasPrefix(block, "curl ") {
			continue
		}
		fields, err := shell.Fields(block, func(name string) string { return variables[name] })
		if err != nil {
			t.Fatal(err)
		}
		if status, body := curl(t, fields); status != http.StatusOK {
			t.Errorf("%s\ngets %d %s", block, status, body)
		}
		worked++
	}
	if worked != 6 {
		t.Errorf("%d of the six lines were printed:\n%s", worked, first.welcome)
	}
	first.stop(t)
	second := start(t, data)
	second.stop(t)
	if kept, err := os.ReadFile(older); err != nil || string(kept) != "of another store" {
		t.Errorf("%q, %v", kept, err)
	}
	if list, err := filepath.Glob(older + "*"); err != nil || len(list) != 2 || strings.Contains(second.welcome, "gwk_") {
		t.Errorf("%v, %v\n%s", list, err, second.welcome)
	}
	if code, _, stderr := run(t, "genway", "serve", "--http=127.0.0.1:0", "--grpc=127.0.0.1:0", "--first-keys=paper"); code != 2 || !strings.Contains(stderr, "--first-keys must be one of") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// The first start with a configuration prints lines for models that its routes have, which
// work as they stand, and none where only globs are known.
func TestFirstStartWithConfiguration(t *testing.T) {
	for name, c := range map[string]struct {
		config string
		flags  []string
		lines  int
		says   []string
		not    []string
	}{
		"names": {"routes: [{model: house-text, targets: [{upstream: sandbox, model: sandbox-text}]}, {model: house-pictures, targets: [{upstream: sandbox, model: sandbox-image}]}]\n",
			nil, 6, []string{`"model":"house-text"`, `"model":"house-pictures"`, "gwk_"}, []string{"sandbox"}},
		"one protocol": {"upstreams: {u: {kind: chat, base_url: 'http://127.0.0.1:1/v1'}}\nroutes: [{model: only-chat, protocols: [chat], targets: [{upstream: u}]}]\n",
			nil, 0, []string{"/v1/chat/completions", "only-chat", "gwk_"}, []string{"sandbox", "/v1/messages", "/v1/images", "grpcurl"}},
		"globs": {"upstreams: {u: {kind: chat, base_url: 'http://127.0.0.1:1/v1'}}\nroutes: [{model: '*', targets: [{upstream: u}]}]\n",
			nil, 0, []string{"gwk_", "More keys: genway keys create"}, []string{"curl", "Try them", "sandbox"}},
		"no keys": {"routes: [{model: house-text, targets: [{upstream: sandbox, model: sandbox-text}]}]\n",
			[]string{"--first-keys=none"}, 0, []string{"genway keys create"}, []string{"gwk_", "Try them"}},
	} {
		t.Run(name, func(t *testing.T) {
			data := t.TempDir()
			file := filepath.Join(data, "genway.yaml")
			if err := os.WriteFile(file, []byte(c.config), 0o600); err != nil {
				t.Fatal(err)
			}
			first := start(t, data, append([]string{"--first-keys=print", "--config", file}, c.flags...)...)
			defer first.stop(t)
			for _, want := range c.says {
				if !strings.Contains(first.welcome, want) {
					t.Errorf("no %q in\n%s", want, first.welcome)
				}
			}
			for _, not := range c.not {
				if strings.Contains(first.welcome, not) {
					t.Errorf("%q is in\n%s", not, first.welcome)
				}
			}
			worked := 0
			for block := range strings.SplitSeq(first.welcome, "\n\n") {
				if c.lines == 0 || !strings.HasPrefix(block, "curl ") {
					continue
				}
				fields, err := shell.Fields(block, nil)
				if err != nil {
					t.Fatal(err)
				}
				if status, body := curl(t, fields); status != http.StatusOK {
					t.Errorf("%s\ngets %d %s", block, status, body)
				}
				worked++
			}
			if worked != c.lines {
				t.Errorf("%d lines, want %d:\n%s", worked, c.lines, first.welcome)
			}
		})
	}
}

// A key that is made or revoked while the server runs counts soon: how soon is measured.
func TestKeysTakeEffectWhileServing(t *testing.T) {
	output, err := server.Output("genway", "keys", "create", "--data", gateway.Data, "--group", "chat", "--name", "late")
	if err != nil {
		t.Fatal(err)
	}
	key := strings.TrimSpace(output)
	made := time.Now()
	for chat(t, key) != http.StatusOK {
		if time.Since(made) > time.Minute {
			t.Fatal("a new key is refused after a minute")
		}
	}
	t.Logf("the new key is good %v after it was made", time.Since(made).Round(time.Millisecond))
	if _, err := server.Output("genway", "keys", "revoke", "--data", gateway.Data, "late"); err != nil {
		t.Fatal(err)
	}
	revoked := time.Now()
	for chat(t, key) != http.StatusUnauthorized {
		if time.Since(revoked) > time.Minute {
			t.Fatal("a revoked key is good after a minute")
		}
	}
	t.Logf("the key is refused %v after it was revoked", time.Since(revoked).Round(time.Millisecond))
	list, err := server.Output("genway", "keys", "list", "--data", gateway.Data)
	if err != nil || strings.Contains(list, key) || !strings.Contains(list, "late") || !strings.Contains(list, "revoked") {
		t.Errorf("%v\n%s", err, list)
	}
}

func chat(t *testing.T, key string) int {
	t.Helper()
	status, _ := curl(t, []string{"curl", gateway.URL() + "/v1/chat/completions", "-H", "Authorization: Bearer " + key,
		"-d", `{"model":"sandbox-text","messages":[{"role":"user","content":"a"}]}`})
	return status
}

// curl does what the curl command of these words does.
func curl(t *testing.T, words []string) (int, []byte) {
	t.Helper()
	var url, body string
	header := http.Header{}
	for i := 1; i < len(words); i++ {
		switch words[i] {
		case "-H":
			i++
			name, value, _ := strings.Cut(words[i], ":")
			header.Add(name, strings.TrimSpace(value))
		case "-d":
			i++
			body = words[i]
		default:
			url = words[i]
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, answer
}

// started is a server whose standard output the test reads.
type started struct {
	cmd     *exec.Cmd
	welcome string
	logged  []string // the messages until it is up
}

func start(t *testing.T, data string, flags ...string) *started {
	t.Helper()
	path, err := server.Binary("genway")
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"serve", "--data", data, "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--log-format", "json"}, flags...)
	s := &started{cmd: exec.Command(path, args...)}
	out, err := os.Create(filepath.Join(t.TempDir(), "stdout"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	s.cmd.Stdout = out
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	// The line in the log comes after the welcome.
	decoder := json.NewDecoder(stderr)
	for {
		var line struct{ Msg string }
		if err := decoder.Decode(&line); err != nil {
			t.Fatal(err)
		}
		s.logged = append(s.logged, line.Msg)
		if line.Msg == "genway is up" {
			break
		}
	}
	go func() { _, _ = io.Copy(io.Discard, io.MultiReader(decoder.Buffered(), stderr)) }()
	welcome, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	s.welcome = string(welcome)
	return s
}

// stop ends the server as Ctrl-C does.
func (s *started) stop(t *testing.T) {
	t.Helper()
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("ended with %v", err)
	}
}
