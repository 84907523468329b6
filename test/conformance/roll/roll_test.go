package roll

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/server"
)

func TestMain(m *testing.M) { server.Main(m, nil) }

// size is how much a run does.
type size struct {
	rate, streams, words int
	drip                 string
	rolls                []string
}

// sizes are that of `make test` and that of `make roll`.
func sizes() size {
	if os.Getenv("GENWAY_ROLL") == "full" {
		return size{rate: 300, streams: 200, words: 60, drip: "sandbox-drip-100ms", rolls: []string{"cores", "edges", "both"}}
	}
	return size{rate: 50, streams: 40, words: 20, drip: "sandbox-drip-50ms", rolls: []string{"both"}}
}

// No request fails, and each stream ends whole, while cores, edges or both are restarted
// one after the other.
func TestRollingRestarts(t *testing.T) {
	size := sizes()
	site := newSite(t)
	var table strings.Builder
	fmt.Fprintf(&table, "\n| restarted | seconds | requests | failed | p50 | p99 | streams | cut |\n|---|---|---|---|---|---|---|---|\n")
	for _, roll := range size.rolls {
		ctx, end := context.WithCancel(t.Context())
		b := balance(ctx, site.edges)
		l := &load{balancer: b, key: site.key, rate: size.rate, streams: size.streams, drip: size.drip, words: size.words,
			client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1000}}}
		site.warm(func() { _, _ = l.ask(ctx, hello) }) // it may be refused
		begun := time.Now()
		l.begin(ctx)
		for i := range site.cores {
			var restarts sync.WaitGroup
			if roll != "edges" {
				restarts.Go(func() { site.restart(site.cores[i], b) })
			}
			if roll != "cores" {
				restarts.Go(func() { site.restart(site.edges[i], b) })
			}
			restarts.Wait()
		}
		took := time.Since(begun)
		end()
		l.end()
		b.probing.Wait()
		fmt.Fprintf(&table, "| %s | %.0f | %d | %d | %.1f ms | %.1f ms | %d | %d |\n", roll, took.Seconds(), len(l.took), len(l.failures),
			l.quantile(0.5).Seconds()*1e3, l.quantile(0.99).Seconds()*1e3, l.whole+len(l.cut), len(l.cut))
		for what, failed := range map[string][]error{"request": l.failures, "stream": l.cut} {
			for _, err := range failed[:min(len(failed), 5)] {
				t.Errorf("%s: a %s failed: %v", roll, what, err)
			}
		}
		if len(l.failures)+len(l.cut) > 0 {
			t.Errorf("%s: %d of %d requests and %d of %d streams failed", roll, len(l.failures), len(l.took), len(l.cut), l.whole+len(l.cut))
		}
		if len(l.took) == 0 || l.whole < size.streams {
			t.Errorf("%s: only %d requests and %d streams", roll, len(l.took), l.whole)
		}
	}
	t.Log(table.String())
}
