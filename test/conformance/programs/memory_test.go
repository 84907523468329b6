package programs

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/genway/genway/test/conformance/caller"
	"github.com/genway/genway/test/conformance/server"
	"github.com/genway/genway/test/conformance/vendors"
)

// resident returns what a process has in memory now, and what it had at most, in MiB.
func resident(t *testing.T, p *server.Process) (now, most int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	if err != nil {
		t.Fatal(err)
	}
	figure := func(name string) int {
		_, rest, _ := strings.Cut(string(text), name+":")
		fields := strings.Fields(rest)
		n, err := strconv.Atoi(fields[0])
		if err != nil {
			t.Fatal(err)
		}
		return n / 1024
	}
	return figure("VmRSS"), figure("VmHWM")
}

// images is how many images a run has: 16, or as many as GENWAY_CASES_IMAGES says.
func images(t *testing.T) int {
	t.Helper()
	text := os.Getenv("GENWAY_CASES_IMAGES")
	if text == "" {
		return 16
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 8 {
		t.Fatalf("GENWAY_CASES_IMAGES: %q is no number from 8 on", text)
	}
	return n
}

const (
	// roof is the limit of memory that the programs are given, as operators do by GOMEMLIMIT.
	// Two images at once need half of it.
	roof = 400
	// above is what a process may have beyond that: its code, stacks, and what the
	// collector has not got to yet.
	above = 200
)

// flatMemory sends images and has others drawn, two at once, to programs that are to stay
// below a roof: if they kept anything of them, they could not.
func flatMemory(t *testing.T, _ stores) {
	t.Setenv("GOMEMLIMIT", fmt.Sprintf("%dMiB", roof))
	count := images(t)
	for name, options := range map[string]server.Options{"one process": {}, "two processes": {TwoProcess: true}} {
		t.Run(name, func(t *testing.T) {
			r := start(t, options, "")
			var next atomic.Int64
			var wait sync.WaitGroup
			for range 2 {
				wait.Go(func() {
					for n := int(next.Add(1)); n <= count; n = int(next.Add(1)) {
						r.image(t, n)
					}
				})
			}
			wait.Wait()
			for name, p := range map[string]*server.Process{"core": r.Core, "edge": r.Edge} {
				now, most := resident(t, p)
				t.Logf("%s, %d images of 20 MB: %d MiB now, %d MiB at most", name, count, now, most)
				if most > roof+above {
					t.Errorf("the %s has had %d MiB", name, most)
				}
			}
			if got := r.call(t, caller.Call{Protocol: "chat", Model: vendors.Model(vendors.Answer, "cancel-own", count+1)}); !got.Whole {
				t.Errorf("afterwards: %+v", got)
			}
		})
	}
}

// picture is a message with an image of 20 MB.
var picture = `[{"role":"user","content":[{"type":"text","text":"What is it?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,` +
	strings.Repeat("iVBORw0KGgoA", vendors.ImageBytes*4/3/12) + `"}}]}]`

// image sends the n-th image, to an upstream of the caller's protocol or of another, or
// has it drawn.
func (r *rig) image(t *testing.T, n int) {
	t.Helper()
	w, model := way{"chat", "/v1/images/generations", `{"model":"%s","prompt":"Nothing."}`}, vendors.Model(vendors.Answer, "image", n)
	if n%2 == 0 {
		w.path, w.body = "/v1/chat/completions", `{"model":"%s","messages":`+picture+`}`
		model = vendors.Model(vendors.Answer, "cancel-"+[]string{"own", "messages"}[n/2%2], n)
	}
	if status, body := r.post(t, w, model, r.Keys["chat"]); status != http.StatusOK {
		t.Errorf("image %d: %d %.300s", n, status, body)
	}
}
