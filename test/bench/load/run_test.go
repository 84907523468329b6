package load

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/test/bench/upstream"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve runs the upstream for a test and returns its address.
func serve(t *testing.T, s upstream.Settings) (address string, server *upstream.Server) {
	t.Helper()
	listener := listen(t)
	ctx, cancel := context.WithCancel(t.Context())
	server = upstream.New(s)
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String(), server
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

func chatJob(address, body string, expect Expect) *Job {
	return &Job{Request: NewRequest(address, "/v1/chat/completions", []Header{{"Authorization", "Bearer k"}}, []byte(body)), Expect: expect}
}

// A closed loop sends what it says, and counts what the server counts.
func TestClosedLoop(t *testing.T) {
	address, server := serve(t, upstream.Defaults())
	client := NewClient(address, 4, time.Minute)
	defer client.Close()
	result := client.Do(t.Context(), chatJob(address, `{}`, Expect{MinBytes: 1000}), Run{Duration: time.Minute, Requests: 100})
	if result.Requests != 100 || result.Failed() != 0 || server.Served() != 100 {
		t.Errorf("%+v; served %d", result, server.Served())
	}
	if l := result.Latency; l.P50 <= 0 || l.P50 > l.P90 || l.P90 > l.P99 || l.P99 > l.P999 || l.P999 > l.Max {
		t.Errorf("%+v", l)
	}
}

// Streams are read to their end and their events counted.
func TestStreamsFromServer(t *testing.T) {
	s := upstream.Defaults()
	s.Pieces = 20
	address, _ := serve(t, s)
	client := NewClient(address, 2, time.Minute)
	defer client.Close()
	expect := Expect{Pieces: 20, Delta: `"delta"`, End: "[DONE]"}
	result := client.Do(t.Context(), chatJob(address, `{"stream":true}`, expect), Run{Duration: time.Minute, Requests: 10})
	if result.Requests != 10 || result.Events != 10*24 || result.Failed() != 0 || result.First.P50 <= 0 {
		t.Errorf("%+v", result)
	}
	expect.Pieces = 21
	result = client.Do(t.Context(), chatJob(address, `{"stream":true}`, expect), Run{Duration: time.Minute, Requests: 3})
	if result.Requests != 0 || result.Errors[errMissing.Error()] != 3 {
		t.Errorf("%+v", result)
	}
}

// An open loop sends at its rate, whatever the answers do.
func TestOpenLoop(t *testing.T) {
	address, server := serve(t, upstream.Defaults())
	client := NewClient(address, 8, time.Minute)
	defer client.Close()
	result := client.Do(t.Context(), chatJob(address, `{}`, Expect{}), Run{Duration: 100 * time.Millisecond, Rate: 1000})
	if result.Requests != 100 || server.Served() != 100 || result.Lag.P50 < 0 {
		t.Errorf("%+v; served %d", result, server.Served())
	}
}

// A caller who waits for an answer sends nothing else, and what it would have sent is counted.
func TestCallersWait(t *testing.T) {
	s := upstream.Defaults()
	s.Latency = 50 * time.Millisecond
	address, server := serve(t, s)
	client := NewClient(address, 2, time.Minute)
	defer client.Close()
	result := client.Do(t.Context(), chatJob(address, `{}`, Expect{}), Run{Duration: 100 * time.Millisecond, Rate: 1000, Callers: true})
	if n := result.Requests; n == 0 || n > 6 || int64(n) != server.Served() || n+result.Errors[errWaiting] != 100 {
		t.Errorf("%+v; served %d", result, server.Served())
	}
}

// A request that had to wait for its turn is charged from when it was due: here an
// hour ago.
func TestLatencyCountsFromTheIntendedStart(t *testing.T) {
	address, _ := serve(t, upstream.Defaults())
	conn := newConnection(address, time.Minute)
	defer conn.close()
	now := time.Now()
	due := make(chan time.Time, 2)
	due <- now.Add(-time.Hour)
	due <- now
	close(due)
	seen := tally{errors: map[string]int{}}
	conn.open(t.Context(), chatJob(address, `{}`, Expect{}), due, &seen, now.Add(time.Minute), 0)
	if len(seen.latency) != 2 || seen.latency[0] < time.Hour || seen.lag[0] < time.Hour || seen.latency[1] > time.Minute {
		t.Errorf("%+v", seen)
	}
}

// What is no whole answer is an error of its kind, and no sample.
func TestBrokenAnswers(t *testing.T) {
	const chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/event-stream\r\n\r\n"
	for name, c := range map[string]struct{ answer, problem string }{
		"refused":        {"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 2\r\n\r\nno", "status 429"},
		"short":          {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "body too short"},
		"cut":            {"HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n{}", "cut in the body"},
		"cut chunk":      {chunked + "ff\r\ndata: ", "cut in the body"},
		"no last chunk":  {chunked + "2\r\n{}\r\n", "cut in the body"},
		"cut head":       {"HTTP/1.1 200 OK\r\nContent-", "cut in the headers"},
		"none":           {"", "no answer"},
		"something else": {"SSH-2.0-OpenSSH_9.2p1 Debian\r\n", "malformed answer"},
	} {
		t.Run(name, func(t *testing.T) {
			listener := listen(t)
			served := make(chan error, 1)
			go func() { served <- answerOnce(listener, c.answer) }()
			client := NewClient(listener.Addr().String(), 1, time.Minute)
			defer client.Close()
			err := client.Once(t.Context(), chatJob(listener.Addr().String(), `{}`, Expect{MinBytes: 10}))
			if err == nil || err.Error() != c.problem {
				t.Errorf("%v, want %s", err, c.problem)
			}
			if err := <-served; err != nil {
				t.Error(err)
			}
		})
	}
	address, _ := serve(t, upstream.Defaults())
	client := NewClient(address, 1, time.Minute)
	defer client.Close()
	if err := client.Once(t.Context(), chatJob(address, `{}`, chatStream)); err == nil || err.Error() != "no stream of events" {
		t.Error(err)
	}
}

// answerOnce reads one request and answers it with bytes, then closes.
func answerOnce(listener net.Listener, answer string) error {
	defer listener.Close()
	conn, err := listener.Accept()
	if err != nil {
		return err
	}
	defer conn.Close()
	request, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, request.Body); err != nil {
		return err
	}
	_, err = io.Copy(conn, strings.NewReader(answer))
	return err
}

// Percentiles are by nearest rank: of 1 to 1,000 ms the p99 is 990.
func TestPercentiles(t *testing.T) {
	var all []time.Duration
	for n := range 1000 {
		all = append(all, time.Duration(1000-n)*time.Millisecond)
	}
	if got, want := fmt.Sprint(percentiles(all)), "{500 900 990 999 1000}"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := percentiles(nil); got != (Percentiles{}) {
		t.Errorf("%v", got)
	}
	if got, want := fmt.Sprint(percentiles([]time.Duration{time.Millisecond})), "{1 1 1 1 1}"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
