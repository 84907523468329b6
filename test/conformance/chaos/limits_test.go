package chaos

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/caller"
	"github.com/genway/genway/test/conformance/rows"
	"github.com/genway/genway/test/conformance/server"
	"github.com/genway/genway/test/conformance/vendors"
)

// atOnce is how many requests a limited key may have under way.
const atOnce = callers + 4

// limitedKeys makes keys of all groups that have a limit and a budget of every kind,
// each above what the load needs.
func limitedKeys(t *testing.T, data string) map[string]string {
	t.Helper()
	keys := map[string]string{}
	for _, group := range server.Groups() {
		key, err := server.CreateKey(data, group, "limited-"+group, "--owner", "chaos", "--concurrent", strconv.Itoa(atOnce),
			"--requests-per-minute", "100000000", "--tokens-per-minute", "1000000000", "--budget-day", "1000000", "--budget-month", "1000000")
		if err != nil {
			t.Fatal(err)
		}
		keys[group] = key
	}
	return keys
}

// rest looks whether anything is still held of keys' limits after a load.
type rest struct {
	t     *testing.T
	data  string
	c     *caller.Client
	v     *vendors.Server
	keys  map[string]string
	books *books
	next  int // the number of the next request
}

// run makes a request, which the vendors may hold, and notes it.
func (r *rest) run(n int, protocol, do string, maxTokens int) caller.Seen {
	call := caller.Call{Protocol: protocol, Model: vendors.Model(do, "cancel-own", n), Key: r.keys[caller.Group(protocol)], MaxTokens: maxTokens}
	seen, err := r.c.Do(r.t.Context(), call)
	if err != nil {
		r.t.Error(err)
	}
	r.books.note(request{n: n, call: call, do: do, refused: limited(seen)}.seen(seen))
	return seen
}

// limited says that a request was refused by a limit.
func limited(seen caller.Seen) bool {
	return seen.Status == http.StatusTooManyRequests || strings.Contains(seen.Body, "ResourceExhausted")
}

// fill has the vendors hold as many requests of a protocol as are admitted, and tries one
// more than fit. It returns how many were admitted.
func (r *rest) fill(protocol string, fit, maxTokens int) (admitted int) {
	r.t.Helper()
	var wait sync.WaitGroup
	refused := make(chan bool, fit+1)
	first := r.next
	r.next += fit + 1
	for i := range fit + 1 {
		wait.Go(func() {
			if seen := r.run(first+i, protocol, vendors.Hold, maxTokens); limited(seen) {
				refused <- true
			} else if !seen.Whole {
				r.t.Errorf("%s: %d %s", protocol, seen.Status, seen.Body)
			}
		})
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); ; <-tick.C {
		admitted = 0
		for i := range fit + 1 {
			admitted += r.v.Answered(first + i).Calls
		}
		if admitted+len(refused) > fit {
			break
		}
		if time.Now().After(deadline) {
			r.t.Errorf("%s: %d requests are held and %d refused", protocol, admitted, len(refused))
			break
		}
	}
	r.v.Release()
	wait.Wait()
	return admitted
}

// check demands that each key runs as many requests at once as its limit says: one that
// was not settled would take a place. And its budget has as much left as the ledger says,
// and never more.
func (r *rest) check(db *rows.Database) {
	r.t.Helper()
	protocols := []string{"chat", "messages", "generatecontent", "grpc"}
	for _, protocol := range protocols {
		if got := r.fill(protocol, atOnce, 0); got != atOnce {
			r.t.Errorf("%s: the key admits %d requests at once, want %d", protocol, got, atOnce)
		}
	}
	spent := r.spent(db)
	for _, protocol := range protocols {
		group := caller.Group(protocol)
		// A request of 1,000 tokens reserves 15 million and little more.
		r.budget(group, spent[group]+10_000_000)
		r.until(protocol, 100_000, "a request that is above the budget is admitted", limited)
		if got := r.fill(protocol, 1, 1000); got != 0 {
			r.t.Errorf("%s: of a budget without room for a request %d are admitted", protocol, got)
		}
		r.budget(group, spent[group]+22_000_000)
		r.until(protocol, 1000, "the budget has less than the ledger says", func(s caller.Seen) bool { return !limited(s) })
	}
}

// budget sets another budget of the key of a group.
func (r *rest) budget(group string, nano int64) {
	r.t.Helper()
	args := append([]string{"keys", "update", "limited-" + group, "--budget-day", fmt.Sprintf("%d.%09d", nano/1e9, nano%1e9)}, server.At(r.data)...)
	if _, err := server.Output("genway", args...); err != nil {
		r.t.Fatal(err)
	}
}

// until tries requests that cost nothing until one is as it should be, since the core
// learns of a change within 2 s.
func (r *rest) until(protocol string, maxTokens int, otherwise string, good func(caller.Seen) bool) {
	r.t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); !good(r.run(r.next, protocol, vendors.Broken, maxTokens)); r.next++ {
		if time.Now().After(deadline) {
			r.t.Errorf("%s: %s", protocol, otherwise)
			break
		}
	}
	r.next++
}

// spent is what the ledger says that each group's key has spent, once all rows are there.
func (r *rest) spent(db *rows.Database) map[string]int64 {
	r.t.Helper()
	known := map[string]string{} // the group by the key's id
	spent := map[string]int64{}
	for _, row := range r.settled(db) {
		if o, ok := r.books.get(vendors.Number(row.Model)); ok {
			known[row.KeyID] = caller.Group(o.call.Protocol)
		}
		spent[known[row.KeyID]] += row.Cost
	}
	return spent
}

// settled waits for the rows of all accepted requests.
func (r *rest) settled(db *rows.Database) []rows.Row {
	r.t.Helper()
	want := r.books.accepted()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(3 * time.Minute); ; <-tick.C {
		all := atRest(r.t, db, 3*time.Minute)
		if len(all) >= want {
			return all
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("%d requests were accepted, the ledger has %d", want, len(all))
		}
	}
}
