// Command replay plays recorded exchanges through upstreams of providers: Amazon Bedrock, Vertex
// AI and Azure. It starts the gateway before a fake of each place, sends each recorded request
// on the recorded protocol's own path, and answers it with the recorded answer in the place's
// framing. An exchange passes if the place received the recorded request and the caller the
// recorded answer, but for the changes that the place makes, which places lists.
//
//	replay -corpus dev.jsonl.gz -genway ./genway
//	replay -corpus dev.jsonl.gz -sticky
//
// It exits 1 unless all exchanges pass.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/genway/genway/test/clouds"
	"github.com/genway/genway/test/recorded"
)

func main() {
	corpus := flag.String("corpus", "", "the corpus, gzipped JSON lines")
	program := flag.String("genway", "", "the gateway's program")
	sticky := flag.Bool("sticky", false, "instead, reckon from the recorded usage what sticky routes save")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	all, err := recorded.Load(*corpus)
	switch {
	case err != nil:
	case *sticky:
		stickiness(all, os.Stdout)
	default:
		err = play(ctx, *program, all, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "replay:", err)
		os.Exit(1) //nolint:gocritic // the process ends, and with it what stop would end
	}
}

// play plays exchanges through all places, side by side, and reports what came of them.
func play(ctx context.Context, program string, all []exchange, out io.Writer) error {
	left := map[string]int{}
	for _, x := range all {
		if why := leftOut(x); why != "" {
			left[why]++
		}
	}
	for _, why := range slices.Sorted(maps.Keys(left)) {
		fmt.Fprintf(out, "left out: %d of %s\n", left[why], why)
	}
	reports := make([]report, len(places))
	var group sync.WaitGroup
	for i, p := range places {
		group.Go(func() { reports[i] = p.play(ctx, program, all) })
	}
	group.Wait()
	fmt.Fprintf(out, "%-24s %9s %9s %9s %9s\n", "place", "exchanges", "lossless", "refused", "lossy")
	failed := 0
	for i, r := range reports {
		if r.err != nil {
			return fmt.Errorf("%s: %w", places[i].name, r.err)
		}
		fmt.Fprintf(out, "%-24s %9d %9d %9d %9d\n", places[i].name, r.played, r.lossless, r.refused, len(r.lossy))
		if r.lossless == 0 {
			return fmt.Errorf("%s: no exchange was played", places[i].name)
		}
		failed += len(r.lossy)
	}
	for i, r := range reports {
		for _, line := range r.lossy[:min(len(r.lossy), 20)] {
			fmt.Fprintf(out, "%s %s\n", places[i].name, line)
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d exchanges lost something", failed)
	}
	return nil
}

// report is what came of the exchanges of one place.
type report struct {
	played, lossless, refused int
	lossy                     []string
	err                       error
}

// play plays exchanges through a gateway of the place's own.
func (p place) play(ctx context.Context, program string, all []exchange) (r report) {
	dir, err := os.MkdirTemp("", "replay")
	if err != nil {
		return report{err: err}
	}
	defer os.RemoveAll(dir)
	account, err := clouds.NewServiceAccount("replay@p.iam.gserviceaccount.com")
	if err != nil {
		return report{err: err}
	}
	at := &player{place: p, issuer: &clouds.Issuer{Check: func(r *http.Request) error {
		return account.Verify(r.FormValue("assertion"), "http://"+r.Host+"/token", "https://www.googleapis.com/auth/cloud-platform", time.Now())
	}}}
	server := httptest.NewServer(at)
	defer server.Close()
	file, err := account.File(server.URL + "/token")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "account.json"), file, 0o600)
	}
	if err != nil {
		return report{err: err}
	}
	upstream := strings.NewReplacer("{host}", strings.TrimPrefix(server.URL, "http://"), "{dir}", dir).Replace(p.upstream)
	g, err := start(ctx, program, dir, upstream, p.protocols)
	if err != nil {
		return report{err: err}
	}
	defer g.end()
	client := &http.Client{}
	defer client.CloseIdleConnections()
	for _, x := range all {
		if !slices.Contains(p.protocols, x.Protocol) || leftOut(x) != "" {
			continue
		}
		r.played++
		at.begin(x)
		got, err := ask(ctx, client, g, x)
		if err != nil {
			return report{err: fmt.Errorf("%s: %w", x.ID, err)}
		}
		if slices.Contains(p.refused, x.Protocol) {
			if wrong := got.refusal(at.received()); wrong != "" {
				r.lossy = append(r.lossy, x.ID+": "+wrong)
			} else {
				r.refused++
			}
			continue
		}
		if wrong := p.judge(x, at.received(), got); len(wrong) > 0 {
			r.lossy = append(r.lossy, x.ID+": "+strings.Join(wrong, "; "))
		} else {
			r.lossless++
		}
	}
	return r
}
