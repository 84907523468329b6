package upstream

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Server answers. Its zero value is not ready: use [New].
type Server struct {
	program atomic.Pointer[program]
	served  atomic.Int64
}

// New returns a server of the settings.
func New(s Settings) *Server {
	server := &Server{}
	server.program.Store(newProgram(s))
	return server
}

// Served is how many requests have been answered, or refused, so far.
func (s *Server) Served() int64 { return s.served.Load() }

// Serve answers on the listener until ctx ends, then closes it and the connections,
// and returns nil.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	var open sync.WaitGroup
	defer open.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	for {
		conn, err := listener.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		open.Go(func() { s.converse(ctx, conn) })
	}
}

// converse answers the requests of one connection until it breaks, or ctx ends.
func (s *Server) converse(ctx context.Context, conn net.Conn) {
	closed := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer func() {
		closed()
		_ = conn.Close()
	}()
	requests := reader{in: bufio.NewReaderSize(conn, 64<<10)}
	clock := time.NewTimer(time.Hour)
	defer clock.Stop()
	for {
		req, err := requests.next(conn)
		if err != nil {
			return
		}
		s.served.Add(1)
		if err := s.answer(ctx, conn, req, clock); err != nil || req.last {
			return
		}
	}
}

func (s *Server) answer(ctx context.Context, conn net.Conn, req request, clock *time.Timer) error {
	if req.path == ControlPath {
		_, err := conn.Write(s.control(req.query))
		return err
	}
	p := s.program.Load()
	if !p.enter(ctx) {
		_, err := conn.Write(busy)
		return err
	}
	defer p.leave()
	start := time.Now()
	if err := waitUntil(ctx, clock, start.Add(p.settings.Latency)); err != nil {
		return err
	}
	whole, events := p.choose(req)
	switch {
	case events == nil && whole == nil:
		_, err := conn.Write(refusal("404 Not Found", "bench: no such path: "+req.path+"\n"))
		return err
	case events == nil:
		_, err := conn.Write(whole)
		return err
	}
	return stream(ctx, conn, events, p.settings.Gap, clock)
}

// enter takes a slot, for which it waits; false when too many wait already.
func (p *program) enter(ctx context.Context) bool {
	if p.slots == nil {
		return true
	}
	defer p.waiting.Add(-1)
	if n := p.waiting.Add(1); p.settings.Waiting > 0 && n > int64(p.settings.Waiting) {
		return false
	}
	select {
	case p.slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (p *program) leave() {
	if p.slots != nil {
		<-p.slots
	}
}

// busy is the answer to a request that finds too many waiting.
var busy = refusal("503 Service Unavailable", `{"error":{"message":"overloaded","type":"server_error","code":"overload"}}`)

// choose returns what a request asks for: a whole answer, events, or neither.
func (p *program) choose(req request) (whole []byte, events [][]byte) {
	switch path := req.path; {
	case strings.HasSuffix(path, "/chat/completions"):
		whole, events = p.whole[chat], p.events[chat]
	case strings.HasSuffix(path, "/responses"):
		whole, events = p.whole[responses], p.events[responses]
	case strings.HasSuffix(path, "/messages"):
		whole, events = p.whole[messages], p.events[messages]
	case strings.HasSuffix(path, ":generateContent"):
		return p.whole[generateContent], nil
	case strings.HasSuffix(path, ":streamGenerateContent"):
		return nil, p.events[generateContent]
	case strings.HasSuffix(path, "/images/generations"):
		return p.whole[images], nil
	case strings.HasSuffix(path, "/models"):
		return p.whole[models], nil
	}
	if !req.stream {
		events = nil
	}
	return whole, events
}

// stream writes the events, each by itself, the n-th n gaps after the first: delays
// do not add up.
func stream(ctx context.Context, conn net.Conn, events [][]byte, gap time.Duration, clock *time.Timer) error {
	if _, err := conn.Write(streamHead); err != nil {
		return err
	}
	start := time.Now()
	for i, event := range events {
		if gap > 0 {
			if err := waitUntil(ctx, clock, start.Add(time.Duration(i)*gap)); err != nil {
				return err
			}
		}
		if _, err := conn.Write(event); err != nil {
			return err
		}
	}
	_, err := conn.Write(streamEnd)
	return err
}

// waitUntil waits for an instant, or the end of ctx, which is an error.
func waitUntil(ctx context.Context, clock *time.Timer, at time.Time) error {
	d := time.Until(at)
	if d <= 0 {
		return nil
	}
	clock.Reset(d)
	select {
	case <-clock.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// control changes the settings and says which hold now. Requests under way end with
// what they began with.
func (s *Server) control(query string) []byte {
	values, err := url.ParseQuery(query)
	if err != nil {
		return refusal("400 Bad Request", err.Error()+"\n")
	}
	settings, err := s.program.Load().settings.With(values)
	if err != nil {
		return refusal("400 Bad Request", err.Error()+"\n")
	}
	if len(values) > 0 {
		s.program.Store(newProgram(settings))
	}
	return answer(settings.Query().Encode() + "\n")
}

// Listen serves on a TCP address until ctx ends.
func (s *Server) Listen(ctx context.Context, address string) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return errors.Join(errors.New("upstream"), err)
	}
	return s.Serve(ctx, listener)
}
