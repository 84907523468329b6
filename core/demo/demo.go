// Package demo writes a made-up week into an empty store, to look at the console with and to take the
// pictures of its documents: keys, and rows of the ledger with failures, fallbacks, callers that
// disconnect, losses, timelines and costs.
//
// It writes as a core does: keys by package keys, rows by a ledger.Recorder. So the audit and the
// ledger keep the promises that they keep for real requests.
//
// It must import no store and no upstream.
package demo

import (
	"context"
	_ "embed" // the files
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/genway/genway/core/audit"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/limit"
	"github.com/genway/genway/core/price"
)

// Configuration is a configuration with the upstreams and the routes of the made-up week, all of
// which the sandbox answers. It names PricesName, which must be in the same directory.
//
//go:embed demo.yaml
var Configuration string

// Prices is the price file of the made-up requests. Its figures are invented.
//
//go:embed prices.yaml
var Prices string

// The names of the two files.
const (
	ConfigurationName = "demo.yaml"
	PricesName        = "demo-prices.yaml"
)

const (
	week = 7 * 24 * time.Hour
	// batch is the number of rows of one write. It is larger than a core's, as no request waits
	// for the write.
	batch = 2048
	// slowStore is how long the store may take for a write.
	slowStore = time.Minute
)

// Fill writes keys, and so many requests of the week before end, and sums up its hours, from which reports
// are made. It returns how many keys there are. A Fill that fails leaves what it has written.
func Fill(ctx context.Context, store keys.Store, rows ledger.Store, requests int, end time.Time) (made int, err error) {
	catalogue, err := price.Parse(PricesName, []byte(Prices))
	if err != nil {
		return 0, err
	}
	end = end.UTC().Truncate(time.Second)
	ids, err := makeKeys(ctx, store, end.Add(-4*week))
	if err != nil {
		return 0, err
	}
	recorder, err := ledger.Start(ctx, ledger.Config{Store: rows, Batch: batch, MaxWait: slowStore})
	if err != nil {
		return 0, err
	}
	m := &maker{rand: rand.New(rand.NewPCG(1, 2)), prices: catalogue, ids: ids, outage: end.Add(-week / 3)} //nolint:gosec // nothing here is a secret
	err = m.record(ctx, recorder, m.starts(requests, end))
	if err == nil { // Close itself waits for as long as the end of a server may take
		flushing, stop := context.WithTimeout(ctx, slowStore)
		_ = recorder.Flush(flushing) // Close says what is lost then
		stop()
	}
	if err := errors.Join(err, recorder.Close()); err != nil {
		return 0, err
	}
	_, err = ledger.RollAll(ctx, rows, end)
	return len(ids), err
}

// makeKeys makes a key for each of the callers, and returns their identifiers.
func makeKeys(ctx context.Context, store keys.Store, at time.Time) ([]string, error) {
	service, err := keys.New(keys.Config{Store: store, Clock: func() time.Time { return at }})
	if err != nil {
		return nil, err
	}
	defer service.Close()
	ids := make([]string, len(callers))
	for i, c := range callers {
		s := keys.Settings{Name: c.name, Owner: c.owner, Labels: map[string]string{"demo": "made up"}}
		s.Policy.Limits.RequestsPerMinute = c.perMinute
		s.Policy.Limits.Budgets = []limit.Budget{{Amount: c.dollars * 1e9, Period: limit.Month}}
		_, key, err := service.Create(audit.WithActor(ctx, "user:ada"), keys.CreateParams{Group: c.group, Settings: s})
		if err != nil {
			return nil, err
		}
		ids[i] = key.ID
	}
	return ids, nil
}

// starts returns the starts of n requests in the week before end, in their order: most are in office hours.
func (m *maker) starts(n int, end time.Time) []time.Time {
	list := make([]time.Time, 0, n)
	for len(list) < n {
		at := end.Add(-time.Duration(m.rand.Int64N(int64(week))) - time.Microsecond).Truncate(time.Microsecond)
		load := math.Exp(-math.Pow((float64(at.Hour())-13.5)/4, 2))
		if day := at.Weekday(); day == time.Saturday || day == time.Sunday {
			load /= 4
		}
		if m.rand.Float64() < load+.05 {
			list = append(list, at)
		}
	}
	slices.SortFunc(list, time.Time.Compare)
	return list
}

// record writes a request for each start. The one in the middle is not settled: the ledger has it as interrupted.
func (m *maker) record(ctx context.Context, recorder *ledger.Recorder, starts []time.Time) error {
	for i, at := range starts {
		request, result := m.next(at)
		record, err := recorder.Open(ctx, request)
		if err != nil {
			if _, cause := recorder.Failing(); cause != nil && errors.Is(err, ledger.ErrBusy) {
				err = cause
			}
			return fmt.Errorf("demo: %w", err)
		}
		if i != len(starts)/2 {
			record.Settle(result)
		}
	}
	return nil
}

// caller is a key and what is asked with it.
type caller struct {
	name, owner string
	group       keys.Group
	protocol    string // by the names of ledger.Request.Protocol
	share       float64
	models      []*model // each as likely
	// input and output are usual numbers of tokens, cached the part of the input that comes from
	// a cache, thinking the part of the output that is thinking.
	input, output, cached, thinking float64
	streams                         float64 // the part of its requests
	perMinute, dollars              int64   // its limits: requests a minute, and the budget of a month
}

// model is what callers ask for. Its second target, if there is one, is asked when the first fails.
type model struct {
	name, served, route string
	targets             []target
	// first is a usual time to the first event, and perSecond how many tokens follow in a second;
	// 0 for images.
	first     time.Duration
	perSecond float64
}

type target struct{ upstream, protocol string }

var (
	openAI    = target{"openai", "responses"}
	azure     = target{"azure", "responses"}
	anthropic = target{"anthropic", "messages"}
	bedrock   = target{"bedrock", "messages"}

	gpt    = &model{"gpt-5", "gpt-5-2025-08-07", "gpt-*", []target{openAI, azure}, 900 * time.Millisecond, 70}
	mini   = &model{"gpt-5-mini", "gpt-5-mini-2025-08-07", "gpt-*", []target{openAI, azure}, 420 * time.Millisecond, 140}
	sonnet = &model{"claude-sonnet-4-5", "claude-sonnet-4-5-20250929", "claude-*", []target{anthropic, bedrock}, 1100 * time.Millisecond, 75}
	haiku  = &model{"claude-haiku-4-5", "claude-haiku-4-5-20251001", "claude-*", []target{anthropic, bedrock}, 480 * time.Millisecond, 150}
	flash  = &model{"gemini-2.5-flash", "gemini-2.5-flash", "gemini-*", []target{{"gemini", "generate_content"}}, 380 * time.Millisecond, 190}
	qwen   = &model{"qwen3-32b", "qwen3-32b", "qwen*", []target{{"local", "chat_completions"}, openAI}, 210 * time.Millisecond, 48}
	images = &model{"gpt-image-1", "gpt-image-1", "gpt-image-*", []target{{"openai", "images"}}, 15 * time.Second, 0}

	callers = []caller{
		{"web-chat", "web", keys.GroupChat, "chat_completions", .28, []*model{mini, mini, gpt}, 1400, 260, .35, 0, .95, 3000, 400},
		{"support-bot", "support", keys.GroupChat, "responses", .18, []*model{mini}, 2600, 340, .6, .3, .7, 1200, 40},
		{"mobile-app", "mobile", keys.GroupGenerateContent, "generate_content", .2, []*model{flash}, 700, 180, .1, 0, .6, 6000, 20},
		{"claude-code-ada", "platform", keys.GroupMessages, "messages", .11, []*model{sonnet, sonnet, sonnet, haiku}, 52000, 620, .9, .35, 1, 300, 1200},
		{"nightly-evals", "evals", keys.GroupInternal, "grpc", .08, []*model{gpt, sonnet, flash}, 1800, 700, 0, .2, 0, 600, 100},
		{"report-writer", "data", keys.GroupChat, "chat_completions", .06, []*model{sonnet, flash}, 9000, 1500, 0, 0, .3, 300, 300},
		{"summaries-local", "data", keys.GroupMessages, "messages", .08, []*model{qwen}, 3000, 300, 0, 0, .2, 600, 1},
		{"design-studio", "design", keys.GroupChat, "images", .01, []*model{images}, 0, 0, 0, 0, 0, 60, 50},
	}

	// lost are the members that a request in one protocol may lose on its way to another.
	lost = map[[2]string][]string{
		{"chat_completions", "messages"}:         {"seed", "presence_penalty"},
		{"chat_completions", "generate_content"}: {"user"},
		{"messages", "chat_completions"}:         {"cache_control", "top_k"},
		{"messages", "responses"}:                {"cache_control", "top_k"},
	}
)

// maker makes requests up.
type maker struct {
	rand   *rand.Rand
	prices *price.Catalogue
	ids    []string  // of the callers' keys
	outage time.Time // when openai begins to fail
}

// next makes the request that begins at a time.
func (m *maker) next(at time.Time) (ledger.Request, ledger.Result) {
	i := 0
	for x := m.rand.Float64(); i < len(callers)-1 && x >= callers[i].share; i++ {
		x -= callers[i].share
	}
	c := &callers[i]
	asked := c.models[m.rand.IntN(len(c.models))]
	request := ledger.Request{
		ID: "req_" + m.hex(13), KeyID: m.ids[i], Owner: c.owner, Protocol: c.protocol, Method: "GenerateText",
		Model: asked.name, Start: at, TraceID: m.hex(16),
	}
	stream := m.rand.Float64() < c.streams
	switch {
	case asked == images:
		request.Method = "GenerateImage"
	case stream:
		request.Method = "StreamGenerateText"
	}
	result := m.answer(c, asked, &request, stream)
	return request, result
}

// answer is what becomes of a request.
func (m *maker) answer(c *caller, asked *model, request *ledger.Request, stream bool) ledger.Result {
	r := ledger.Result{Outcome: ledger.OK, Route: asked.route}
	t := ledger.Timeline{Admitted: m.took(900 * time.Microsecond)}
	t.Limits = ledger.Stage{Begin: t.Admitted / 3, End: t.Admitted / 2}
	at := t.Admitted + m.took(150*time.Microsecond)
	t.Route = ledger.Stage{Begin: t.Admitted, End: at}
	for _, to := range asked.targets {
		a := ledger.Attempt{Upstream: to.upstream, Protocol: to.protocol, Model: asked.name, Begin: at, Calls: 1, Status: 200}
		a.Connected = at + m.took(2*time.Millisecond)
		r.Attempts++
		r.Upstream, r.UpstreamProtocol = to.upstream, to.protocol
		r.Outcome, r.Kind, r.Reason = ledger.OK, "", ""
		luck := m.rand.Float64()
		switch {
		case to == openAI && request.Start.After(m.outage) && request.Start.Before(m.outage.Add(48*time.Minute)):
			a.Status, a.Kind, a.Reason, a.Message = 503, "unavailable", "server_error", "The server had an error while processing your request."
		case luck < .006:
			a.Status, a.Kind, a.Reason, a.Message = 529, "overloaded", "overloaded_error", "Overloaded"
		case luck < .012:
			a.Status, a.Kind, a.Reason, a.Message = 400, "invalid_request", "CONTEXT_LENGTH_EXCEEDED", "The prompt is longer than the model's context window."
		default:
			m.serve(c, asked, &r, &a, stream)
		}
		if a.Status != 200 {
			a.Headers = a.Connected + m.took(150*time.Millisecond)
			a.End = a.Headers
			r.Outcome, r.Kind, r.Reason = ledger.Failed, a.Kind, a.Reason
		}
		at = a.End
		t.Attempts = append(t.Attempts, a)
		if a.Status < 500 {
			break
		}
	}
	r.Duration = at + m.took(120*time.Microsecond)
	t.Settled = r.Duration + m.took(60*time.Microsecond)
	if members := lost[[2]string{c.protocol, r.UpstreamProtocol}]; len(members) > 0 && m.rand.IntN(2) == 0 {
		r.Losses = strings.Join(members, ",")
	}
	if r.Usage != (ledger.Usage{}) {
		c := ledger.Charge{Upstream: r.Upstream, Model: r.Model, Usage: r.Usage, Unpriced: true}
		if p, ok := m.prices.FindFirst(price.Query{Upstream: r.Upstream, Models: []string{r.Model, asked.name}, At: request.Start}); ok {
			c.Unpriced = false
			p.Charge(&c)
		}
		r.Charge([]ledger.Charge{c})
	}
	r.Timeline = string(ledger.AppendTimeline(nil, &t, request, &r))
	return r
}

// serve is an attempt that has an answer.
func (m *maker) serve(c *caller, asked *model, r *ledger.Result, a *ledger.Attempt, stream bool) {
	r.Model = asked.served
	if asked == images {
		r.Usage.Images = 1 + int64(m.rand.IntN(3))
		a.Headers = a.Connected + m.took(asked.first)
		a.End = a.Headers + m.took(40*time.Millisecond)
		return
	}
	u := &r.Usage
	u.Input, u.Output = 8+int64(m.about(c.input, .5)), 1+int64(m.about(c.output, .8))
	u.CacheRead = int64(float64(u.Input) * c.cached * m.rand.Float64())
	u.Thinking = int64(float64(u.Output) * c.thinking * m.rand.Float64())
	first := a.Connected + m.took(asked.first)
	a.End = first + time.Duration(float64(u.Output)/asked.perSecond*float64(time.Second))
	if !stream {
		a.Headers = a.End
		return
	}
	a.Headers, a.FirstEvent, a.Released = a.Connected+(first-a.Connected)/2, first, first+m.took(40*time.Microsecond)
	a.End = max(a.End, a.Released)
	r.FirstEvent = a.Released
	if m.rand.Float64() < .03 { // the caller disconnects, and the upstream would have said the usage at the end
		a.End = a.Released + (a.End-a.Released)/3
		a.Kind, a.Reason, r.Usage = "cancelled", "CANCELLED", ledger.Usage{}
		r.Outcome, r.Kind, r.Reason = ledger.Cancelled, a.Kind, a.Reason
	}
}

// about returns a figure near a usual one: most within a factor of two, some far above.
func (m *maker) about(usual, sigma float64) float64 {
	return usual * math.Exp(m.rand.NormFloat64()*sigma)
}

func (m *maker) took(usual time.Duration) time.Duration {
	return time.Duration(m.about(float64(usual), .35)).Round(time.Microsecond)
}

func (m *maker) hex(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(m.rand.Uint32())
	}
	return hex.EncodeToString(b)
}
