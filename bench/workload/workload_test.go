package workload

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func body(t *testing.T, request []byte) []byte {
	t.Helper()
	_, body, found := bytes.Cut(request, []byte("\r\n\r\n"))
	if !found {
		t.Fatalf("no body: %s", request)
	}
	return body
}

// Every workload is a request of JSON, of about the size it says, the same each time.
func TestJobs(t *testing.T) {
	all := append(Main(), Pairs()...)
	all = append(all, Open("open", "", 10, 1e9), Pictures(3))
	for _, w := range all {
		job := w.Job("127.0.0.1:1", "key")
		got := body(t, job.Request)
		if !json.Valid(got) {
			t.Errorf("%s: no JSON: %.200s", w.Name, got)
		}
		if w.Caller != Images && (len(got) < w.Size*9/10 || len(got) > w.Size*13/10) {
			t.Errorf("%s: %d bytes, want about %d", w.Name, len(got), w.Size)
		}
		if !bytes.Equal(job.Request, w.Job("127.0.0.1:1", "key").Request) {
			t.Errorf("%s: another request the second time", w.Name)
		}
		if (job.Expect.Pieces > 0) != w.Stream || job.Expect.MinBytes == 0 {
			t.Errorf("%s expects %+v", w.Name, job.Expect)
		}
		if !bytes.Contains(job.Request, []byte("key")) {
			t.Errorf("%s has no key", w.Name)
		}
	}
}

// All pairs of text protocols are there, chat on chat ahead of all.
func TestPairs(t *testing.T) {
	seen := map[string]bool{}
	for i, w := range Pairs() {
		if (i == 0) != (w.Name == Chat1K().Name) {
			t.Errorf("%d: %s", i, w.Name)
		}
		seen[w.Name] = true
		request := string(w.Job("127.0.0.1:1", "key").Request)
		if w.Crosses() != strings.Contains(request, On(w.Served)) {
			t.Errorf("%s: %.300s", w.Name, request)
		}
	}
	if len(seen) != 16 {
		t.Errorf("%d pairs", len(seen))
	}
}
