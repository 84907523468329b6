package console_test

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/genway/genway/test/conformance/server"
)

// started is a server that has just started for the first time.
type started struct {
	http, console string
	// link signs in, once.
	link string
	data string
}

func start(t *testing.T, flags ...string) started {
	t.Helper()
	s := started{data: t.TempDir()}
	p, err := server.StartProcess("genway", append([]string{"serve", "--data", s.data, "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--console", "127.0.0.1:0", "--log-format", "json"}, flags...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	up, err := p.Await("genway is up")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := p.Await("the console is up")
	if err != nil {
		t.Fatal(err)
	}
	s.http, s.console = "http://"+up["http"], pages["console"]
	file := filepath.Join(s.data, "first-keys")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file of first keys: %v %v", info.Mode(), err)
	}
	if s.link = regexp.MustCompile(regexp.QuoteMeta(s.console) + `/sign-in#gwk_\w+`).FindString(string(text)); s.link == "" {
		t.Fatal("there is no link in the file of first keys")
	}
	return s
}

// ask makes a chat completion, and returns the status.
func (s started) ask(t *testing.T, key, body string) int {
	t.Helper()
	code, _ := s.asked(t, key, body)
	return code
}

// asked is ask, which returns what is lost as well.
func (s started) asked(t *testing.T, key, body string) (code int, lost string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.http+"/v1/chat/completions", bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode, resp.Header.Get("X-Genway-Lost")
}

// anotherLink makes a link at the command line.
func (s started) anotherLink(t *testing.T) string {
	t.Helper()
	link, err := server.Output("genway", "console", "link", "--data", s.data, "--url", s.console)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(link)
}
