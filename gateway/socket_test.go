package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/gateway"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// caller is the caller's side of a WebSocket.
type caller struct {
	*websocket.Conn
	t *testing.T
}

// message is an event or a failure that came over a WebSocket.
type message struct {
	Type     string `json:"type"`
	StreamID string `json:"stream_id"`
	Status   int    `json:"status"`
	Delta    string `json:"delta"`
	Error    struct {
		Type    string            `json:"type"`
		Code    string            `json:"code"`
		Message string            `json:"message"`
		Param   string            `json:"param"`
		Headers map[string]string `json:"headers"`
	} `json:"error"`
	Response struct {
		ID       string            `json:"id"`
		Previous string            `json:"previous_response_id"`
		Status   string            `json:"status"`
		Store    bool              `json:"store"`
		Output   []json.RawMessage `json:"output"`
	} `json:"response"`
	raw string
}

// ended reports whether the message is the last one of an answer.
func (m message) ended() bool {
	return slices.Contains([]string{"response.completed", "response.incomplete", "response.failed", "response.steer.failed", "error"}, m.Type)
}

// dial opens a WebSocket, and closes it at the end of the test.
func (e *edge) dial(t *testing.T) *caller {
	t.Helper()
	c, r, err := e.open(t, right("responses"))
	if err != nil {
		t.Fatalf("%v %v", err, r)
	}
	return c
}

func (e *edge) open(t *testing.T, header http.Header) (*caller, *http.Response, error) {
	t.Helper()
	conn, r, err := websocket.Dial(t.Context(), e.URL+"/v1/responses", &websocket.DialOptions{HTTPHeader: header, HTTPClient: e.Client()})
	if err != nil {
		return nil, r, err
	}
	conn.SetReadLimit(-1)
	t.Cleanup(func() { _ = conn.CloseNow() })
	return &caller{conn, t}, r, nil
}

func (c *caller) send(text string) {
	c.t.Helper()
	if err := c.Write(c.t.Context(), websocket.MessageText, []byte(text)); err != nil {
		c.t.Fatal(err)
	}
}

func (c *caller) next() (message, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	kind, raw, err := c.Read(ctx)
	if err != nil {
		return message{}, err
	}
	m := message{raw: string(raw)}
	if err := json.Unmarshal(raw, &m); err != nil || kind != websocket.MessageText {
		return m, fmt.Errorf("%v message %s: %w", kind, raw, err)
	}
	return m, nil
}

// answer reads the events of an answer, the last of which it returns apart.
func (c *caller) answer() (events []message, last message) {
	c.t.Helper()
	for {
		m, err := c.next()
		if err != nil {
			c.t.Fatal(err)
		}
		if m.ended() {
			return events, m
		}
		events = append(events, m)
	}
}

// ask sends a request and reads its answer.
func (c *caller) ask(text string) message {
	c.t.Helper()
	c.send(text)
	_, last := c.answer()
	return last
}

// closed fails unless the server closes the socket with that status.
func (c *caller) closed(want websocket.StatusCode) {
	c.t.Helper()
	for {
		_, err := c.next()
		if err == nil {
			continue
		}
		if got := websocket.CloseStatus(err); got != want {
			c.t.Errorf("closed with %d (%v), want %d", got, err, want)
		}
		return
	}
}

const create = `{"type":"response.create","model":"m","store":false,"input":"a"}`

// The events are those of the stream of server-sent events.
func TestSocketEvents(t *testing.T) {
	e := serve(t, nil)
	c := e.dial(t)
	c.send(create)
	events, last := c.answer()
	var got []string
	for _, m := range append(events, last) {
		got = append(got, m.Type)
	}
	var want []string
	streamed := e.do(t, http.MethodPost, "/v1/responses", right("responses"), `{"model":"m","store":false,"input":"a","stream":true}`)
	for line := range strings.Lines(streamed.body) {
		if name, ok := strings.CutPrefix(line, "event: "); ok {
			want = append(want, strings.TrimSpace(name))
		}
	}
	if !slices.Equal(got, want) || len(want) < 5 {
		t.Errorf("%v, want %v", got, want)
	}
	if err := c.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Error(err)
	}
	for until := time.Now().Add(10 * time.Second); ; { // the server writes its line after the last event
		log := e.log.String()
		if strings.Contains(log, "status=101") && strings.Count(log, "socket=req_test") == 1 {
			break
		}
		if time.Now().After(until) {
			t.Fatalf("the log has %s", log)
		}
	}
}

// A stream's name is on each of its events, and on its failures.
func TestSocketStreamID(t *testing.T) {
	c := serve(t, nil).dial(t)
	for _, text := range []string{create, strings.Replace(create, `"m"`, `7`, 1)} {
		c.send(strings.Replace(text, `{`, `{"stream_id":"a-B_1.",`, 1))
		events, last := c.answer()
		for _, m := range append(events, last) {
			if m.StreamID != "a-B_1." {
				t.Errorf("%s", m.raw)
			}
		}
	}
}

// A conversation goes on by what the socket remembers, on this socket only.
func TestSocketContinues(t *testing.T) {
	t.Run("in process", func(t *testing.T) { continues(t, serve(t, nil)) })
	t.Run("over a connection", func(t *testing.T) { continues(t, overConnection(t)) })
}

func continues(t *testing.T, e *edge) {
	t.Helper()
	c := e.dial(t)
	first := c.ask(create)
	next := func(id string) string {
		return `{"type":"response.create","model":"m","store":false,"previous_response_id":"` + id + `","input":[{"role":"user","content":"b"}]}`
	}
	second := c.ask(next(first.Response.ID))
	if second.Response.Previous != first.Response.ID {
		t.Errorf("it continues %q, not %q", second.Response.Previous, first.Response.ID)
	}
	body := func() string { return string(e.core.streamed.Load().GetWire().GetJson()) }
	if got := body(); strings.Count(got, `"role"`) != 3 || !strings.Contains(got, "hello") || strings.Contains(got, "previous_response_id") {
		t.Errorf("the core gets %s", got)
	}
	unknown := func(c *caller, text string) {
		t.Helper()
		if m := c.ask(text); m.Type != "error" || m.Error.Code != "previous_response_not_found" || m.Error.Param != "previous_response_id" {
			t.Errorf("%s", m.raw)
		}
	}
	elsewhere := e.dial(t)
	unknown(elsewhere, next(first.Response.ID))
	// What may be stored elsewhere is the core's to find.
	elsewhere.ask(strings.Replace(next(first.Response.ID), `"store":false,`, "", 1))
	if got := body(); strings.Count(got, `"role"`) != 1 || !strings.Contains(got, first.Response.ID) {
		t.Errorf("the core gets %s", got)
	}
	// The request that fails takes the response with it.
	if m := c.ask(strings.Replace(next(first.Response.ID), `"content":"b"`, `"content":7`, 1)); m.Type != "error" || m.Error.Param != "input[0].content" {
		t.Errorf("%s", m.raw)
	}
	unknown(c, next(first.Response.ID))
}

// What is only prepared is not generated, and is continued.
func TestSocketPrepares(t *testing.T) {
	e := serve(t, nil)
	c := e.dial(t)
	m := c.ask(strings.Replace(create, `{`, `{"generate":false,`, 1))
	if m.Type != "response.completed" || m.Response.Status != "completed" || len(m.Response.Output) != 0 || m.Response.Store || !strings.HasPrefix(m.Response.ID, "resp_") {
		t.Fatalf("%s", m.raw)
	}
	if e.core.streamed.Load() != nil {
		t.Error("the core was asked for an answer")
	}
	c.ask(`{"type":"response.create","model":"m","previous_response_id":"` + m.Response.ID + `","input":"b"}`)
	if got := string(e.core.streamed.Load().GetWire().GetJson()); strings.Count(got, `"content"`) != 2 {
		t.Errorf("the core gets %s", got)
	}
}

// What a socket does not take is a native failure, and the next request is answered.
func TestSocketRefusals(t *testing.T) {
	e := serve(t, nil)
	c := e.dial(t)
	with := func(members string) string { return strings.Replace(create, `{`, `{`+members+`,`, 1) }
	for name, of := range map[string]struct {
		text, code, param string
	}{
		"no JSON":             {"x", "", ""},
		"nothing":             {"", "", ""},
		"no object":           {"[]", "", ""},
		"deep":                {strings.Repeat("[", 20_000), "", ""},
		"deep, inside":        {with(`"x":` + strings.Repeat("[", 20_000)), "", "*"},
		"cut":                 {create[:40], "", ""},
		"a type twice":        {with(`"type":"response.create"`), "", "type"},
		"no type":             {`{"model":"m"}`, "missing_required_parameter", "type"},
		"another type":        {`{"type":"session.update"}`, "invalid_value", "type"},
		"a type of 10 kB":     {`{"type":"` + strings.Repeat("x", 10_000) + `"}`, "invalid_value", "type"},
		"a number as type":    {`{"type":1}`, "", "type"},
		"no stream":           {with(`"stream":false`), "invalid_value", "stream"},
		"a number as stream":  {with(`"stream":1`), "", "stream"},
		"background":          {with(`"background":true`), "invalid_value", "background"},
		"an empty stream_id":  {with(`"stream_id":""`), "invalid_value", "stream_id"},
		"a quote, stream_id":  {with(`"stream_id":"a\"b"`), "invalid_value", "stream_id"},
		"Unicode, stream_id":  {with(`"stream_id":"\u212a"`), "invalid_value", "stream_id"},
		"a long stream_id":    {with(`"stream_id":"` + strings.Repeat("x", 300) + `"`), "invalid_value", "stream_id"},
		"half of a surrogate": {with(`"user":"\ud800"`), "", "user"},
		"a wrong member":      {with(`"temperature":"x"`), "", "temperature"},
		"no model":            {`{"type":"response.create","input":"a"}`, "", "model"},
	} {
		t.Run(name, func(t *testing.T) {
			m := c.ask(of.text)
			if m.Type != "error" || m.Status != http.StatusBadRequest || m.Error.Type != "invalid_request_error" || m.Error.Message == "" || m.Error.Code == "" ||
				of.code != "" && m.Error.Code != of.code || of.param != "*" && m.Error.Param != of.param || m.Error.Headers["x-request-id"] != "req_test" || len(m.raw) > 5000 {
				t.Errorf("%s", m.raw)
			}
		})
	}
	if m := c.ask(`{"type":"response.steer","previous_response_id":"resp_1","input":"b"}`); m.Type != "response.steer.failed" || m.Error.Code != "steering_not_supported" ||
		!strings.Contains(m.raw, `"steer":{"input":"b","previous_response_id":"resp_1"}`) {
		t.Errorf("%s", m.raw)
	}
	if err := c.Write(t.Context(), websocket.MessageBinary, []byte(create)); err != nil {
		t.Fatal(err)
	}
	if _, m := c.answer(); m.Status != http.StatusUnsupportedMediaType {
		t.Errorf("a binary message gets %s", m.raw)
	}
	if m := c.ask(create); m.Type != "response.completed" {
		t.Errorf("%s", m.raw)
	}
	e.core.setFail(detailed(fault.New(fault.NotFound, fault.ReasonModelNotFound, "no such model")))
	if m := c.ask(create); m.Status != http.StatusNotFound || m.Error.Code != "model_not_found" {
		t.Errorf("%s", m.raw)
	}
	limited := fault.New(fault.RateLimited, "X", "slow down")
	limited.RetryAfter = 1500 * time.Millisecond
	e.core.setFail(detailed(limited))
	if m := c.ask(create); m.Status != http.StatusTooManyRequests || m.Error.Headers["retry-after-ms"] != "1500" {
		t.Errorf("%s", m.raw)
	}
}

// What cannot be read to its end, or is no text, ends the socket after a native failure.
func TestSocketBounds(t *testing.T) {
	for name, of := range map[string]struct {
		text   string
		status int
		code   websocket.StatusCode
	}{
		"huge":         {strings.Repeat("x", 5000), http.StatusRequestEntityTooLarge, websocket.StatusMessageTooBig},
		"not UTF-8":    {`{"type":"response.create","model":"m","input":"` + "\xff" + `"}`, http.StatusBadRequest, websocket.StatusInvalidFramePayloadData},
		"not UTF-8, 1": {"\x80", http.StatusBadRequest, websocket.StatusInvalidFramePayloadData},
	} {
		t.Run(name, func(t *testing.T) {
			c := serve(t, func(c *gateway.Config) { c.MaxBodyBytes = 4096 }).dial(t)
			if m := c.ask(of.text); m.Status != of.status {
				t.Errorf("%s", m.raw)
			}
			c.closed(of.code)
		})
	}
}

// What HTTP refuses before the body is refused before the upgrade.
func TestSocketUpgradeRefused(t *testing.T) {
	for name, of := range map[string]struct {
		change func(http.Header)
		core   error
		status int
	}{
		"no key":           {func(h http.Header) { h.Del("Authorization") }, nil, http.StatusUnauthorized},
		"a wrong key":      {nil, detailed(fault.New(fault.Unauthenticated, fault.ReasonInvalidKey, "invalid API key")), http.StatusUnauthorized},
		"another group":    {nil, detailed(fault.New(fault.PermissionDenied, fault.ReasonWrongGroup, "other group")), http.StatusForbidden},
		"a page elsewhere": {func(h http.Header) { h.Set("Origin", "https://evil.example") }, nil, http.StatusForbidden},
		"no origin":        {func(h http.Header) { h.Set("Origin", "null") }, nil, http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			e := serve(t, func(c *gateway.Config) { c.CORSOrigins = []string{"https://app.example"} })
			e.core.setFail(of.core)
			h := right("responses")
			if of.change != nil {
				of.change(h)
			}
			_, r, err := e.open(t, h)
			if err == nil || r.StatusCode != of.status || r.Header.Get("Content-Type") != "application/json" {
				t.Fatalf("%v %v", err, r)
			}
		})
	}
	e := serve(t, func(c *gateway.Config) { c.CORSOrigins = []string{"https://app.example"} })
	for _, origin := range []string{"https://app.example", e.URL} {
		h := right("responses")
		h.Set("Origin", origin)
		if _, _, err := e.open(t, h); err != nil {
			t.Errorf("%s: %v", origin, err)
		}
	}
	for name, change := range map[string]func(http.Header){
		"no version": func(h http.Header) { h.Del("Sec-WebSocket-Version") },
		"version 8":  func(h http.Header) { h.Set("Sec-WebSocket-Version", "8") },
		"no nonce":   func(h http.Header) { h.Del("Sec-WebSocket-Key") },
		"half":       func(h http.Header) { h.Del("Connection") },
	} {
		h := right("responses")
		h.Set("Upgrade", "websocket")
		h.Set("Connection", "Upgrade")
		h.Set("Sec-WebSocket-Version", "13")
		h.Set("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
		change(h)
		r := e.do(t, http.MethodGet, "/v1/responses", h, "")
		native(t, "responses", r, http.StatusUpgradeRequired)
		if r.header.Get("Sec-WebSocket-Version") != "13" {
			t.Errorf("%s: %v", name, r.header)
		}
	}
}

// held lets a stream begin, and then waits until release is closed or the call is cancelled, which it reports.
func held(e *edge) (release, cancelled chan struct{}) {
	release, cancelled = make(chan struct{}), make(chan struct{}, 1)
	e.core.stream = func(ctx context.Context, send func(*genwayv1.StreamGenerateTextResponse) error) error {
		events := codec.Events(answer(), nil)
		for i, ev := range events {
			if err := send(ev); err != nil {
				return err
			}
			if i == 0 {
				select {
				case <-release:
				case <-ctx.Done():
					cancelled <- struct{}{}
					return ctx.Err()
				}
			}
		}
		return nil
	}
	return release, cancelled
}

// A second request while one is answered is refused, and the first one goes on.
func TestSocketOneAtATime(t *testing.T) {
	e := serve(t, nil)
	release, _ := held(e)
	c := e.dial(t)
	c.send(strings.Replace(create, `{`, `{"stream_id":"1",`, 1))
	c.send(strings.Replace(create, `{`, `{"stream_id":"2",`, 1))
	var all []message
	for len(all) == 0 || all[len(all)-1].Type != "error" {
		m, err := c.next()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	if m := all[len(all)-1]; m.StreamID != "2" || m.Error.Code != "response_already_in_flight" || m.Status != http.StatusConflict {
		t.Errorf("%s", m.raw)
	}
	close(release)
	if _, m := c.answer(); m.Type != "response.completed" || m.StreamID != "1" {
		t.Errorf("%s", m.raw)
	}
}

// A request that follows the end of an answer at once is never taken for a second one.
func TestSocketOneAfterTheOther(t *testing.T) {
	c := serve(t, nil).dial(t)
	for range 200 {
		if m := c.ask(create); m.Type != "response.completed" {
			t.Fatalf("%s", m.raw)
		}
	}
}

// A caller that closes the socket, or its connection, while it is answered cancels the call at once.
func TestSocketClosedMidStream(t *testing.T) {
	for name, leave := range map[string]func(*caller){
		"by a frame":   func(c *caller) { _ = c.Close(websocket.StatusNormalClosure, "") },
		"by no frame":  func(c *caller) { _ = c.CloseNow() },
		"by a garbage": func(c *caller) { _ = c.Close(4999, strings.Repeat("x", 120)) },
	} {
		t.Run(name, func(t *testing.T) {
			e := serve(t, nil)
			_, cancelled := held(e)
			c := e.dial(t)
			c.send(create)
			if _, err := c.next(); err != nil {
				t.Fatal(err)
			}
			since := time.Now()
			leave(c)
			<-cancelled
			if took := time.Since(since); took > 100*time.Millisecond {
				t.Errorf("it was cancelled after %v", took)
			}
		})
	}
}

// An event of any size is one message.
func TestSocketLargeEvents(t *testing.T) {
	e := serve(t, nil)
	for _, size := range []int{16 << 10, 64<<10 - 200, 64 << 10, 1 << 20} {
		whole := answer()
		whole.Candidates[0].Parts[0].GetText().Text = strings.Repeat("x", size)
		e.core.stream = func(_ context.Context, send func(*genwayv1.StreamGenerateTextResponse) error) error {
			for _, ev := range codec.Events(whole, nil) {
				if err := send(ev); err != nil {
					return err
				}
			}
			return nil
		}
		if m := e.dial(t).ask(create); m.Type != "response.completed" || strings.Count(m.raw, "x") < size {
			t.Errorf("%d bytes: %s of %d bytes", size, m.Type, len(m.raw))
		}
	}
}

// A core that fails in the middle ends the answer and not the socket.
func TestSocketCoreFails(t *testing.T) {
	t.Run("in process", func(t *testing.T) { coreFails(t, serve(t, nil)) })
	t.Run("over a connection", func(t *testing.T) { coreFails(t, overConnection(t)) })
}

func coreFails(t *testing.T, e *edge) {
	t.Helper()
	e.core.stream = func(_ context.Context, send func(*genwayv1.StreamGenerateTextResponse) error) error {
		return errors.Join(send(codec.Events(answer(), nil)[0]), errors.New("secret text"))
	}
	c := e.dial(t)
	for range 2 {
		if m := c.ask(create); m.Type != "response.failed" || strings.Contains(m.raw, "secret text") {
			t.Errorf("%s", m.raw)
		}
	}
}

// One key has so many sockets open, and others have theirs. A socket that ends makes room.
func TestSocketsOfAKey(t *testing.T) {
	e := serve(t, nil)
	var open []*caller
	for range gateway.MaxSockets {
		open = append(open, e.dial(t))
	}
	_, r, err := e.open(t, right("responses"))
	if err == nil || r.StatusCode != http.StatusTooManyRequests {
		t.Fatalf("%v %v", err, r)
	}
	other := right("responses")
	other.Set("Authorization", "Bearer other")
	if _, _, err := e.open(t, other); err != nil {
		t.Error(err)
	}
	_ = open[0].Close(websocket.StatusNormalClosure, "")
	for { // the server learns it a moment later
		if _, _, err := e.open(t, right("responses")); err == nil {
			break
		}
	}
}

// serving is an edge behind gateway.Serve.
func serving(t *testing.T, grace time.Duration) (e *edge, stop func() error) {
	t.Helper()
	draining := make(chan struct{})
	e = serve(t, func(c *gateway.Config) { c.Draining = draining })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- gateway.Serve(ctx, listener, e.Config.Handler, gateway.ServerConfig{Grace: grace}) }()
	e.URL = "http://" + listener.Addr().String()
	t.Cleanup(cancel)
	return e, func() error { cancel(); return <-served }
}

// At the end of the server idle sockets are closed at once, and others after their answer.
func TestSocketShutdown(t *testing.T) {
	e, stop := serving(t, 30*time.Second)
	release, _ := held(e)
	idle, busy := e.dial(t), e.dial(t)
	busy.send(create)
	if _, err := busy.next(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- stop() }()
	idle.closed(websocket.StatusGoingAway)
	busy.send(create)
	for m := (message{}); m.Type != "error"; {
		var err error
		if m, err = busy.next(); err != nil {
			t.Fatal(err)
		}
	}
	close(release)
	if _, m := busy.answer(); m.Type != "response.completed" {
		t.Errorf("%s", m.raw)
	}
	busy.closed(websocket.StatusGoingAway)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// What is still answered when the grace is over is told so.
func TestSocketCutByShutdown(t *testing.T) {
	e, stop := serving(t, -1)
	_, cancelled := held(e)
	c := e.dial(t)
	c.send(create)
	if _, err := c.next(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- stop() }()
	if _, m := c.answer(); m.Type != "response.failed" || !strings.Contains(m.raw, "shutting down") {
		t.Errorf("%s", m.raw)
	}
	c.closed(websocket.StatusGoingAway)
	<-cancelled
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// overTime opens a WebSocket in a bubble of synctest.
func overTime(t *testing.T, core *core, use func(*testing.T, *caller)) {
	t.Helper()
	overPipe(t, core, func(t *testing.T, conn net.Conn) {
		transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return conn, nil }}
		c, _, err := websocket.Dial(t.Context(), "http://a/v1/responses", &websocket.DialOptions{HTTPHeader: right("responses"), HTTPClient: &http.Client{Transport: transport}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.CloseNow() }()
		c.SetReadLimit(-1)
		use(t, &caller{c, t})
	})
}

// reading reads the messages of a caller as they come, and with them the pings. The channel is closed at the end.
func (c *caller) reading() <-chan message {
	all := make(chan message, 1000)
	go func() {
		defer close(all)
		for {
			_, raw, err := c.Read(context.Background())
			if err != nil {
				all <- message{Type: "closed", Status: int(websocket.CloseStatus(err)), raw: err.Error()}
				return
			}
			m := message{raw: string(raw)}
			_ = json.Unmarshal(raw, &m)
			all <- m
		}
	}()
	return all
}

// A socket whose caller answers pings is open for an hour, silent or not, and is told at its end why it ends.
func TestSocketAge(t *testing.T) {
	const silence = 20 * time.Minute
	quiet := &core{}
	quiet.stream = func(ctx context.Context, send func(*genwayv1.StreamGenerateTextResponse) error) error {
		for i, ev := range codec.Events(answer(), nil) {
			if err := send(ev); err != nil {
				return err
			}
			if i > 0 {
				continue
			}
			select {
			case <-time.After(silence):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	}
	overTime(t, quiet, func(t *testing.T, c *caller) {
		begun := time.Now()
		messages := c.reading()
		last := func() (m message) {
			for m = <-messages; !m.ended(); m = <-messages {
				if m.Type == "closed" {
					t.Fatalf("closed with %d after %v", m.Status, time.Since(begun))
				}
			}
			return m
		}
		for range 3 { // the third answer ends after the hour has begun to be over
			time.Sleep(time.Second) //nolint:forbidigo // in a bubble of synctest
			c.send(create)
			if m := last(); m.Type != "response.completed" {
				t.Fatalf("%s after %v", m.raw, time.Since(begun))
			}
		}
		if m := last(); m.Error.Code != "websocket_connection_limit_reached" || m.Status != http.StatusBadRequest {
			t.Errorf("%s", m.raw)
		}
		if m := <-messages; m.Type != "closed" || m.Status != int(websocket.StatusGoingAway) || time.Since(begun) > 61*time.Minute {
			t.Errorf("%v after %v", m, time.Since(begun))
		}
	})
}

// A caller that reads nothing loses the socket, with its call.
func TestSocketOfADeadCaller(t *testing.T) {
	for name, ask := range map[string]bool{"idle": false, "answered": true} {
		t.Run(name, func(t *testing.T) {
			cancelled := make(chan time.Time, 1)
			endless := &core{}
			endless.stream = func(ctx context.Context, send func(*genwayv1.StreamGenerateTextResponse) error) error {
				_ = send(codec.Events(answer(), nil)[0])
				<-ctx.Done()
				cancelled <- time.Now()
				return ctx.Err()
			}
			overTime(t, endless, func(t *testing.T, c *caller) {
				begun := time.Now()
				if ask {
					c.send(create)
				}
				time.Sleep(2 * time.Minute) //nolint:forbidigo // in a bubble of synctest
				if err := c.Write(t.Context(), websocket.MessageText, []byte(create)); err == nil {
					t.Error("the socket is open")
				}
				if !ask {
					return
				}
				if at := (<-cancelled).Sub(begun); at > 90*time.Second {
					t.Errorf("the call was cancelled after %v", at)
				}
			})
		})
	}
}

// A message that does not come to its end is waited for as a body is.
func TestSocketOfASlowCaller(t *testing.T) {
	overTime(t, &core{}, func(t *testing.T, c *caller) {
		messages := c.reading()
		time.Sleep(10 * time.Second) //nolint:forbidigo // a pipe holds no byte, so a ping at the moment of the failure would be in its way
		begun := time.Now()
		w, err := c.Writer(t.Context(), websocket.MessageText)
		if err == nil {
			_, err = w.Write([]byte(`{"type":`))
		}
		if err == nil {
			err = c.Ping(t.Context()) // which sends what is written, too
		}
		if err != nil {
			t.Fatal(err)
		}
		if m := <-messages; m.Status != http.StatusRequestTimeout || time.Since(begun) > time.Minute {
			t.Errorf("%s after %v", m.raw, time.Since(begun))
		}
		if m := <-messages; m.Type != "closed" || m.Status != int(websocket.StatusPolicyViolation) {
			t.Errorf("%v", m)
		}
	})
}

// A caller that reads nothing does not hold up the end of the server.
func TestSocketShutdownOfADeadCaller(t *testing.T) {
	for name, ask := range map[string]bool{"idle": false, "answered": true} {
		t.Run(name, func(t *testing.T) {
			e, stop := serving(t, -1)
			held(e)
			c := e.dial(t)
			if ask {
				c.send(create)
				if _, err := c.next(); err != nil {
					t.Fatal(err)
				}
			}
			begun := time.Now()
			if err := stop(); err != nil {
				t.Error(err)
			}
			if took := time.Since(begun); took > 4*time.Second { // the grace, and two seconds for the last frames
				t.Errorf("the server ended after %v", took)
			}
		})
	}
}
