package fake

import (
	"cmp"
	"encoding/json"
	"net"
	"net/http"
)

// Answer is one scripted answer.
type Answer struct {
	// Status is the HTTP status; 0 is 200.
	Status int
	Header map[string]string
	// Hold holds the headers back until the channel is closed or the caller has disconnected.
	Hold <-chan struct{}
	// Steps are what is done after the headers are out, in order.
	Steps []Step
	// Sizes are the sizes of the writes in bytes, over and over: {1} is a write a
	// byte. Empty writes each step whole.
	Sizes []int
	// instead returns another answer for a request that is not as it should be.
	instead func(Request) (Answer, bool)
}

// If is the answer unless instead has another one for the request.
func (a Answer) If(instead func(Request) (Answer, bool)) Answer {
	a.instead = instead
	return a
}

// Step is one thing an answer does.
type Step struct {
	data  string
	until <-chan struct{}
	end   ending
}

type ending int

const (
	goOn ending = iota
	cut
	reset
)

// JSON answers 200 with a JSON body.
func JSON(body string) Answer { return Refusal(http.StatusOK, body) }

// Refusal answers with a status and a JSON body; headers are name and value in
// turn.
func Refusal(status int, body string, headers ...string) Answer {
	a := Answer{Status: status, Header: map[string]string{"Content-Type": "application/json"}, Steps: []Step{Bytes(body)}}
	for i := 0; i+1 < len(headers); i += 2 {
		a.Header[headers[i]] = headers[i+1]
	}
	return a
}

// Stream answers 200 with server-sent events.
func Stream(steps ...Step) Answer {
	return Answer{Header: map[string]string{"Content-Type": "text/event-stream"}, Steps: steps}
}

// Events makes a step of each JSON text: an event named by its member "type" or
// "event_type", nameless if it has none (or is no object, as [DONE]).
func Events(data ...string) []Step {
	steps := make([]Step, len(data))
	for i, d := range data {
		var named struct {
			Type      string
			EventType string `json:"event_type"`
		}
		_ = json.Unmarshal([]byte(d), &named) // [DONE] is no JSON
		if name := cmp.Or(named.EventType, named.Type); name != "" {
			steps[i] = Bytes("event: " + name + "\ndata: " + d + "\n\n")
		} else {
			steps[i] = Bytes("data: " + d + "\n\n")
		}
	}
	return steps
}

// Bytes writes bytes as they are.
func Bytes(data string) Step { return Step{data: data} }

// Wait delays the answer until the channel is closed or the caller has disconnected.
func Wait(until <-chan struct{}) Step { return Step{until: until} }

// Cut closes the connection in the middle of the body. For a clean end of the body
// at a wrong place just leave the rest of the steps out.
func Cut() Step { return Step{end: cut} }

// Reset breaks the connection with a TCP reset.
func Reset() Step { return Step{end: reset} }

// Split returns the answer in writes of the given sizes.
func (a Answer) Split(sizes ...int) Answer {
	a.Sizes = sizes
	return a
}

func (a Answer) write(w http.ResponseWriter, r *http.Request, closing <-chan struct{}) {
	if a.Hold != nil {
		select {
		case <-a.Hold:
		case <-r.Context().Done():
			return
		case <-closing:
			return
		}
	}
	for name, value := range a.Header {
		w.Header().Set(name, value)
	}
	if a.Status != 0 {
		w.WriteHeader(a.Status)
	}
	turn := 0
	for _, s := range a.Steps {
		switch {
		case s.end != goOn:
			breakOff(w, s.end)
			return
		case s.until != nil:
			_ = http.NewResponseController(w).Flush()
			select {
			case <-s.until:
			case <-r.Context().Done():
				return
			case <-closing:
				return
			}
		default:
			turn = a.pieces(w, s.data, turn)
		}
	}
}

// pieces writes data in the answer's sizes and returns the next turn. What the
// caller does not take any more is dropped.
func (a Answer) pieces(w http.ResponseWriter, data string, turn int) int {
	control := http.NewResponseController(w)
	for len(data) > 0 {
		n := len(data)
		if len(a.Sizes) > 0 {
			n = min(n, max(1, a.Sizes[turn%len(a.Sizes)]))
			turn++
		}
		if _, err := w.Write([]byte(data[:n])); err != nil {
			return turn
		}
		data = data[n:]
		// A unary answer without sizes keeps its Content-Length.
		if len(a.Sizes) > 0 || a.Header["Content-Type"] == "text/event-stream" {
			_ = control.Flush()
		}
	}
	return turn
}

// breakOff ends the connection under the answer.
func breakOff(w http.ResponseWriter, how ending) {
	_ = http.NewResponseController(w).Flush()
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok && how == reset {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
