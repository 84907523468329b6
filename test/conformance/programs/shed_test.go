package programs

import (
	"context"
	"encoding/json"
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

// shedding are the forms of a gateway, with flags for all programs.
func shedding(flags ...string) map[string]server.Options {
	return map[string]server.Options{
		"one process":   {Args: flags, Cleartext: true},
		"two processes": {Args: flags, EdgeArgs: flags, TwoProcess: true, Cleartext: true},
	}
}

// nativeRefusals has programs refuse everything: their memory is full from the beginning.
func nativeRefusals(t *testing.T, _ stores) {
	for name, options := range shedding("--overload-memory", "1") {
		t.Run(name, func(t *testing.T) {
			s := server.Start(t, options)
			client, err := caller.New(s.URL(), s.GRPC)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			begun := time.Now()
			for _, protocol := range protocols() {
				for _, stream := range []bool{false, true} {
					for range 10 {
						got, err := client.Do(t.Context(), caller.Call{Protocol: protocol, Stream: stream, Model: "sandbox-text", Key: s.Keys[caller.Group(protocol)]})
						if err != nil {
							t.Fatal(err)
						}
						shedNatively(t, fmt.Sprintf("%s, streamed %t", protocol, stream), protocol, got)
					}
				}
			}
			status, body := (&rig{Server: s}).post(t, way{"chat", "/v1/images/generations", `{"model":"%s","prompt":"a red square"}`}, "sandbox-image", s.Keys["chat"])
			if status != http.StatusServiceUnavailable || !strings.Contains(body, "more requests than it can serve") {
				t.Errorf("images: %d %s", status, body)
			}
			seconds := int(time.Since(begun)/time.Second) + 2
			for _, p := range slices.Compact([]*server.Process{s.Core, s.Edge}) {
				if lines := strings.Count(p.Log(), "requests are refused"); lines > seconds || strings.Contains(p.Log(), "sandbox-text") {
					t.Errorf("%d lines in %d s:\n%s", lines, seconds, p.Log())
				}
			}
		})
	}
}

// shedNatively demands the native refusal of a protocol.
func shedNatively(t *testing.T, what, protocol string, got caller.Seen) {
	t.Helper()
	if protocol == "grpc" {
		if got.Status == http.StatusOK || !strings.Contains(got.Body, "Unavailable") {
			t.Errorf("%s: %+v", what, got)
		}
		return
	}
	want := http.StatusServiceUnavailable
	if protocol == "messages" {
		want = 529
	}
	if got.Status != want || !json.Valid([]byte(got.Body)) || got.Header.Get("Retry-After") == "" || got.Header.Get("X-Request-ID") == "" {
		t.Errorf("%s: %d %v %s", what, got.Status, got.Header, got.Body)
	}
}

// batchFirst fills four fifths of the memory for bodies with uploads that do not end, from
// two addresses with a key each.
func batchFirst(t *testing.T, _ stores) {
	data := t.TempDir()
	made := map[string]string{}
	for name, flags := range map[string][]string{"first": nil, "second": nil, "batch": {"--priority", "batch"}} {
		key, err := server.CreateKey(data, "chat", name, flags...)
		if err != nil {
			t.Fatal(err)
		}
		made[name] = key
	}
	s := server.Start(t, server.Options{Data: data, Args: []string{"--max-body-bytes", "1048576", "--body-memory", "4194304"}, Cleartext: true})
	client, err := caller.New(s.URL(), s.GRPC)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ask := func(protocol, key string) caller.Seen {
		got, err := client.Do(t.Context(), caller.Call{Protocol: protocol, Model: "sandbox-text", Key: key})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	for _, protocol := range []string{"chat", "responses"} {
		if got := ask(protocol, made["batch"]); !got.Whole {
			t.Fatalf("%s, ahead of the uploads: %+v", protocol, got)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	var uploads sync.WaitGroup
	defer uploads.Wait()
	defer stop()
	for from, key := range map[string]string{"127.0.0.2": made["first"], "127.0.0.3": made["second"]} {
		for range 2 {
			uploads.Go(func() { upload(ctx, t, s.HTTP, from, key) })
		}
	}
	until(t, "batch requests are refused", func() bool { return !ask("chat", made["batch"]).Whole })
	for range 20 {
		for _, protocol := range []string{"chat", "responses"} {
			shedNatively(t, protocol, protocol, ask(protocol, made["batch"]))
		}
		for _, protocol := range protocols() {
			if got := ask(protocol, s.Keys[caller.Group(protocol)]); !got.Whole {
				t.Errorf("%s with an interactive key: %+v", protocol, got)
			}
		}
	}
	stop()
	until(t, "batch requests are served again", func() bool { return ask("chat", made["batch"]).Whole })
}

// upload sends most of a large body, and then a little at a time until ctx ends.
func upload(ctx context.Context, t *testing.T, address, from, key string) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		t.Error(err)
		return
	}
	defer c.Close()
	const size = 900 << 10
	if _, err = fmt.Fprintf(c, "POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", key, size, strings.Repeat(" ", size/2)); err != nil {
		t.Error(err)
		return
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		if _, err := io.WriteString(c, strings.Repeat(" ", 1<<10)); err != nil {
			t.Error(err)
			return
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// until waits for something to come true, for a minute.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for limit := time.Now().Add(time.Minute); !is(); <-tick.C {
		if time.Now().After(limit) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}
