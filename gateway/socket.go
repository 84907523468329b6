package gateway

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/identifier"
	"github.com/genway/genway/protocol"
)

// MaxSockets is how many WebSockets one key may have open, as many as connections one address has by default.
const MaxSockets = 1000

// The bounds of a WebSocket: how long it may be open, as the vendor has it; how long it may be silent before it is sent a ping, and how
// long the answer may take.
const (
	socketAge  = time.Hour
	pingEvery  = 30 * time.Second
	pongWithin = 20 * time.Second
)

// Reasons of requests that a WebSocket does not take.
const (
	reasonSocketBusy = "RESPONSE_IN_FLIGHT"
	reasonSocketAge  = "WEBSOCKET_AGE"
	reasonSockets    = "TOO_MANY_WEBSOCKETS"
	reasonOrigin     = "ORIGIN_NOT_ALLOWED"
)

// speaks reports whether a path may be opened as a WebSocket.
func (p path) speaks() bool {
	if p.endpoint == nil || p.operation != protocol.Generate {
		return false
	}
	_, ok := p.endpoint.protocol.Codec.(codec.Sessioned)
	return ok
}

func isUpgrade(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// socket is a WebSocket. Its messages are requests, each with an exchange of its own, that are answered one after the other. One
// goroutine reads them, and another one answers.
type socket struct {
	edge    *Edge
	path    path
	opening *exchange // the request that opened it
	request *http.Request
	conn    *websocket.Conn
	wire    *socketConn
	session codec.Session
	held    claim // the memory of the conversations that session remembers
	server  *upgraded

	over  chan struct{}  // closed when nothing more is read
	tasks sync.WaitGroup // the goroutines but the reading one
	mu    sync.Mutex
	// running says that a request is being answered, and ending why and how the socket is to be closed after it; nil before.
	running bool
	ending  *ending
}

// ending is why and how a WebSocket is closed. The caller is told the fault if it is told at all, and gets it for what it still
// asks.
type ending struct {
	fault  *fault.Error
	told   bool
	code   websocket.StatusCode
	reason string
}

// upgrade opens a WebSocket for a request. If it may not be opened it answers and returns nil.
func (e *Edge) upgrade(p path, x *exchange, r *http.Request) *socket {
	s := &socket{edge: e, path: p, opening: x, request: r, over: make(chan struct{}), server: upgradedOf(r.Context())}
	if err := e.mayUpgrade(x, r); err != nil {
		x.fail(err)
		return nil
	}
	if e.draining() || !s.server.join() {
		x.fail(shuttingDown(nil))
		return nil
	}
	if !e.sockets.open(x.authorization) {
		s.server.leave()
		f := fault.New(fault.RateLimited, reasonSockets, "this key has %d WebSockets open, which is the maximum; close some", MaxSockets)
		f.RetryAfter = time.Minute
		x.fail(f)
		return nil
	}
	h := &handshake{ResponseWriter: x.w.ResponseWriter, timeout: e.config.WriteTimeout}
	// mayUpgrade has checked the origin.
	conn, err := websocket.Accept(h, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		s.leave()
		x.w.Header().Set("Sec-WebSocket-Version", "13")
		x.fail(fault.New(fault.UpgradeRequired, fault.ReasonUpgradeRequired, "the request is no handshake of a WebSocket of version 13 (RFC 6455); without WebSocket, send it as POST"))
		return nil
	}
	conn.SetReadLimit(-1) // read has a bound of its own
	speaker, _ := p.endpoint.protocol.Codec.(codec.Sessioned)
	s.conn, s.wire, s.session, s.held = conn, h.conn, speaker.NewSession(), e.claimOf(x)
	x.w.status = http.StatusSwitchingProtocols
	return s
}

// mayUpgrade refuses what a request of HTTP would be refused for, and a page of another origin: a browser opens a WebSocket for any
// page, and leaves it to the server to refuse it.
func (e *Edge) mayUpgrade(x *exchange, r *http.Request) error {
	if origin := r.Header.Get("Origin"); origin != "" && (e.cors == nil || !e.cors.OriginAllowed(r)) {
		if u, err := url.Parse(origin); err != nil || !strings.EqualFold(u.Host, r.Host) {
			return fault.New(fault.PermissionDenied, reasonOrigin, "pages of the origin %q may not open a WebSocket here", clip(origin, 100))
		}
	}
	if err := e.takeKey(x, r); err != nil {
		return err
	}
	if err := e.admit(r.Context(), x); err != nil {
		return err
	}
	return e.access(r.Context(), x)
}

// handshake is the ResponseWriter of the answer to an upgrade. What the library says of a request that is no handshake is left to
// fail, which says it in the caller's protocol.
type handshake struct {
	http.ResponseWriter
	timeout time.Duration
	conn    *socketConn
}

// WriteHeader writes the answer to a handshake.
func (h *handshake) WriteHeader(status int) {
	if status == http.StatusSwitchingProtocols {
		h.ResponseWriter.WriteHeader(status)
	}
}

// Write drops a text.
func (h *handshake) Write(b []byte) (int, error) { return len(b), nil }

// Hijack takes the connection from net/http.
func (h *handshake) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffers, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	h.conn = &socketConn{Conn: conn, timeout: h.timeout}
	buffers.Writer.Reset(h.conn)
	return h.conn, buffers, nil
}

// socketConn is the connection of a WebSocket. It is written as answerWriter writes: each piece has the whole timeout. A connection that
// could not be written is closed.
type socketConn struct {
	net.Conn
	timeout time.Duration
	// written is when a write was last begun or ended, in nanoseconds since 1970, and writing how many are under way.
	written, writing atomic.Int64
}

// Write sends bytes.
func (c *socketConn) Write(b []byte) (sent int, err error) {
	c.writing.Add(1)
	defer c.writing.Add(-1)
	for sent < len(b) && err == nil {
		var n int
		c.written.Store(time.Now().UnixNano())
		_ = c.SetWriteDeadline(time.Now().Add(c.timeout))
		n, err = c.Conn.Write(b[sent:min(sent+pieceSize, len(b))])
		sent += n
	}
	if err != nil {
		_ = c.Close()
	}
	return sent, err
}

// silent reports whether nothing was written for that long.
func (c *socketConn) silent(since time.Duration) bool {
	return c.writing.Load() == 0 && time.Since(time.Unix(0, c.written.Load())) >= since
}

// serve answers the messages of the socket until it is closed.
func (s *socket) serve() {
	ctx, cut := context.WithCancel(s.request.Context())
	s.tasks.Go(s.keep)
	defer s.server.atCut(func() { _ = s.wire.Close() })()
	defer func() {
		cut()
		_ = s.wire.Close()
		close(s.over)
		s.tasks.Wait()
		_ = s.conn.CloseNow()
		s.held.end()
		s.leave()
	}()
	open := context.WithoutCancel(ctx) // a context that ends would cut what is being written
	var current codec.SessionRequest
	done := make(chan struct{})
	close(done)
	for {
		kind, message, err := s.conn.Reader(open)
		if err != nil {
			return
		}
		x, r := s.exchange(ctx)
		body, err := s.read(x, kind, message)
		broken := err
		asked, malformed := s.session.Read(body)
		if err == nil {
			err = malformed
		}
		x.asked = asked
		if current != nil && current.Ended() {
			<-done // the caller has the end of the answer
		}
		if err == nil {
			err = s.begin()
		}
		if err != nil {
			x.body = body
			s.refuse(x, r, err)
			if broken == nil || errors.Is(broken, errBinary) {
				continue
			}
			_ = s.conn.Close(closeCode(broken), "the message could not be read; see the error event")
			return
		}
		current, done = asked, make(chan struct{})
		s.tasks.Go(func() {
			defer close(done)
			defer s.end()
			s.answer(x, r)
		})
	}
}

// exchange begins the exchange of a message, which has the key and the headers of the request that opened the socket.
func (s *socket) exchange(ctx context.Context) (*exchange, *http.Request) {
	e, of := s.edge, s.opening
	x := &exchange{
		endpoint: of.endpoint, id: e.config.NewRequestID(), start: time.Now(), socket: of.id, operation: &operations[s.path.operation],
		clientID: of.clientID, keyHeader: of.keyHeader, authorization: of.authorization, client: of.client, certificate: of.certificate,
	}
	x.w = newAnswerWriter(&socketWriter{socket: s, header: http.Header{}}, x.id, e.config.WriteTimeout)
	x.w.bodyRead = true
	x.claim = e.claimOf(x)
	r := s.request.WithContext(ctx)
	e.observe(x, r, s.path, true)
	return x, withExchange(r, x)
}

var (
	errBinary  = fault.New(fault.UnsupportedMediaType, "BINARY_MESSAGE", "the message is binary; send JSON as a text message")
	errUnicode = fault.New(fault.InvalidRequest, fault.ReasonMalformedJSON, "the message is not UTF-8")
)

// read reads a message as the body of a request is read.
func (s *socket) read(x *exchange, kind websocket.MessageType, message io.Reader) ([]byte, error) {
	since := time.Now()
	body, err := readAll(newUpload(message, x, s.edge.config), -1, s.edge.config.MaxBodyBytes, x.claim.grow, nil)
	x.record.awaited(since)
	x.w.readDeadline(0)
	switch {
	case err != nil:
		return nil, err
	case kind != websocket.MessageText:
		return nil, errBinary
	case !utf8.Valid(body):
		return nil, errUnicode
	}
	return body, nil
}

// closeCode is the status of a socket whose message could not be read.
func closeCode(err error) websocket.StatusCode {
	switch f := faultOf(err); {
	case f == errUnicode:
		return websocket.StatusInvalidFramePayloadData
	case f.Kind == fault.TooLarge:
		return websocket.StatusMessageTooBig
	case f.Kind == fault.Unavailable:
		return websocket.StatusTryAgainLater
	}
	return websocket.StatusPolicyViolation
}

// begin has the socket answer a request. The error says why it does not.
func (s *socket) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ending != nil:
		return s.ending.fault
	case s.running:
		f := fault.New(fault.Conflict, reasonSocketBusy, "a response is being generated on this WebSocket, which answers one request at a time; send the next one after its last event")
		f.NativeCode = "response_already_in_flight"
		return f
	}
	s.running = true
	return nil
}

// end notes that a request is answered.
func (s *socket) end() {
	s.mu.Lock()
	s.running = false
	ending := s.ending
	s.mu.Unlock()
	if ending != nil {
		s.close(ending)
	}
}

// retire closes the socket once it answers no request.
func (s *socket) retire(how *ending) {
	s.mu.Lock()
	wait := s.running || s.ending != nil
	if s.ending == nil {
		s.ending = how
	}
	s.mu.Unlock()
	if !wait {
		s.close(how)
	}
}

// close sends the last frames, and waits a few seconds for the caller's.
func (s *socket) close(how *ending) {
	if how.told {
		asked, _ := s.session.Read(nil)
		_ = s.send(asked.Fail(how.fault, nil))
	}
	_ = s.conn.Close(how.code, how.reason)
}

// refuse answers a message with a failure.
func (s *socket) refuse(x *exchange, r *http.Request, err error) {
	defer s.edge.finish(x, r, s.request.URL.Path)
	defer x.claim.end()
	x.fail(err)
}

// answer answers a request.
func (s *socket) answer(x *exchange, r *http.Request) {
	e, protocol := s.edge, x.endpoint
	defer e.finish(x, r, s.request.URL.Path)
	defer x.claim.end()
	defer s.remember(x.asked)
	defer x.memory.Drop()
	defer x.recoverPanic(e.config.Logger)
	if err := e.admit(r.Context(), x); err != nil {
		x.shed(r, e.config.Gate, err)
		return
	}
	body, continued, err := x.asked.Body()
	if err == nil && continued {
		err = x.claim.grow(int64(len(body)))
	}
	if err == nil {
		err = protocol.decode(x, r, body)
	}
	if err != nil && continued {
		if own := protocol.decode(x, r, x.asked.Own()); own != nil {
			err = own // which has the caller's positions
		}
	}
	switch {
	case err != nil:
		x.fail(protocol.keyFirst(x, r, err))
	case x.asked.Prepares():
		x.prepare(r.Context())
	default:
		protocol.forward(s.path, x, r)
	}
}

// prepare answers a request that others will continue, for which nothing is generated. The core is asked whether the key may be used.
func (x *exchange) prepare(ctx context.Context) {
	if err := x.endpoint.edge.access(ctx, x); err != nil {
		x.fail(err)
		return
	}
	x.stream = newStreamState(x, false)
	for _, event := range []*genwayv1.StreamGenerateTextResponse{
		codec.Event(&genwayv1.TextStarted{Id: identifier.New(x.endpoint.protocol.IDs.Answer)}),
		codec.Event(&genwayv1.TextCompleted{Candidates: []*genwayv1.CandidateEnd{{StopReason: genwayv1.StopReason_STOP_REASON_END_TURN}}}),
	} {
		data, err := x.stream.encode(event)
		if err != nil {
			x.failAnywhere(err)
			return
		}
		_, _ = x.w.Write(data)
	}
	x.record.completed = true
}

// remember ends a request, and takes memory for the conversations that the session remembers. It forgets them if there is none.
func (s *socket) remember(asked codec.SessionRequest) {
	asked.End()
	size := int64(s.session.Size())
	s.held.end()
	if size > s.edge.config.MaxBodyBytes || size > 0 && s.held.grow(size) != nil {
		s.session.Forget()
	}
}

// keep sends pings, and closes the socket when it is old or the server ends.
func (s *socket) keep() {
	age, ping := time.NewTimer(socketAge), time.NewTicker(pingEvery)
	defer age.Stop()
	defer ping.Stop()
	draining, closing := s.edge.config.Draining, s.server.closing
	leave := func() {
		s.retire(&ending{fault: shuttingDown(nil), code: websocket.StatusGoingAway, reason: "the server is shutting down; connect again"})
		draining, closing = nil, nil
	}
	for {
		select {
		case <-s.over:
			return
		case <-draining:
			leave()
		case <-closing:
			leave()
		case <-age.C:
			s.retire(tooOld())
		case <-ping.C:
			if s.wire.silent(pingEvery) {
				s.tasks.Go(s.ping)
			}
		}
	}
}

// tooOld is how a socket is closed that was open for as long as it may (the vendor's words).
func tooOld() *ending {
	f := fault.New(fault.InvalidRequest, reasonSocketAge, "Responses websocket connection limit reached (60 minutes). Create a new websocket connection to continue.")
	f.NativeCode = "websocket_connection_limit_reached"
	return &ending{fault: f, told: true, code: websocket.StatusGoingAway, reason: "open for 60 minutes; connect again"}
}

// ping closes the connection of a caller that is gone.
func (s *socket) ping() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.request.Context()), pongWithin)
	defer cancel()
	if s.conn.Ping(ctx) != nil {
		_ = s.wire.Close()
	}
}

// send sends a message.
func (s *socket) send(message []byte) error {
	return s.conn.Write(context.WithoutCancel(s.request.Context()), websocket.MessageText, message)
}

// leave gives up what upgrade has taken.
func (s *socket) leave() {
	s.edge.sockets.close(s.opening.authorization)
	s.server.leave()
}

// socketWriter is the ResponseWriter of a message's answer. Each line is a message.
type socketWriter struct {
	socket *socket
	header http.Header
	begun  []byte // of the next line
}

// Header returns the headers that an answer of HTTP would have.
func (w *socketWriter) Header() http.Header { return w.header }

// WriteHeader does nothing: a message has no status.
func (*socketWriter) WriteHeader(int) {}

// Flush does nothing: each message is sent at once.
func (*socketWriter) Flush() {}

// SetReadDeadline bounds the reading of a message.
func (w *socketWriter) SetReadDeadline(at time.Time) error { return w.socket.wire.SetReadDeadline(at) }

// Write sends the messages that are whole.
func (w *socketWriter) Write(b []byte) (int, error) {
	for rest := b; ; {
		line, more, whole := bytes.Cut(rest, []byte("\n"))
		if !whole {
			w.begun = append(w.begun, rest...)
			return len(b), nil
		}
		if len(w.begun) > 0 {
			line = append(w.begun, line...)
			w.begun = nil
		}
		if err := w.socket.send(line); err != nil {
			return 0, err
		}
		rest = more
	}
}

// lineOf returns JSON on one line.
func lineOf(json []byte) []byte {
	if bytes.IndexByte(json, '\n') < 0 {
		return json
	}
	return bytes.ReplaceAll(json, []byte("\n"), []byte(" ")) // no string has one
}

// failedMessage returns the line that reports a failure in place of an answer.
func (x *exchange) failedMessage(f *fault.Error) []byte {
	headers := map[string]string{}
	for name, values := range x.w.Header() {
		if len(values) > 0 && !strings.HasPrefix(name, "Content-") {
			headers[strings.ToLower(name)] = values[0]
		}
	}
	return append(lineOf(x.asked.Fail(f, headers)), '\n')
}

// socketKeys counts the open WebSockets of each key.
type socketKeys struct {
	mu    sync.Mutex
	count map[string]int
}

// open reports whether a key may open one more, and counts it.
func (k *socketKeys) open(key string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.count[key] >= MaxSockets {
		return false
	}
	if k.count == nil {
		k.count = map[string]int{}
	}
	k.count[key]++
	return true
}

func (k *socketKeys) close(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.count[key]--; k.count[key] == 0 {
		delete(k.count, key)
	}
}
