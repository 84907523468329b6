// Package vendors is a fake of the vendors' services: one HTTP server that speaks chat,
// responses, messages and generateContent, unary and streamed, does to each request what
// the name of its model says, and counts its answers.
//
// A model's name is Model's: what to do, words of the test's own, and a number. Tokens
// are a function of the number (Tokens), so that no two answers are easily confused.
//
// A body that the protocol's vendor refuses fails the test (package strict). Rules that depend on the model do not apply:
// its name is a command, which no row of the catalogue matches.
//
// It must not import the gateway's own packages. Package strict says what vendors refuse, and knows no codec.
package vendors

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// What a model's name may ask for.
const (
	// Answer is a whole answer.
	Answer = "answer"
	// Busy is a refusal with 429 that names no time.
	Busy = "busy"
	// Broken is a refusal with 500.
	Broken = "broken"
	// Once is Broken the first time, then Answer.
	Once = "once"
	// Cut breaks the connection in the middle of the answer.
	Cut = "cut"
	// Garbage is a 200 that is no JSON, nor a stream.
	Garbage = "garbage"
	// Echo is a refusal with 401 that repeats the key it got, Echo400 one with 400.
	Echo    = "echo"
	Echo400 = "echo400"
	// EchoLate repeats it in an answer that begins with 200: in place of a whole one, or
	// as an event in the middle of a stream.
	EchoLate = "echolate"
	// BrokenChat is Broken for chat completions, else Answer.
	BrokenChat = "brokenchat"
	// Created is a whole answer with the status 201.
	Created = "created"
	// LeaveFirst calls Server.Leave before the answer, which then goes on, if anyone is
	// there.
	LeaveFirst = "leavefirst"
	// LeaveMiddle does so in the middle of the answer.
	LeaveMiddle = "leavemiddle"
	// Hold begins the answer and does not go on before Server.Release.
	Hold = "hold"
	// Drip is a whole answer, with Server.Pause before each piece but the first.
	Drip = "drip"
)

// Answered describes the answers to the requests of one number.
type Answered struct {
	// Calls is how many requests there were, retries included.
	Calls int
	// Whole means that the last answer was sent to its end, with its usage.
	Whole bool
}

// Server is the vendors' services.
type Server struct {
	// URL is the base of all of them, without a version.
	URL string
	// Leave is called with the number of a request whose caller is to disconnect. Default: none is.
	Leave func(n int)
	// Watch sees each request, but for its body, which it may not read.
	Watch func(*http.Request)
	// Pause is that of Drip. Default: none.
	Pause time.Duration

	tb       testing.TB
	mu       sync.Mutex
	held     chan struct{} // closed and replaced by Release
	answered map[int]Answered
	stayed   []int
}

// OnCancel is the header by which the gateway's configuration says what it does when a
// caller leaves: cancel, or drain.
const OnCancel = "X-On-Cancel"

// Start starts the services. The test's end stops them.
func Start(tb testing.TB) *Server {
	tb.Helper()
	return StartOn(tb, "127.0.0.1:0")
}

// StartOn starts them on HOST:PORT, where the port may be 0.
func StartOn(tb testing.TB, address string) *Server {
	tb.Helper()
	s := &Server{tb: tb, held: make(chan struct{}), answered: map[int]Answered{}, Leave: func(int) {}, Watch: func(*http.Request) {}}
	listener, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", address)
	if err != nil {
		tb.Fatal(err)
	}
	listening := httptest.NewUnstartedServer(s)
	_ = listening.Listener.Close()
	listening.Listener = listener
	listening.Start()
	s.URL = listening.URL
	tb.Cleanup(func() {
		s.Release()
		listening.Close()
	})
	return s
}

// Release lets the answers go on that Hold holds.
func (s *Server) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.held)
	s.held = make(chan struct{})
}

// Answered describes the answers to the requests of a number.
func (s *Server) Answered(n int) Answered {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answered[n]
}

// Stayed are the numbers of requests that the gateway did not break off within 30 s of
// their callers' leaving, though its configuration says so.
func (s *Server) Stayed() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.stayed)
}

// called counts a call, and returns what it may wait for: a Release that comes after.
func (s *Server) called(n int) (calls int, held <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answered[n] = Answered{Calls: s.answered[n].Calls + 1}
	return s.answered[n].Calls, s.held
}

func (s *Server) finished(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answered[n] = Answered{Calls: s.answered[n].Calls, Whole: true}
}

// Tokens are what a whole answer to the request of a number costs.
func Tokens(n int) (input, output int64) { return int64(10 + n%97), int64(1 + n%53) }

// Model is the name of a model that has the server do something. The words between are
// for the gateway's routes.
func Model(do, words string, n int) string { return fmt.Sprintf("%s-%s-%d", do, words, n) }

// Number is that of a model's name; -1 for another name.
func Number(model string) int {
	n, err := strconv.Atoi(model[strings.LastIndexByte(model, '-')+1:])
	if err != nil {
		return -1
	}
	return n
}

// Protocols are those the server speaks, by the gateway's names for them.
func Protocols() []string { return []string{"chat", "responses", "messages", "generatecontent"} }

// Forget forgets all answers.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.answered)
}
