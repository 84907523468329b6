package pipe_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"testing"

	"go.uber.org/goleak"

	"github.com/genway/genway/internal/transport/pipe"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A server on the listener sees where the caller says that it is, and ends with it.
func TestListener(t *testing.T) {
	l := pipe.NewListener()
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.RemoteAddr) })}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	for from, want := range map[netip.Addr]string{netip.MustParseAddr("192.0.2.7"): "192.0.2.7:0", netip.MustParseAddr("2001:db8::1"): "[2001:db8::1]:0", {}: "@"} {
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return l.Dial(ctx, from) }}}
		resp, err := client.Get("http://gateway/")
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		if err = errors.Join(err, resp.Body.Close()); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", from, got, err)
		}
	}
	if err := server.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
	if _, err := l.Dial(t.Context(), netip.Addr{}); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a closed listener: %v", err)
	}
	// No listener accepts: dialing ends with its context.
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := pipe.NewListener().Dial(cancelled, netip.Addr{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller who gives up: %v", err)
	}
	if l.Addr().String() != "@" || l.Addr().Network() != "unix" || l.Close() != nil {
		t.Errorf("address %s", l.Addr())
	}
}
