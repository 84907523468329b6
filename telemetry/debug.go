package telemetry

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/pprof"
	"runtime/debug"
	"time"

	"github.com/genway/genway/telemetry/flight"
)

// maxListed bounds the requests that one answer lists.
const maxListed = 1000

// debugWrite bounds an answer: a profile takes as long as it was asked to.
const debugWrite = 5 * time.Minute

// ServeDebug answers on the listener until ctx ends:
//
//   - /debug/pprof/: profiles, and /debug/pprof/goroutine?debug=2: all goroutines,
//   - /debug/build: what the program was built from,
//   - /debug/requests: the requests in flight, the oldest first, at most 1,000; with
//     ?id=REQUEST_ID those of that identifier.
//
// The pages need no key: they are for loopback and unix sockets.
func (t *Telemetry) ServeDebug(ctx context.Context, listener net.Listener, board *flight.Board) error {
	return t.serve(ctx, listener, debugPages(board), debugWrite)
}

func debugPages(board *flight.Board) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("GET /debug/build", func(w http.ResponseWriter, _ *http.Request) {
		built, _ := debug.ReadBuildInfo()
		writeJSON(w, built)
	})
	mux.HandleFunc("GET /debug/requests", func(w http.ResponseWriter, r *http.Request) {
		if id := r.URL.Query().Get("id"); id != "" {
			writeJSON(w, board.Find(id))
			return
		}
		writeJSON(w, board.List(maxListed))
	})
	return hostsOf(mux)
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	//nolint:errchkjson // the values can be encoded, and a caller that has disconnected needs no answer
	_ = encoder.Encode(v)
}

// hostsOf refuses requests by a name: a page in a browser on this machine could reach the
// listener by a name that points here (DNS rebinding). Addresses, localhost and nothing, as
// over a unix socket, are no such names.
func hostsOf(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		if host != "" && host != "localhost" && host != "unix" && net.ParseIP(host) == nil || r.Header.Get("Origin") != "" {
			http.Error(w, "these pages are reached by an address or as localhost", http.StatusForbidden)
			return
		}
		handler.ServeHTTP(w, r)
	})
}
