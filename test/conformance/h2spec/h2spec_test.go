// Package h2spec holds both ports to HTTP/2 by the public suite of that name.
package h2spec

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/genway/genway/test/conformance/server"
	"github.com/summerwind/h2spec/config"
	"github.com/summerwind/h2spec/generic"
	"github.com/summerwind/h2spec/hpack"
	"github.com/summerwind/h2spec/http2"
	"github.com/summerwind/h2spec/spec"
)

var gateway *server.Server

func TestMain(m *testing.M) { server.Main(m, &gateway) }

func TestHTTP(t *testing.T) {
	t.Parallel()
	against(t, gateway.HTTP, "/", httpFailures)
}

func TestGRPC(t *testing.T) {
	t.Parallel()
	against(t, gateway.GRPC, "/genway.v1.Generation/GenerateText", grpcFailures)
}

// demand is one test of the suite.
type demand struct {
	id   string // KEY/SECTION/NUMBER, as h2spec's command takes it
	test *spec.TestCase
}

func demands(g *spec.TestGroup) (all []demand) {
	for i, test := range g.Tests {
		all = append(all, demand{fmt.Sprintf("%s/%d", g.ID(), i+1), test})
	}
	for _, below := range g.Groups {
		all = append(all, demands(below)...)
	}
	return all
}

// timeout is how long a port may take to do what a test waits for.
const timeout = 5 * time.Second

// tries is how often a demand is put before it counts as failed. A request may be answered
// after its headers, before the frames that the suite sends behind them: its stream is
// over then, and the server ignores those frames, as it must.
const tries = 10

// against runs the suite against a port. What fails must be listed, and what is listed fail.
func against(t *testing.T, address, path string, listed map[string]string) {
	t.Helper()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var running sync.WaitGroup
	room := make(chan struct{}, 16)
	passed, failed := 0, map[string]bool{}
	for _, group := range []*spec.TestGroup{generic.Spec(), http2.Spec(), hpack.Spec()} {
		for _, d := range demands(group) {
			running.Go(func() {
				room <- struct{}{}
				defer func() { <-room }()
				c := &config.Config{Host: host, Port: number, Path: path, Timeout: timeout, MaxHeaderLen: 4000}
				err := run(d.test, c)
				for try := 1; err != nil && listed[d.id] == "" && try < tries; try++ {
					err = run(d.test, c)
				}
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					passed++
				case listed[d.id] == "" && !errors.Is(err, spec.ErrSkipped):
					t.Errorf("%s %s: %v", d.id, d.test.Desc, err)
					fallthrough
				default:
					failed[d.id] = true
				}
			})
		}
	}
	running.Wait()
	for id, why := range listed {
		if !failed[id] {
			t.Errorf("%s passes, and is listed: %s", id, why)
		}
	}
	t.Logf("%d of %d pass", passed, passed+len(failed))
}

func run(test *spec.TestCase, c *config.Config) error {
	conn, err := spec.Dial(c)
	if err != nil {
		return err
	}
	defer conn.Close()
	err = test.Run(c, conn)
	var failure *spec.TestError
	if errors.As(err, &failure) && slices.Contains(failure.Expected, "Connection closed") && strings.Contains(failure.Actual, "connection reset by peer") {
		return nil // it is closed, with bytes that were not read
	}
	return err
}
