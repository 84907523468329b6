package faults_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/upstream"
	"github.com/genway/genway/core/upstream/provider"
	"github.com/genway/genway/core/upstream/remote"
	"github.com/genway/genway/test/cases/harness"
	"github.com/genway/genway/test/faults/faulty"
	"github.com/genway/genway/test/strict"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cell is one case of the table.
type cell struct {
	fault            faulty.Fault
	moment           faulty.Moment
	caller, upstream harness.Protocol
	streamed         bool
	// bedrock says that the upstream's messages come from Bedrock's InvokeModel, whose
	// streams are framed by AWS's event stream.
	bedrock bool
}

func (c cell) String() string {
	how := "unary"
	if c.streamed {
		how = "streamed"
	}
	if c.bedrock {
		how += " by bedrock"
	}
	return fmt.Sprintf("%s, %s: %s over %s, %s", c.fault, c.moment, c.caller, c.upstream, how)
}

// want is the written outcome.
func (c cell) want() outcome {
	if c.bedrock && c.streamed && c.fault == faulty.Garbled && c.moment == faulty.AfterEnd {
		return whole // a frame that is damaged ends the stream, as a connection does
	}
	if e, ok := exceptions[exception{c.fault, c.moment, c.upstream}]; ok {
		return e.outcome
	}
	table := unary
	if c.streamed {
		table = streamed
	}
	for i, m := range faulty.Moments() {
		if m == c.moment {
			return table[c.fault][i]
		}
	}
	return none
}

// cells are all that exist, each protocol called by itself and by the others.
// Images are images for every caller, and never streamed by an upstream.
func cells() []cell {
	var all []cell
	for _, f := range faulty.Faults() {
		for _, m := range faulty.Moments() {
			for _, how := range []bool{false, true} {
				if faulty.Meaningless(f, m, how) != "" {
					continue
				}
				if !how {
					all = append(all, cell{fault: f, moment: m, caller: harness.Images, upstream: harness.Images})
				}
				for _, upstream := range harness.Texts() {
					for _, caller := range harness.Texts() {
						if caller == upstream || !race || caller == foreign[upstream] {
							c := cell{fault: f, moment: m, caller: caller, upstream: upstream, streamed: how}
							all = append(all, c)
							if c.bedrock = true; upstream == harness.Messages {
								all = append(all, c)
							}
						}
					}
				}
			}
		}
	}
	return all
}

// foreign is the one caller of another protocol that the slow race detector sees.
var foreign = map[harness.Protocol]harness.Protocol{
	harness.Chat: harness.Messages, harness.Messages: harness.Responses, harness.Responses: harness.GenerateContent, harness.GenerateContent: harness.Interactions,
	harness.Interactions: harness.Chat,
}

// silenceLimit is how long a silent upstream is waited for where silence is the fault. Where it
// is not, it is so long that a busy machine does not look like one.
const (
	silenceLimit = 1500 * time.Millisecond
	plenty       = 30 * time.Second
)

// atOnce is how many cells run at once: most of them only wait.
const atOnce = 96

func TestFaults(t *testing.T) {
	all := cells()
	table := &routes{}
	g := harness.New(t, harness.Config{Wrap: func(upstream.Upstream) upstream.Upstream { return table }})
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: plenty}
	failed := make([]error, len(all))
	slots := make(chan struct{}, atOnce)
	var running sync.WaitGroup
	for i, c := range all {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			failed[i] = c.run(table, fmt.Sprintf("cell-%d", i), g.URL, client)
		})
	}
	running.Wait()
	for i, c := range all {
		if failed[i] != nil {
			t.Errorf("%s: %v", c, failed[i])
		}
	}
	t.Logf("%d cells", len(all))
	document(t)
}

// run breaks one answer and compares what the caller gets with the table.
func (c cell) run(table *routes, model, url string, client *http.Client) error {
	good := answer(c.upstream, c.streamed)
	if c.bedrock && c.streamed {
		good = invoked()
	}
	u, err := faulty.New(c.fault, c.moment, good)
	if err != nil {
		return err
	}
	defer u.Close()
	transport := remote.NewTransport(remote.Way{})
	transport.DialContext = u.Dial
	transport.TLSClientConfig = u.ClientTLS()
	defer transport.CloseIdleConnections()
	config := remote.Config{Protocol: c.upstream.ID(), BaseURL: u.URL, HTTP: transport,
		FirstByte: plenty, Idle: plenty, Hold: plenty, Grace: 100 * time.Millisecond}
	if c.bedrock {
		config.Place, _ = provider.Find("bedrock").Endpoint("messages", "invoke")
	}
	if c.fault == faulty.Stall || c.fault == faulty.ConnectStall {
		config.FirstByte, config.Idle = silenceLimit, silenceLimit
	}
	adapter, err := remote.New(config)
	if err != nil {
		return err
	}
	table.add(model, route.Target{Name: string(c.upstream), Upstream: adapter, Protocol: config.Protocol, Model: "m",
		Guard: route.NewGuard(route.Limits{Retries: 1, BreakAfter: -1, Backoff: time.Millisecond})})
	resp, err := send(context.Background(), client, url, harness.CallOf(c.caller, model, c.caller.Hello(), c.streamed))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	// If the answer has ended, the caller has got its end.
	got, err := judge(c.caller, c.streamed, c.moment == faulty.AfterEnd, resp)
	if err != nil {
		return err
	}
	for _, r := range u.Requests() {
		if refused, _ := strict.Received("", r.Path, r.Body); len(refused) > 0 {
			return fmt.Errorf("the vendor refuses %v in %s", refused, r.Body)
		}
	}
	got.calls = u.Calls()
	if got != c.want() {
		return fmt.Errorf("%+v, want %+v", got, c.want())
	}
	return nil
}

func send(ctx context.Context, client *http.Client, url string, call harness.Call) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+call.Path, strings.NewReader(call.Body))
	if err != nil {
		return nil, err
	}
	req.Header = call.Header
	return client.Do(req)
}
