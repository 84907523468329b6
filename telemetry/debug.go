package telemetry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"net/url"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/genway/genway/telemetry/flight"
	"golang.org/x/net/http/httpguts"
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
//     ?id=REQUEST_ID the requests with that identifier.
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

// checked returns what is wrong with the variables that the SDK reads by itself. The SDK ignores a
// value that it cannot use, and writes it to standard error: a header with the key of a vendor,
// too. No error here has the value of a header.
func checked(get func(string) string) error {
	var errs []error
	check := func(variable string, of func(value string) error) {
		if v := get(variable); v != "" {
			if err := of(v); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", variable, err))
			}
		}
	}
	for _, signal := range [...]string{"", "TRACES_", "METRICS_"} {
		of := "OTEL_EXPORTER_OTLP_" + signal
		check(of+"ENDPOINT", checkEndpoint)
		check(of+"HEADERS", checkHeaders)
		check(of+"TIMEOUT", number(0, maxMilliseconds))
		check(of+"COMPRESSION", oneOf("gzip", "none"))
		check(of+"CERTIFICATE", checkAuthorities)
		certificate, key := of+"CLIENT_CERTIFICATE", of+"CLIENT_KEY"
		check(certificate, func(file string) error { return checkPair(file, get(key), key) })
		check(key, func(file string) error { return checkPair(get(certificate), file, certificate) })
	}
	check("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", func(v string) error {
		return oneOf("cumulative", "delta", "lowmemory")(strings.ToLower(v))
	})
	for _, variable := range [...]string{"OTEL_METRIC_EXPORT_INTERVAL", "OTEL_METRIC_EXPORT_TIMEOUT", "OTEL_BSP_SCHEDULE_DELAY", "OTEL_BSP_EXPORT_TIMEOUT"} {
		check(variable, number(1, maxMilliseconds))
	}
	for _, variable := range [...]string{"OTEL_BSP_MAX_QUEUE_SIZE", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE"} {
		check(variable, number(1, maxSpans))
	}
	for _, variable := range [...]string{
		"OTEL_ATTRIBUTE_COUNT_LIMIT", "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT",
		"OTEL_SPAN_EVENT_COUNT_LIMIT", "OTEL_SPAN_LINK_COUNT_LIMIT", "OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT", "OTEL_LINK_ATTRIBUTE_COUNT_LIMIT",
	} {
		check(variable, number(unlimited, maxOfASpan))
	}
	check("OTEL_METRICS_EXEMPLAR_FILTER", oneOf("trace_based"))
	check("OTEL_RESOURCE_ATTRIBUTES", checkAttributes)
	return errors.Join(errs...)
}

const (
	// maxMilliseconds is a day: a multiple of it leaves the range of a duration.
	maxMilliseconds = 24 * 60 * 60 * 1000
	// unlimited and maxOfASpan bound the limits of a span.
	unlimited, maxOfASpan = -1, 1_000_000_000
	// maxSpans bounds the queue, whose memory is taken at the start.
	maxSpans = 1_000_000
)

// number demands a whole number within bounds.
func number(least, most int64) func(string) error {
	return func(v string) error {
		if n, err := strconv.ParseInt(v, 10, 64); err != nil || n < least || n > most {
			return fmt.Errorf("expected a whole number from %d to %d, got %q", least, most, v)
		}
		return nil
	}
}

func oneOf(words ...string) func(string) error {
	return func(v string) error {
		if !slices.Contains(words, v) {
			return fmt.Errorf("%q is not supported; use %s", v, strings.Join(words, " or "))
		}
		return nil
	}
}

// checkEndpoint demands http://HOST:PORT or https://, with a path or without. Its error repeats no
// value that may have a password.
func checkEndpoint(v string) error {
	u, err := url.Parse(v)
	switch {
	case strings.Contains(v, "@"):
		return errors.New("expected http://HOST:PORT or https://HOST:PORT, without a user and a password")
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("expected http://HOST:PORT or https://HOST:PORT, got %q", v)
	}
	return nil
}

// checkHeaders demands NAME=VALUE,NAME=VALUE with values in percent encoding.
func checkHeaders(v string) error {
	for i, header := range strings.Split(v, ",") {
		name, value, found := strings.Cut(header, "=")
		if !found || !httpguts.ValidHeaderFieldName(strings.TrimSpace(name)) {
			return fmt.Errorf("header %d has no name; expected NAME=VALUE,NAME=VALUE", i+1)
		}
		if text, err := url.PathUnescape(value); err != nil || !httpguts.ValidHeaderFieldValue(text) {
			return fmt.Errorf("the value of %s is no header's in percent encoding", strings.TrimSpace(name))
		}
	}
	return nil
}

// checkAttributes demands KEY=VALUE,KEY=VALUE with values in percent encoding.
func checkAttributes(v string) error {
	for attribute := range strings.SplitSeq(v, ",") {
		key, value, found := strings.Cut(attribute, "=")
		if _, err := url.PathUnescape(value); !found || strings.TrimSpace(key) == "" || err != nil {
			return fmt.Errorf("expected KEY=VALUE,KEY=VALUE with values in percent encoding, got %q", attribute)
		}
	}
	return nil
}

func checkAuthorities(file string) error {
	text, err := os.ReadFile(file) //nolint:gosec // the operator names the file
	if err != nil {
		return err
	}
	if !x509.NewCertPool().AppendCertsFromPEM(text) {
		return fmt.Errorf("%s has no certificate", file)
	}
	return nil
}

// checkPair checks a client's certificate and key, of which the other variable names one.
func checkPair(certificate, key, other string) error {
	if certificate == "" || key == "" {
		return fmt.Errorf("%s is not set", other)
	}
	_, err := tls.LoadX509KeyPair(certificate, key)
	return err
}
