package programs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/genway/genway/test/conformance/caller"
	"github.com/genway/genway/test/conformance/rows"
	"github.com/genway/genway/test/conformance/server"
)

// bills are what vendors bill for beside plain tokens. Prices are nano-dollars: a token in costs 3,000 and one out 15,000, unless a
// price of billedPrices says otherwise.
var bills = []bill{
	{
		name: "compaction", protocol: "messages",
		answer: messageOf(`{"input_tokens":11,"cache_creation_input_tokens":9,"cache_creation":{"ephemeral_5m_input_tokens":2,"ephemeral_1h_input_tokens":7},"output_tokens":7,"iterations":[{"type":"compaction","input_tokens":1800,"output_tokens":35},{"type":"message","input_tokens":11,"cache_creation_input_tokens":9,"output_tokens":7}]}`),
		cost:   3_000*11 + 3_750*2 + 6_000*7 + 15_000*7 + 3_000*1800 + 15_000*35,
		usage:  figures{"input_tokens": 1820, "output_tokens": 42, "cache_write_tokens": 9, "cache_write_1h_tokens": 7},
	},
	{
		name: "advisor", protocol: "messages",
		answer: messageOf(`{"input_tokens":11,"output_tokens":7,"iterations":[{"type":"message","input_tokens":11,"output_tokens":7},{"type":"advisor_message","model":"wise","input_tokens":100,"output_tokens":10}]}`),
		cost:   3_000*11 + 15_000*7 + 30_000*100 + 90_000*10,
		usage:  figures{"input_tokens": 111, "output_tokens": 17},
	},
	{
		name: "searches", protocol: "messages",
		answer: messageOf(`{"input_tokens":11,"output_tokens":7,"server_tool_use":{"web_search_requests":2}}`),
		cost:   3_000*11 + 15_000*7 + 2*10_000_000,
		usage:  figures{"input_tokens": 11, "output_tokens": 7, "tool_calls": 2},
	},
	{
		name: "searches-free", protocol: "messages", unpriced: true,
		answer: messageOf(`{"input_tokens":11,"output_tokens":7,"server_tool_use":{"web_fetch_requests":2}}`),
		cost:   3_000*11 + 15_000*7,
		usage:  figures{"input_tokens": 11, "output_tokens": 7, "tool_calls": 2},
	},
	{
		name: "speed", protocol: "messages", ask: `"speed":"fast",`,
		answer: messageOf(`{"input_tokens":11,"output_tokens":7,"speed":"fast"}`),
		cost:   30_000*11 + 150_000*7,
		usage:  figures{"input_tokens": 11, "output_tokens": 7},
	},
	{
		name: "tier", protocol: "chat",
		answer: completionOf(`"service_tier":"flex",`, `{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18}`),
		cost:   1_000*11 + 5_000*7,
		usage:  figures{"input_tokens": 11, "output_tokens": 7},
	},
	{
		name: "tier-unknown", protocol: "chat", unpriced: true,
		answer: completionOf(`"service_tier":"scale",`, `{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18}`),
		cost:   3_000*11 + 15_000*7,
		usage:  figures{"input_tokens": 11, "output_tokens": 7},
	},
	{
		name: "header", protocol: "generatecontent", header: "flex",
		answer: `{"candidates":[{"content":{"role":"model","parts":[{"text":"fine"}]},"index":0,"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":11,"candidatesTokenCount":4,"thoughtsTokenCount":3,"totalTokenCount":18}}`,
		cost:   1_000*11 + 5_000*7,
		usage:  figures{"input_tokens": 11, "output_tokens": 7, "thinking_tokens": 3},
	},
	{
		name: "reasoning", protocol: "chat",
		answer: completionOf("", `{"prompt_tokens":12,"completion_tokens":1,"total_tokens":399,"completion_tokens_details":{"reasoning_tokens":386}}`),
		cost:   3_000*12 + 15_000*387,
		usage:  figures{"input_tokens": 12, "output_tokens": 387, "thinking_tokens": 386},
	},
	{
		name: "parts", protocol: "chat", source: "rejected",
		answer: completionOf("", `{"prompt_tokens":10,"prompt_tokens_details":{"cached_tokens":1000000},"completion_tokens":5,"completion_tokens_details":{"reasoning_tokens":500},"total_tokens":15}`),
		cost:   3_000*3 + 15_000*1, // as estimated
		usage:  figures{"input_tokens": 3, "output_tokens": 1},
	},
	{
		name: "drawing", protocol: "responses",
		answer: responseOf(`"tools":[{"type":"image_generation","model":"painter"}],"tool_usage":{"image_gen":{"input_tokens":50,"output_tokens":400,"total_tokens":450},"web_search":{"num_requests":3}},`),
		cost:   3_000*11 + 15_000*7 + 3*10_000_000 + 5_000*50 + 40_000*400,
		usage:  figures{"input_tokens": 61, "output_tokens": 407, "tool_calls": 3},
	},
	{name: "asked-tier", protocol: "chat", ask: `"service_tier":"priority",`, refused: http.StatusForbidden},
	{name: "set-tier", protocol: "chat", rules: ", set: {service_tier: priority}", refused: http.StatusForbidden},
	{name: "set-maximum", protocol: "chat", rules: ", set: {max_output_tokens: 1000000}", refused: http.StatusTooManyRequests},
	{name: "dropped-maximum", protocol: "chat", rules: ", drop: [max_output_tokens]", refused: http.StatusTooManyRequests},
	{name: "many-searches", protocol: "messages", ask: `"tools":[{"type":"web_search_20250305","name":"web_search","max_uses":100}],`, refused: http.StatusTooManyRequests},
	{name: "explicit", protocol: "chat", most: 1_000_000, refused: http.StatusTooManyRequests},
	{name: "many-calls", protocol: "responses", ask: `"tools":[{"type":"web_search"}],"max_tool_calls":100,`, refused: http.StatusTooManyRequests},
	{
		name: "open", protocol: "chat", most: -1, // answers as long as it is asked for
		answer: completionOf("", `{"prompt_tokens":1,"completion_tokens":MAXIMUM,"total_tokens":TOTAL}`),
		spends: true,
	},
}

// A bill is a request to a vendor, and what the ledger is to have of it.
type bill struct {
	name, protocol string
	// ask are members of the request, most its maximum of output tokens: 0 is a few, below 0 is none.
	ask  string
	most int
	// rules are more of the route's target.
	rules string
	// answer is the vendor's, with its service tier in a header.
	answer, header string
	// refused is the status of a request that is not admitted.
	refused int
	cost    int64
	usage   figures
	// source is that of the usage, and unpriced means that part of it has no price.
	source   string
	unpriced bool
	// spends means that each request spends all that is left, or nearly.
	spends bool
}

// figures are those of a row of `genway usage --format json`.
type figures map[string]int64

const billedPrices = `prices:
  - {model: "*", input: 3, output: 15, cache_write: 3.75, cache_write_1h: 6, per_call: {web_search: 0.01}}
  - {model: "*", speed: fast, input: 30, output: 150}
  - {model: "*", service_tier: flex, input: 1, output: 5}
  - {model: wise, input: 30, output: 90}
  - {model: painter, input: 5, output: 40}
  - {model: "left-*", input: 0, output: 1}
`

// leftToken is what a token of the model left costs, by which is found out what is left of a budget.
const leftToken = 1_000

func messageOf(usage string) string {
	return `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"fine"}],"stop_reason":"end_turn","stop_sequence":null,"usage":` + usage + `}`
}

func completionOf(more, usage string) string {
	return `{"id":"chatcmpl-1","object":"chat.completion","created":7,"model":"m",` + more + `"choices":[{"index":0,"message":{"role":"assistant","content":"fine","refusal":null},"logprobs":null,"finish_reason":"stop"}],"usage":` + usage + `}`
}

func responseOf(more string) string {
	return `{"id":"resp_1","object":"response","created_at":7,"status":"completed","error":null,"incomplete_details":null,"instructions":null,"metadata":{},"model":"m","output":[{"id":"msg_0","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"fine","annotations":[],"logprobs":[]}]}],"parallel_tool_calls":true,"temperature":1,"tool_choice":"auto","top_p":1,` + more +
		`"usage":{"input_tokens":11,"input_tokens_details":{"cached_tokens":0},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":18}}`
}

// billing is a vendor that answers each bill, and refuses to say what is left.
func billing(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the gateway broke off
	}
	var asked struct {
		Model   string `json:"model"`
		Maximum int64  `json:"max_tokens"`
	}
	_ = json.Unmarshal(body, &asked) // without a model it is none of the bills
	model := asked.Model
	if _, named, ok := strings.Cut(r.URL.Path, "/models/"); ok {
		model, _, _ = strings.Cut(named, ":")
	}
	at := slices.IndexFunc(bills, func(b bill) bool { return b.name == model && b.answer != "" })
	w.Header().Set("Content-Type", "application/json")
	if at < 0 {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"type":"error","error":{"type":"invalid_request_error","message":"not today"}}`)
		return
	}
	if bills[at].header != "" {
		w.Header().Set("X-Gemini-Service-Tier", bills[at].header)
	}
	_, _ = io.WriteString(w, strings.NewReplacer("MAXIMUM", strconv.FormatInt(asked.Maximum, 10), "TOTAL", strconv.FormatInt(asked.Maximum+1, 10)).Replace(bills[at].answer))
}

// billedBudget is that of each key, in nano-dollars.
const billedBudget = 500_000_000

// billsArePaid makes each request under a budget, again after a restart without one and with a Redis that has lost its data, and looks
// after another restart, with the budget, at what the ledger has, and at what is left at each core.
func billsArePaid(t *testing.T, on stores) {
	on.each(t, func(t *testing.T, data string) {
		b := newBilled(t, data)
		b.start(t, true)
		for i, one := range bills {
			b.ask(t, one, i, true)
			b.left(t, one, true)
		}
		b.stop(t)
		b.lose()
		b.start(t, false)
		for i, one := range bills {
			b.ask(t, one, i+1, false)
		}
		b.stop(t)
		b.start(t, true)
		for i, one := range bills {
			b.left(t, one, one.spends)
			if one.refused != 0 || one.spends {
				one.refused = cmp.Or(one.refused, http.StatusTooManyRequests)
				b.ask(t, one, i, true)
			}
		}
		b.check(t)
	})
}

// billed is a gateway before the vendor of the bills.
type billed struct {
	data, config string
	// limits are more of the configuration's.
	limits  string
	cores   int
	lose    func() // what the limits know
	servers []*server.Server
	clients []*caller.Client
	ledger  *rows.Database
	seen    []string // requests
	// keys, spent nano-dollars and how often a request was admitted, by the name of the bill.
	keys  map[string]string
	spent map[string]int64
	times map[string]int
}

func newBilled(t *testing.T, data string) *billed {
	t.Helper()
	vendor := httptest.NewServer(http.HandlerFunc(billing))
	t.Cleanup(vendor.Close)
	dir := t.TempDir()
	b := &billed{
		data: data, config: filepath.Join(dir, "genway.yaml"), cores: 1, lose: func() {},
		keys: map[string]string{}, spent: map[string]int64{}, times: map[string]int{},
	}
	write(t, filepath.Join(dir, "prices.yaml"), billedPrices)
	if strings.HasPrefix(data, "postgres://") {
		redis := server.StartRedis(t)
		b.limits, b.cores, b.lose = fmt.Sprintf("store: %q, timeout: 10s", redis.URL(t)), 2, func() {
			redis.Kill(t)
			redis.Start(t)
		}
	}
	var upstreams, routes strings.Builder
	for _, kind := range caller.Text() {
		fmt.Fprintf(&upstreams, "  %s: {kind: %s, base_url: %q, api_key: key, break_after: -1}\n", kind, kind, vendor.URL)
		fmt.Fprintf(&routes, "  - {model: left-%s, targets: [{upstream: %s}]}\n", kind, kind)
	}
	for _, one := range bills {
		fmt.Fprintf(&routes, "  - {model: %s, targets: [{upstream: %s%s}]}\n", one.name, one.protocol, one.rules)
		key, err := server.CreateKey(data, caller.Group(one.protocol), one.name)
		if err != nil {
			t.Fatal(err)
		}
		b.keys[one.name] = key
	}
	write(t, b.config, "upstreams:\n"+upstreams.String()+"routes:\n"+routes.String()+"prices: prices.yaml\n")
	return b
}

// start starts the cores, with the budget or without.
func (b *billed) start(t *testing.T, budget bool) {
	t.Helper()
	text, err := os.ReadFile(b.config)
	if err != nil {
		t.Fatal(err)
	}
	limits := []string{b.limits}
	if budget {
		limits = append(limits, fmt.Sprintf("keys: {budgets: [%s/day]}", dollars(billedBudget)))
	}
	file := filepath.Join(filepath.Dir(b.config), fmt.Sprintf("budget-%t.yaml", budget))
	write(t, file, string(text)+"limits: {"+strings.Trim(strings.Join(limits, ", "), ", ")+"}\n")
	b.clients = nil
	group := map[string]string{}
	for _, one := range bills {
		group[caller.Group(one.protocol)] = b.keys[one.name]
	}
	group["internal"] = "none is used"
	for range b.cores {
		s := server.Start(t, server.Options{Data: b.data, Keys: group, Args: []string{"--config", file}})
		client, err := caller.New(s.URL(), s.GRPC)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.Close() })
		b.servers, b.clients = append(b.servers, s), append(b.clients, client)
	}
	if b.ledger == nil {
		b.ledger = rows.Open(t, b.data)
	}
}

func (b *billed) stop(t *testing.T) {
	t.Helper()
	for _, s := range b.servers {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}
	b.servers = nil
}

// ask makes the request of a bill at a core, and waits for its row.
func (b *billed) ask(t *testing.T, one bill, core int, budget bool) {
	t.Helper()
	call := caller.Call{Protocol: one.protocol, Model: one.name, Key: b.keys[one.name], MaxTokens: cmp.Or(max(one.most, 0), 64), Members: one.ask}
	if one.most < 0 {
		call.MaxTokens = 0
	}
	seen, err := b.clients[core%b.cores].Do(t.Context(), call)
	want := http.StatusOK
	switch {
	case budget && one.refused != 0:
		want = one.refused
	case one.answer == "":
		want = http.StatusBadRequest // it reaches the vendor, who refuses it
	}
	if err != nil || seen.Status != want {
		t.Errorf("%s, under a budget: %t: %d %s, %v; want %d", one.name, budget, seen.Status, seen.Body, err, want)
		return
	}
	if lower := strings.Contains(seen.Body, "maximum of output tokens"); one.most > 0 && budget && !lower {
		t.Errorf("%s does not say what to do: %s", one.name, seen.Body)
	}
	if want != http.StatusOK {
		return
	}
	b.times[one.name]++
	var row rows.Row
	await(t, func() bool {
		done := slices.DeleteFunc(b.ledger.Ledger(t), func(r rows.Row) bool {
			return r.Model != one.name || r.Outcome == "open" || slices.Contains(b.seen, r.RequestID)
		})
		if len(done) == 1 {
			row = done[0]
		}
		return len(done) == 1
	}, func() string { return one.name + " has no row" })
	b.seen = append(b.seen, row.RequestID)
	cost := one.cost
	if one.spends {
		if cost = 3_000*row.Input + 15_000*row.Output; cost != row.Cost {
			t.Errorf("%s: %+v, want %d", one.name, row, cost)
		}
	} else if row.Cost != cost || row.Input != one.usage["input_tokens"] || row.Output != one.usage["output_tokens"] || row.Source != one.source {
		t.Errorf("%s: %+v, want %d and %+v", one.name, row, cost, one.usage)
	}
	b.spent[one.name] += cost
}

// left demands that each core admits what is left of a key's budget, and no token more. little means that it is less than a request takes.
func (b *billed) left(t *testing.T, one bill, little bool) {
	t.Helper()
	left := (billedBudget - b.spent[one.name]) / leftToken
	if one.spends && little && left > 100 {
		t.Errorf("%s: %d are left", one.name, left*leftToken)
	}
	for i, client := range b.clients {
		for above, want := range map[int64]int{0: http.StatusBadRequest, 1: http.StatusTooManyRequests} {
			most := int(max(left, 0) + above)
			if most == 0 { // is no maximum to the caller
				continue
			}
			var seen caller.Seen
			var err error
			await(t, func() bool { // what another core has held is free a moment after its answer
				seen, err = client.Do(t.Context(), caller.Call{Protocol: one.protocol, Model: "left-" + one.protocol, Key: b.keys[one.name], MaxTokens: most})
				return err != nil || !strings.Contains(seen.Body, "held by requests under way")
			}, func() string { return one.name + ": the budget is held: " + seen.Body })
			if err != nil || seen.Status != want {
				t.Errorf("%s, core %d, %d above what is left, %d tokens: %d %s, %v", one.name, i, above, left, seen.Status, seen.Body, err)
			}
		}
	}
}

// check compares the reports with the bills.
func (b *billed) check(t *testing.T) {
	t.Helper()
	var report []map[string]any
	if err := json.Unmarshal([]byte(genway(t, b.data, "usage", "--by", "key", "--format", "json")), &report); err != nil {
		t.Fatal(err)
	}
	for _, one := range bills {
		at := slices.IndexFunc(report, func(row map[string]any) bool { return row["key_name"] == one.name })
		if at < 0 {
			t.Errorf("%s is not in the report", one.name)
			continue
		}
		want := figures{"unpriced": 0}
		for name, n := range one.usage {
			want[name] = n * int64(b.times[one.name])
		}
		if one.unpriced {
			want["unpriced"] = int64(b.times[one.name])
		}
		if got, err := strconv.ParseFloat(fmt.Sprint(report[at]["cost"]), 64); err != nil || math.Round(got*1e9) != float64(b.spent[one.name]) {
			t.Errorf("%s: the report has a cost of %v, want %s", one.name, report[at]["cost"], dollars(b.spent[one.name]))
		}
		for name, n := range want {
			if got := report[at][name]; got != float64(n) {
				t.Errorf("%s: the report has %v of %s, want %d", one.name, got, name, n)
			}
		}
	}
	genway(t, b.data, "ledger", "check", "--prices", filepath.Join(filepath.Dir(b.config), "prices.yaml"))
}
