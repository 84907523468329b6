package remote

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/images"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
	"github.com/genway/genway/telemetry/tracing"
)

// Reasons for which the gateway ends a call.
var (
	errIdle      = errors.New("remote: the upstream makes no progress")
	errKeptOpen  = errors.New("remote: the upstream keeps the stream open after its end")
	errNoContent = errors.New("remote: the upstream's stream has no content")
)

// call posts body and returns the answer when its status is 2xx (case K12), else
// its fault. The context of the call ends when the answer's body is closed.
func (u *Upstream) call(ctx context.Context, op protocol.Operation, model string, body []byte, wire *genwayv1.WireMessage) (*answer, error) {
	body, err := u.placed(op, body, wire)
	if err != nil {
		return nil, err
	}
	a := &answer{upstream: u, record: call.Of(ctx)}
	if c := a.record.Capture; c != nil {
		a.captured = c.Call(a.record.TargetName(), u.protocol.Name, body, u.redact)
	}
	if op == protocol.Stream {
		a.kind = aStream
	}
	ctx, a.end = context.WithCancelCause(ctx)
	a.trace.GotConn, a.trace.WroteRequest = a.gotConn, a.wroteRequest
	ctx = httptrace.WithClientTrace(ctx, &a.trace)
	a.ctx = ctx
	a.idle.start(u.config.FirstByte, func() { a.end(errIdle) })
	resp, err := u.send(a, op, model, body, wire) //nolint:bodyclose // the answer closes it
	if err != nil {
		a.idle.stop()
		a.record.Accepted = a.cause() != nil && a.written.Load() > 0
		err = u.interrupted(ctx, err)
		a.end(nil)
		return nil, err
	}
	a.idle.resetTo(u.config.Idle)
	u.note(ctx, resp.Header, wire)
	err = a.begin(resp)
	switch {
	case resp.StatusCode/100 != 2:
		defer a.close()
		if err != nil || resp.StatusCode < 200 {
			a.body = http.NoBody // the status is enough; what follows a 101 is no answer
		}
		return nil, u.refused(a, resp, wire)
	case err != nil:
		a.close()
		return nil, u.interrupted(ctx, err)
	}
	a.record.Accepted = true
	return a, nil
}

// request makes the HTTP request of a call.
func (u *Upstream) request(ctx context.Context, op protocol.Operation, model string, body []byte, wire *genwayv1.WireMessage) *http.Request {
	req := u.blank.WithContext(ctx)
	req.URL, req.Header = u.address(op, model), u.headers(wire)
	if e := u.config.Place; e != nil && (e.NoStream || len(e.Betas) > 0) {
		betas, own := u.betas(wire, body)
		if e.NoStream || !own {
			req.Header = maps.Clone(req.Header)
			req.Header.Del(betaHeader)
		}
		if !e.NoStream && !own && len(betas) > 0 {
			req.Header.Set(betaHeader, strings.Join(betas, ","))
		}
	}
	if form := images.FormType(body); form != "" {
		req.Header = maps.Clone(req.Header)
		req.Header.Set("Content-Type", form)
	}
	if u.config.Trace {
		req.Header = traced(req.Header, call.Of(ctx).Carried())
	}
	// The transport writes the head by itself, before the body, for types of readers that it does
	// not know.
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	return req
}

// refused returns the fault of an answer that is not 2xx.
func (u *Upstream) refused(a *answer, resp *http.Response, wire *genwayv1.WireMessage) error {
	body, err := io.ReadAll(io.LimitReader(a.body, 1<<20))
	if err != nil && a.ctx.Err() != nil {
		return u.interrupted(a.ctx, err)
	}
	body = u.placeError(resp.StatusCode, resp.Header, u.redact(bytes.TrimPrefix(body, byteOrderMark)))
	f := u.protocol.ErrorCodec().DecodeError(resp.StatusCode, body)
	f.Classify()
	noteRefusal(a.record, f)
	f.Status = callerStatus(resp.StatusCode)
	f.RetryAfter = retryAfter(resp.Header)
	f.UpstreamRequestID = requestID(resp.Header)
	switch {
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden && f.Reason != fault.ReasonContentPolicy || resp.StatusCode == http.StatusProxyAuthRequired:
		own := upstream.CredentialsRefused(f)
		own.UpstreamRequestID = f.UpstreamRequestID
		return own
	case !u.speaks(wire):
		f.Wire = nil
		translate(f)
	}
	return f
}

// translate sets the reason and the kind of unknown models and of overload, as callers of another
// protocol know them: the vendors report an unknown model by the message of a 404, overload by a 529 or by
// from a 503, and a caller's protocol has its own texts and statuses for both.
func translate(f *fault.Error) {
	message := strings.ToLower(f.Message)
	switch {
	case f.Kind == fault.NotFound && strings.Contains(message, "model"):
		f.Reason = fault.ReasonModelNotFound
	case f.Kind == fault.Overloaded || f.Kind == fault.Unavailable && strings.Contains(message, "overloaded"):
		f.Kind, f.Status = fault.Overloaded, 0
	}
}

// callerStatus keeps an upstream's status where it means the same to the caller. One beyond 599 is
// no status (RFC 9110, 15).
func callerStatus(status int) int {
	if status < 400 || status > 599 {
		return http.StatusBadGateway
	}
	return status
}

func (u *Upstream) speaks(wire *genwayv1.WireMessage) bool {
	return wire.GetProtocol() == u.config.Protocol
}

// interrupted returns the fault of an error of the transport: why the call's own
// context ended, else that the upstream is not reachable.
func (u *Upstream) interrupted(ctx context.Context, err error) error {
	var f *fault.Error
	switch cause := context.Cause(ctx); {
	case errors.As(err, &f):
		return f
	case errors.Is(cause, errIdle):
		return upstream.Late(cause)
	case cause != nil:
		return upstream.Interrupted(ctx)
	}
	return upstream.Unreachable(err)
}

// maxWait bounds the wait that an upstream may ask for.
const maxWait = 30 * 24 * time.Hour

// waitOf returns the duration of figure units, at most maxWait.
func waitOf(figure float64, unit time.Duration) time.Duration {
	return time.Duration(min(figure*float64(unit), float64(maxWait)))
}

// retryAfter reads how long the caller is to wait: Retry-After-Ms, or else Retry-After in seconds
// or as a date; 0 without either.
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return waitOf(ms, time.Millisecond)
	}
	value := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(value, 64); err == nil && s > 0 {
		return waitOf(s, time.Second)
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(0, time.Until(at)), maxWait)
	}
	return 0
}

func requestID(h http.Header) string {
	for _, name := range []string{"X-Request-Id", "Request-Id", "X-Amzn-Requestid", "Apim-Request-Id"} {
		if id := h.Get(name); id != "" && len(id) <= 128 {
			return id
		}
	}
	return ""
}

// SetAPIKey sets the key of calls that begin from now on.
func (u *Upstream) SetAPIKey(key string) { u.useKeys(key, (*u.keys.Load())[0]) }

// useKeys sets the key to the first. The others are redacted as it is, since calls that began with
// them are still in flight.
func (u *Upstream) useKeys(keys ...string) {
	config := u.config
	config.APIKey = keys[0]
	own := config.ownHeaders(u.protocol)
	u.own.Store(&own)
	u.keys.Store(&keys)
	u.setAccount(keys[0])
}

// ownHeaders are the headers of every call: ours, then the operator's.
func (c *Config) ownHeaders(p *protocol.Protocol) http.Header {
	h := http.Header{}
	h.Set("Content-Type", "application/json")
	h.Set("User-Agent", "genway")
	if c.APIKey != "" {
		c.setKey(h, p)
	}
	if version := p.Version; len(version.Headers) > 0 && !c.versionInBody(p) {
		h.Set(version.Headers[0], cmp.Or(c.Version, version.Oldest))
	}
	for name, value := range c.Headers {
		h.Set(name, value)
	}
	return h
}

// headers returns the headers of a call: ownHeaders, and if the upstream speaks the caller's
// protocol, those that came with the caller's body, unless the configuration sets them or the version
// that they name. The result must not be changed.
func (u *Upstream) headers(wire *genwayv1.WireMessage) http.Header {
	h := *u.own.Load()
	if len(wire.GetHeaders()) == 0 || !u.speaks(wire) {
		return h
	}
	own := true
	for name, value := range wire.GetHeaders() {
		if !protocol.NamesHeader(u.protocol.PassedHeaders, name) || u.operators(name) || u.config.Version != "" && slices.Contains(u.protocol.Version.Headers, name) {
			continue
		}
		if u.config.Place != nil && u.config.Place.Version != "" && !slices.Contains(placed, name) {
			continue
		}
		if own {
			h, own = maps.Clone(h), false
		}
		h.Set(name, value)
	}
	return h
}

// placed are the passed headers that a place knows whose API is not the vendor's own, as Vertex AI.
var placed = []string{"anthropic-beta", "anthropic-version"}

// operators reports whether the operator sets a header.
func (u *Upstream) operators(name string) bool {
	for set := range u.config.Headers {
		if strings.EqualFold(set, name) {
			return true
		}
	}
	return false
}

// note puts headers of an answer into the call record: the upstream's request id, and for a caller
// of the upstream's protocol those that it may read.
func (u *Upstream) note(ctx context.Context, h http.Header, wire *genwayv1.WireMessage) {
	var found map[string]string
	add := func(name, value string) {
		if found == nil {
			found = map[string]string{}
		}
		found[name] = value
	}
	if id := requestID(h); printable(id) {
		add("x-genway-upstream-request-id", id)
	}
	if u.speaks(wire) {
		for name, values := range h {
			if len(found) < maxAnswered && u.mayRead(name) && printable(values[0]) {
				add(strings.ToLower(name), values[0])
			}
		}
	}
	record := call.Of(ctx)
	record.Headers, record.ServedTier = found, h.Get(servedTier)
}

// servedTier is the header in which the Gemini API says which service tier has served an answer.
const servedTier = "X-Gemini-Service-Tier"

// mayRead reports whether a caller of the upstream's protocol may read a header.
func (u *Upstream) mayRead(name string) bool {
	return protocol.NamesHeader(u.protocol.AnswerHeaders, name) || u.config.Place != nil && protocol.NamesHeader(u.config.Place.Headers, name)
}

// maxAnswered is the most headers that note takes, since every proxy on the way bounds headers.
const maxAnswered = 32

// printable reports whether a value has at most 128 characters, all of printable ASCII.
func printable(value string) bool {
	if value == "" || len(value) > 128 {
		return false
	}
	for i := range len(value) {
		if value[i] < 0x20 || value[i] > 0x7e {
			return false
		}
	}
	return true
}

// operations are those that an upstream is called for.
var operations = []protocol.Operation{protocol.Generate, protocol.Stream, protocol.Count, protocol.Draw, protocol.Edit, protocol.ListModels, protocol.Compact}

// address returns the URL of an operation with a model. The result must not be changed.
func (u *Upstream) address(op protocol.Operation, model string) *url.URL {
	if known := u.addresses[op]; known != nil {
		return known
	}
	return u.addressOf(op, model)
}

// addressOf makes a URL of the base, the version if one is to be added, the path of the operation, and
// the queries of the base, the configuration and the operation.
func (u *Upstream) addressOf(op protocol.Operation, model string) *url.URL {
	base := strings.TrimRight(u.base.EscapedPath(), "/")
	path, own := u.path(op, model)
	if version := u.version(base); version != "" && !own {
		path = "/" + version + path
	}
	address := *u.base
	address.RawPath, address.Path = "", base+path
	if unescaped, err := url.PathUnescape(address.Path); err == nil && unescaped != address.Path {
		address.RawPath, address.Path = address.Path, unescaped
	}
	query := []string{u.base.RawQuery}
	for _, name := range slices.Sorted(maps.Keys(u.config.Query)) {
		query = append(query, url.QueryEscape(name)+"="+url.QueryEscape(u.config.Query[name]))
	}
	if framing := u.protocol.Stream.Query; op == protocol.Stream && framing.Name != "" {
		query = append(query, framing.Name+"="+framing.Value)
	}
	address.RawQuery = strings.Join(slices.DeleteFunc(query, func(q string) bool { return q == "" }), "&")
	return &address
}

// path returns the path of an operation, which follows the base's path and the version and begins with
// a slash. own means that it is configured, or of the provider: then no version is added.
func (u *Upstream) path(op protocol.Operation, model string) (path string, own bool) {
	if own = u.config.Path != ""; own {
		path = "/" + strings.Trim(u.config.Path, "/")
		if path == "/" {
			path = ""
		}
	}
	if path, known := u.placePath(op, model); known {
		return path, true
	}
	_, generic, verb := u.protocol.UpstreamPath(op)
	if u.protocol.NamesModelInPath() {
		if !own {
			path = generic
		}
		if op != protocol.ListModels {
			path += "/" + url.PathEscape(strings.TrimPrefix(model, "models/")) + verb
		}
		return path, own
	}
	if op == protocol.ListModels {
		return "/models", false
	}
	if !own {
		return generic, false
	}
	return u.protocol.PathAt(path, op), true
}

// version returns the version that is put between the base and a path of the protocol;
// empty for none. It is never put behind a base that has a version already, and behind
// one with a path only where the protocol's SDKs do so.
func (u *Upstream) version(base string) string {
	if hasVersion(base) || base != "" && !u.protocol.Upstream.VersionBehindPath {
		return ""
	}
	version, _, _ := u.protocol.UpstreamPath(protocol.Generate)
	return version
}

// hasVersion reports whether a path has a version as a segment: v1, v1beta, v4.
func hasVersion(path string) bool {
	for segment := range strings.SplitSeq(path, "/") {
		if len(segment) >= 2 && segment[0] == 'v' && segment[1] >= '0' && segment[1] <= '9' {
			return true
		}
	}
	return false
}

// URL returns the URL that is called for a unary answer of a model, with its credentials redacted.
func (u *Upstream) URL(model string) string {
	address := *u.addressOf(protocol.Generate, model)
	var shown []string
	for pair := range strings.SplitSeq(address.RawQuery, "&") {
		if name, value, _ := strings.Cut(pair, "="); value != "" && isSecret(name) {
			pair = name + "=" + redacted
		}
		shown = append(shown, pair)
	}
	address.RawQuery = strings.Join(shown, "&")
	return address.Redacted()
}

// traced returns a copy of the headers with the context of the trace.
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

// addressOf returns server.address and server.port of OpenTelemetry's conventions.
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

// Credential authorises calls. The implementations, which renew themselves, are in package
// core/upstream/credential. It is safe for concurrent use.
type Credential interface {
	// Name is the name of the credential's kind in the configuration.
	Name() string
	// Authorize sets the headers that authenticate the request. refused is called with an answer of
	// status 401 or 403, and reports whether the request is to be authorised and sent once more. The
	// error is the request context's, or the reason why there is no valid credential.
	Authorize(req *http.Request, body []byte) (refused func(*http.Response) bool, err error)
	// Secrets are the values that are redacted from answers and errors.
	Secrets() []string
}

// reasonCredential is the reason of a call that was not made because there was no valid credential.
const reasonCredential = "UPSTREAM_CREDENTIAL_UNAVAILABLE" //nolint:gosec // the name of a reason, not a secret

// send sends the request of a call. If the upstream refuses its credential, the request is sent once
// more with a renewed one: an upstream does no work for a request that it answers with 401.
func (u *Upstream) send(a *answer, op protocol.Operation, model string, body []byte, wire *genwayv1.WireMessage) (*http.Response, error) {
	if u.config.Credential == nil {
		return u.roundTrip(a, u.request(a.ctx, op, model, body, wire))
	}
	record := call.Of(a.ctx)
	for again := false; ; again = true {
		req := u.request(a.ctx, op, model, body, wire)
		refused, err := u.authorize(req, body)
		if err != nil {
			record.Calls-- // the call was counted and is not made
			return nil, err
		}
		resp, err := u.roundTrip(a, req)
		if err != nil || again || resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden || !refused(resp) {
			return resp, err
		}
		_ = resp.Body.Close()
		record.Calls++
	}
}

// authorize has the credential set its headers, on a copy of the shared headers.
func (u *Upstream) authorize(req *http.Request, body []byte) (refused func(*http.Response) bool, err error) {
	if u.config.Credential == nil {
		return nil, nil
	}
	req.Header = maps.Clone(req.Header)
	refused, err = u.config.Credential.Authorize(req, body) //nolint:bodyclose // the caller closes it
	switch {
	case err == nil:
		return refused, nil
	case req.Context().Err() != nil:
		return nil, err // the call has ended; its context has the reason
	}
	return nil, fault.Wrap(err, fault.Unavailable, reasonCredential, "the gateway has no valid credential for the upstream of this model (%s)", u.config.Credential.Name())
}
