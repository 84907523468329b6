package programs

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/caller"
	"github.com/genway/genway/test/conformance/rows"
	"github.com/genway/genway/test/conformance/server"
	"github.com/genway/genway/test/conformance/vendors"
)

const (
	// fits is how many requests a budget of budget nano-dollars is for, when each may
	// have bounded tokens out: what each reserves is 9.6 to 9.9 million.
	fits    = 10
	bounded = 640
	budget  = 100_000_000
)

// dollars is an amount of nano-dollars as the command takes it.
func dollars(nano int64) string { return fmt.Sprintf("%d.%09d", nano/1e9, nano%1e9) }

// boundedCall makes a call whose price is bounded.
func boundedCall(key, do string, n int) caller.Call {
	return caller.Call{Protocol: "messages", Stream: n%2 == 0, Model: vendors.Model(do, "cancel-own", n), Key: key, MaxTokens: bounded}
}

// crowd makes requests 1 to n at once, spread over rigs, which the vendors hold, and
// gives how many were admitted when all others have been refused.
func crowd(t *testing.T, n int, key string, rigs ...*rig) (admitted int) {
	t.Helper()
	refused := make(chan caller.Seen, n)
	var wait sync.WaitGroup
	for i := 1; i <= n; i++ {
		r := rigs[i%len(rigs)]
		wait.Go(func() {
			seen, err := r.client.Do(t.Context(), boundedCall(key, vendors.Hold, i))
			if err != nil || seen.Status != http.StatusOK && seen.Status != http.StatusTooManyRequests {
				t.Errorf("request %d: %d %s, %v", i, seen.Status, seen.Body, err)
			}
			if !seen.Whole {
				refused <- seen
			}
		})
	}
	held := func() (count int) {
		for i := 1; i <= n; i++ {
			for _, r := range rigs {
				count += r.vendors.Answered(i).Calls
			}
		}
		return count
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); held()+len(refused) < n; <-tick.C {
		if time.Now().After(deadline) {
			t.Errorf("%d requests are held and %d refused, of %d", held(), len(refused), n)
			break
		}
	}
	admitted = held()
	for _, r := range rigs {
		r.vendors.Release()
	}
	wait.Wait()
	close(refused)
	for seen := range refused {
		if after, err := strconv.Atoi(seen.Header.Get("Retry-After")); err != nil || after < 1 {
			t.Errorf("a refusal without a time: %v %s", seen.Header, seen.Body)
			break
		}
	}
	return admitted
}

// exactBudgets has a crowd ask at once for what a budget covers in part, and then spends
// the rest one by one.
func exactBudgets(t *testing.T, on stores) {
	on.each(t, func(t *testing.T, data string) {
		r := start(t, server.Options{Data: data}, "")
		key, err := server.CreateKey(data, "messages", "poor", "--budget-day", dollars(budget))
		if err != nil {
			t.Fatal(err)
		}
		if admitted := crowd(t, 1000, key, r); admitted != fits {
			t.Errorf("%d requests were admitted at once, want %d", admitted, fits)
		}
		spent := int64(0)
		for i := 1; i <= 1000; i++ {
			if answered := r.vendors.Answered(i); answered.Whole {
				spent += vendors.Cost(vendors.Tokens(i))
			}
		}
		last := 1000
		for i := 1001; ; i++ {
			if got := r.call(t, boundedCall(key, vendors.Answer, i)); got.Status == http.StatusTooManyRequests {
				break
			} else if !got.Whole {
				t.Fatalf("%+v", got)
			}
			if most := int64(budget - 9_600_000); spent > most {
				t.Fatalf("after %d nano-dollars another request is admitted", spent)
			}
			spent += vendors.Cost(vendors.Tokens(i))
			last = i
		}
		if spent+9_900_000 <= budget {
			t.Errorf("after %d nano-dollars of %d a request is refused", spent, budget)
		}
		r.row(t, last) // rows are written in their order
		sum := int64(0)
		for _, row := range r.db.Ledger(t) {
			sum += row.Cost
		}
		if sum != spent {
			t.Errorf("the ledger has costs of %d nano-dollars, the answers of %d", sum, spent)
		}
	})
}

// sharedBudgets does the same on two cores that share a Redis.
func sharedBudgets(t *testing.T, on stores) {
	on.each(t, func(t *testing.T, data string) {
		more := "limits: {store: \"" + server.StartRedis(t).URL(t) + "\", timeout: 10s}\n"
		one := start(t, server.Options{Data: data}, more)
		other := start(t, server.Options{Data: data, Keys: one.Keys}, more)
		key, err := server.CreateKey(data, "messages", "poor", "--budget-day", dollars(budget))
		if err != nil {
			t.Fatal(err)
		}
		if admitted := crowd(t, 400, key, one, other); admitted != fits {
			t.Errorf("two cores admitted %d requests at once, want %d", admitted, fits)
		}
		busy, err := server.CreateKey(data, "messages", "busy", "--concurrent", "7")
		if err != nil {
			t.Fatal(err)
		}
		again := []*rig{one, other}
		for i := range again { // numbers are counted from 1 again
			again[i].vendors.Forget()
		}
		if admitted := crowd(t, 100, busy, again...); admitted != 7 {
			t.Errorf("two cores run %d requests at once, want 7", admitted)
		}
	})
}

// keptBudgets removes a budget and sets it again between the requests of one core, and of two that share a Redis, which loses
// its data, and restarts them: what was spent counts each time, and once.
func keptBudgets(t *testing.T, on stores) {
	on.each(t, func(t *testing.T, data string) {
		redis := server.StartRedis(t)
		t.Run("one core", func(t *testing.T) { keptBudget(t, data, "", 1, func() {}) })
		t.Run("two cores", func(t *testing.T) {
			keptBudget(t, data, "limits: {store: \""+redis.URL(t)+"\", timeout: 10s}\n", 2, func() {
				redis.Kill(t)
				redis.Start(t)
			})
		})
	})
}

func keptBudget(t *testing.T, data, more string, cores int, lose func()) {
	t.Helper()
	var rigs []*rig
	launch := func() {
		for i := range rigs {
			if err := rigs[i].Stop(); err != nil {
				t.Error(err)
			}
		}
		rigs = nil
		for range cores {
			options := server.Options{Data: data}
			if len(rigs) > 0 {
				options.Keys = rigs[0].Keys
			}
			rigs = append(rigs, start(t, options, more))
		}
	}
	launch()
	name := fmt.Sprintf("kept-by-%d", cores)
	key, err := server.CreateKey(data, "messages", name)
	if err != nil {
		t.Fatal(err)
	}
	n, spent, rate := 0, int64(0), 100_000
	// spend has a core serve a request, or demands that it is refused.
	spend := func(r *rig, when string, refused bool) {
		t.Helper()
		n++
		seen := r.call(t, boundedCall(key, vendors.Answer, n))
		if refused != (seen.Status == http.StatusTooManyRequests) || !refused && !seen.Whole {
			t.Errorf("%s, after %s of %s were spent: %d %s", when, dollars(spent), name, seen.Status, seen.Body)
		}
		if seen.Whole {
			spent += vendors.Cost(vendors.Tokens(n))
		}
	}
	// set gives the key a budget, and waits until all cores know: they tell its rate, which changes too.
	set := func(budget string) {
		t.Helper()
		rate++
		if _, err := server.Output("genway", append([]string{"keys", "update", name, "--budget-day", budget, "--requests-per-minute", strconv.Itoa(rate)}, server.At(data)...)...); err != nil {
			t.Fatal(err)
		}
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for _, r := range rigs {
			for deadline := time.Now().Add(time.Minute); r.rate(t, key) != strconv.Itoa(rate); <-tick.C {
				if time.Now().After(deadline) {
					t.Fatal("a core does not know the key's limits")
				}
			}
		}
	}
	check := func(when string) {
		t.Helper()
		set(dollars(spent + 9_500_000)) // less than one request reserves
		for _, r := range rigs {
			spend(r, when, true)
		}
		for _, r := range rigs {
			set(dollars(spent + 9_950_000)) // and more
			spend(r, when, false)
		}
	}
	set(dollars(budget))
	for _, r := range rigs {
		spend(r, "under a budget", false)
	}
	set("none")
	for range 10 {
		for _, r := range rigs {
			spend(r, "without a budget", false)
		}
	}
	check("set again")
	r := rigs[len(rigs)-1]
	r.row(t, n)
	lose()
	check("after the limits were lost")
	launch()
	check("after a restart")
}

// rate is the limit of requests a minute that a core tells a key. Lists take no money.
func (r *rig) rate(t *testing.T, key string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.URL()+"/v1/models", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", key)
	req.Header.Set("Anthropic-Version", "2023-06-01")
	client := server.HTTP1()
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.Header.Get("Anthropic-Ratelimit-Requests-Limit")
}

// answersEndWithTheBudget asks for more than each key's budget covers, three times at once.
func answersEndWithTheBudget(t *testing.T, on stores) {
	sandbox := server.Start(t, server.Options{})
	on.each(t, func(t *testing.T, data string) {
		var upstreams, routes strings.Builder
		for _, kind := range server.Kinds() {
			at := fmt.Sprintf("base_url: %q, api_key: %q", sandbox.URL(), sandbox.Keys[caller.Group(kind)])
			if kind == "generation" {
				at = fmt.Sprintf("target: %q, api_key: %q", sandbox.GRPC, sandbox.Keys["internal"])
			}
			fmt.Fprintf(&upstreams, "  %s: {kind: %s, %s}\n", kind, kind, at)
			fmt.Fprintf(&routes, "  - {model: long-%s, targets: [{upstream: %s, model: sandbox-long-3000}]}\n", kind, kind)
		}
		dir := t.TempDir()
		write(t, filepath.Join(dir, "prices.yaml"), vendors.Prices)
		config := "upstreams:\n" + upstreams.String() + "routes:\n" + routes.String() + "prices: prices.yaml\n"
		cores := 1
		if strings.HasPrefix(data, "postgres://") {
			config, cores = config+"limits: {store: \""+server.StartRedis(t).URL(t)+"\", timeout: 10s}\n", 2
		}
		write(t, filepath.Join(dir, "genway.yaml"), config)
		var clients []*caller.Client
		var keys map[string]string
		for range cores {
			s := server.Start(t, server.Options{Data: data, Keys: keys, Args: []string{"--config", filepath.Join(dir, "genway.yaml")}})
			keys = s.Keys
			client, err := caller.New(s.URL(), s.GRPC)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = client.Close() })
			clients = append(clients, client)
		}
		const budget = 30_000_000 // 2,000 tokens out
		ways, answers := 0, 0
		for protocol, end := range map[string]string{"chat": `"length"`, "responses": `"max_output_tokens"`, "generatecontent": `"MAX_TOKENS"`, "grpc": "STOP_REASON_MAX_TOKENS"} {
			for _, kind := range server.Kinds() {
				for _, stream := range []bool{false, true} {
					ways++
					key, err := server.CreateKey(data, caller.Group(protocol), fmt.Sprint("poor", ways), "--budget-day", dollars(budget))
					if err != nil {
						t.Fatal(err)
					}
					var cut atomic.Int64
					var wait sync.WaitGroup
					for i := range 3 {
						wait.Go(func() {
							seen, err := clients[i%cores].Do(t.Context(), caller.Call{Protocol: protocol, Stream: stream, Model: "long-" + kind, Key: key})
							switch {
							case err == nil && seen.Status == http.StatusOK && strings.Contains(seen.Body, end):
								cut.Add(1)
							case err != nil || seen.Status != http.StatusTooManyRequests && !strings.Contains(seen.Body, "ResourceExhausted"):
								t.Errorf("%s, %s, streamed %t: %d %.300s, %v", protocol, kind, stream, seen.Status, seen.Body, err)
							}
						})
					}
					wait.Wait()
					answers += int(cut.Load())
					if cut.Load() == 0 {
						t.Errorf("%s, %s, streamed %t: no answer", protocol, kind, stream)
					}
				}
			}
		}
		ledger, spent := rows.Open(t, data), map[string]int64{}
		await(t, func() bool { return len(ledger.Ledger(t)) >= answers && len(ledger.InFlight(t)) == 0 }, func() string { return "rows are missing" })
		for _, row := range ledger.Ledger(t) {
			if row.Outcome != "ok" || row.Output < 1000 {
				t.Errorf("%+v", row)
			}
			spent[row.KeyID] += row.Cost
		}
		if len(spent) != ways {
			t.Errorf("%d keys have spent something, want %d", len(spent), ways)
		}
		for key, cost := range spent {
			if cost > budget || cost < budget/2 {
				t.Errorf("%s has spent %d of %d", key, cost, budget)
			}
		}
	})
}
