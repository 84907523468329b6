package remote

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/genway/genway/telemetry/tracing"
)

// traced gives a copy of the headers with the context of the trace.
func traced(h http.Header, carried tracing.Carried) http.Header {
	copied := false
	carried.Headers(func(name, value string) {
		if !copied {
			h, copied = maps.Clone(h), true
		}
		h.Set(name, value)
	})
	return h
}

// answered records the status of a call and the time until the head of its answer.
func (a *answer) answered(req *http.Request, resp *http.Response, sent time.Time) {
	ctx, end := a.ctx, time.Now()
	took := end.Sub(sent)
	a.record.Waited += took
	status, failure := 0, ""
	if resp != nil {
		if status = resp.StatusCode; status >= 400 {
			failure = strconv.Itoa(status)
		}
	} else {
		failure = errorType(context.Cause(ctx))
	}
	address, port := addressOf(req.URL)
	a.record.CalledHTTP(req.Method, address, port, status, failure, end, took)
}

// errorType is error.type of a call without an answer.
func errorType(cause error) string {
	switch {
	case cause == nil:
		return "connection"
	case errors.Is(cause, errIdle), errors.Is(cause, context.DeadlineExceeded):
		return "timeout"
	}
	return "cancelled"
}

// addressOf gives server.address and server.port of OpenTelemetry's conventions.
func addressOf(u *url.URL) (string, int) {
	host, text, err := net.SplitHostPort(u.Host)
	if err != nil {
		if u.Scheme == "http" {
			return u.Host, 80
		}
		return u.Host, 443
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return host, 0
	}
	return host, port
}
