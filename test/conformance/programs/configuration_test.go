package programs

import (
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/genway/genway/test/conformance/caller"
	"github.com/genway/genway/test/conformance/server"
	"github.com/genway/genway/test/conformance/vendors"
)

// halfConfigurations has the configuration read cut off at each of its braces, under load;
// then it sends bodies around the limit of their size.
func halfConfigurations(t *testing.T, on stores) {
	on.each(t, func(t *testing.T, data string) {
		r := start(t, server.Options{Data: data, Args: []string{"--max-body-bytes", "100000"}}, "")
		text, err := os.ReadFile(r.file)
		if err != nil {
			t.Fatal(err)
		}
		var stop atomic.Bool
		var wait sync.WaitGroup
		var served atomic.Int64
		for range 4 {
			wait.Go(func() {
				for !stop.Load() {
					n := int(served.Add(1))
					seen, err := r.client.Do(t.Context(), caller.Call{Protocol: "messages", Stream: n%2 == 0, Model: vendors.Model(vendors.Answer, "drain-chat", n), Key: r.Keys["messages"]})
					if err != nil || !seen.Whole || r.vendors.Answered(n).Calls == 0 {
						t.Errorf("%+v, %v; did the upstream answer?", seen, err)
						return
					}
				}
			})
		}
		for i, c := range string(text) {
			if c != '{' {
				continue
			}
			// Cut where no end of a file can be: another place may make a smaller, good one.
			write(t, r.file+".half", string(text[:i+1]))
			if err := os.Rename(r.file+".half", r.file); err != nil {
				t.Fatal(err)
			}
			if err := r.Core.Signal(syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
			for until := served.Load() + 8; served.Load() < until && !t.Failed(); {
				r.status(t, r.Keys["chat"])
			}
		}
		stop.Store(true)
		wait.Wait()
		for _, c := range []struct{ size, status int }{{99_000, http.StatusOK}, {101_000, http.StatusRequestEntityTooLarge}} {
			for _, protocol := range caller.Text() {
				seen := r.call(t, caller.Call{Protocol: protocol, Model: vendors.Model(vendors.Answer, "cancel-own", 1_000_000), Prompt: strings.Repeat("a", c.size-500)})
				if seen.Status != c.status || c.status != http.StatusOK && !strings.Contains(seen.Body, "100000") {
					t.Errorf("%s, %d bytes: %d %s", protocol, c.size, seen.Status, seen.Body)
				}
			}
		}
	})
}
