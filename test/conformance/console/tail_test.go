package console_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/server"
)

// viewers is how many follow the live tail at once.
const viewers = 200

// Case X74: many viewers of the live tail, beside load, see each request once, and no request is refused.
func TestManyViewers(t *testing.T) {
	s := start(t)
	admin := s.signIn(t)
	warm, counted := s.key(t, "warm"), s.key(t, "counted")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	watching, warmed, complete := make(chan struct{}, viewers), make(chan struct{}, viewers), make(chan struct{}, viewers)
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	const requests = 300
	for range viewers {
		group.Go(func() {
			if err := s.watch(ctx, admin, "counted", requests, watching, warmed, complete); err != nil && ctx.Err() == nil {
				t.Error(err)
				stop()
			}
		})
	}
	limit := time.After(10 * time.Minute) // for a machine that is busy
	await := func(what string, each <-chan struct{}) {
		t.Helper()
		for n := range viewers {
			select {
			case <-each:
			case <-ctx.Done():
				t.FailNow()
			case <-limit:
				t.Fatalf("%s: %d of %d", what, n, viewers)
			}
		}
	}
	await("watching", watching)
	// The tail begins with the ledger as it is at its first read.
	for len(warmed) < viewers && ctx.Err() == nil {
		if code := s.ask(t, warm, hello); code != http.StatusOK {
			t.Fatalf("beside %d viewers: %d", viewers, code)
		}
	}
	var asking sync.WaitGroup
	for range 8 {
		asking.Go(func() {
			for range requests / 8 {
				if code := s.ask(t, counted, hello); code != http.StatusOK {
					t.Errorf("beside %d viewers: %d", viewers, code)
				}
			}
		})
	}
	asking.Wait()
	for range requests % 8 {
		s.ask(t, counted, hello)
	}
	await("all requests were seen", complete)
}

// watch follows the live tail until it has seen all requests of the key of that name, each once.
func (s started) watch(ctx context.Context, session *http.Client, key string, all int, watching, warmed, complete chan<- struct{}) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.console+"/requests/live", http.NoBody)
	if err != nil {
		return err
	}
	resp, err := session.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the live tail: %d", resp.StatusCode)
	}
	watching <- struct{}{}
	seen, first := map[string]bool{}, true
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var event struct {
			Rows []struct {
				ID    string
				Cells []string
			}
			Dropped int64
		}
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			return err
		}
		if event.Dropped != 0 {
			return fmt.Errorf("a viewer that reads has missed %d requests", event.Dropped)
		}
		if first {
			first = false
			warmed <- struct{}{}
		}
		for _, row := range event.Rows {
			if row.Cells[len(row.Cells)-1] != key {
				continue
			}
			if seen[row.ID] {
				return fmt.Errorf("request %s is there twice", row.ID)
			}
			seen[row.ID] = true
		}
		if len(seen) == all {
			complete <- struct{}{}
			return nil
		}
	}
	return fmt.Errorf("the live tail ended after %d of %d requests: %w", len(seen), all, lines.Err())
}

// signIn returns a client that is signed in.
func (s started) signIn(t *testing.T) *http.Client {
	t.Helper()
	_, key, ok := strings.Cut(s.link, "#")
	if !ok {
		t.Fatal(s.link)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: viewers}
	t.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: secure{transport, jar}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.console+"/sign-in", strings.NewReader(url.Values{"key": {key}}.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusSeeOther {
		t.Fatalf("sign-in: %d", resp.StatusCode)
	}
	return client
}

// secure keeps Secure cookies of a plain connection to this machine, as browsers do.
type secure struct {
	http.RoundTripper

	jar http.CookieJar
}

func (s secure) RoundTrip(r *http.Request) (*http.Response, error) {
	at := *r.URL
	at.Scheme = "https"
	for _, c := range s.jar.Cookies(&at) {
		r.AddCookie(c)
	}
	resp, err := s.RoundTripper.RoundTrip(r)
	if err == nil {
		s.jar.SetCookies(&at, resp.Cookies())
	}
	return resp, err
}

// key makes a key at the command line.
func (s started) key(t *testing.T, name string) string {
	t.Helper()
	raw, err := server.Output("genway", "keys", "create", "--group", "chat", "--name", name, "--data", s.data)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(raw)
}
