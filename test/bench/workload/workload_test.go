package workload

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

var recipient = Recipient{Address: "127.0.0.1:1", Key: "key"}

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
	all := append(append(Main(), Pairs()...), StreamPairs()...)
	all = append(all, OpenStreams(10), Pictures(3))
	for _, w := range all {
		job := w.Job(recipient)
		got := body(t, job.Request)
		if !json.Valid(got) {
			t.Errorf("%s: no JSON: %.200s", w.Name, got)
		}
		if w.Caller != Images && (len(got) < w.Size*9/10 || len(got) > w.Size*13/10) {
			t.Errorf("%s: %d bytes, want about %d", w.Name, len(got), w.Size)
		}
		if !bytes.Equal(job.Request, w.Job(recipient).Request) {
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

// All pairs of text protocols are there, chat on chat before all.
func TestPairs(t *testing.T) {
	for base, pairs := range map[string][]Workload{Chat1K().Name: Pairs(), ChatStream().Name: StreamPairs()} {
		seen := map[string]bool{}
		for i, w := range pairs {
			if (i == 0) != (w.Name == base) || w.Stream != (base == "stream") {
				t.Errorf("%d: %s", i, w.Name)
			}
			seen[w.Name] = true
			request := string(w.Job(recipient).Request)
			if w.Crosses() != strings.Contains(request, On(w.Served)) {
				t.Errorf("%s: %.300s", w.Name, request)
			}
		}
		if len(seen) != 16 {
			t.Errorf("%d pairs", len(seen))
		}
	}
}

// A peer is asked for its own names, by its own headers.
func TestRecipient(t *testing.T) {
	to := Recipient{Address: "127.0.0.1:1", Headers: map[string]string{"Authorization": "Bearer peer"}, Model: "own/model", Models: map[string]string{"chat": "own/chat"}}
	w := Pairs()[8] // messages → chat
	if w.Caller != Messages || w.Served != Chat {
		t.Fatal(w.Name)
	}
	crossed, own := string(w.Job(to).Request), string(Chat1K().Job(to).Request)
	if !strings.Contains(crossed, `"model":"own/chat"`) || !strings.Contains(crossed, "anthropic-version: ") || !strings.Contains(crossed, "\r\nAuthorization: Bearer peer\r\n") || strings.Contains(crossed, "x-api-key") {
		t.Errorf("%.300s", crossed)
	}
	if !strings.Contains(own, `"model":"own/model"`) || strings.Count(own, "Authorization") != 1 {
		t.Errorf("%.300s", own)
	}
}
