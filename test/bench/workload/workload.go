package workload

import (
	"maps"
	"slices"
	"time"

	"github.com/genway/genway/test/bench/load"
	"github.com/genway/genway/test/bench/upstream"
)

// Unit is what a workload's cost is counted by.
type Unit string

// The units. A cost is CPU time for one request or one stream: less is better.
const (
	ByRequest Unit = "CPU/request"
	ByStream  Unit = "CPU/stream"
	ByLatency Unit = "p50 added"
)

// Workload is requests of one kind at one pace.
type Workload struct {
	Name  string
	Title string
	Unit  Unit
	// Upstream is how the upstream answers meanwhile.
	Upstream upstream.Settings
	// Caller is the protocol asked in, Served that of the upstream: the same where empty.
	Caller, Served Protocol
	// Size is about how many bytes a request has, most of them an image with Picture.
	Size    int
	Picture bool
	Stream  bool
	// MinBytes is the least of an answer, 900 where it is 0.
	MinBytes    int
	Connections int
	// Rate, unless 0, is the requests a second of an open loop.
	Rate float64
	// Duration is a run's, the default of the runner where it is 0.
	Duration time.Duration
	// Requests, unless 0, bounds a run.
	Requests int64
	// Ramp is load.Run's.
	Ramp time.Duration
}

// Recipient is whom requests go to.
type Recipient struct {
	// Address is a HOST:PORT, and Key what the caller's protocol carries a key by.
	Address, Key string
	// Headers, if any, are sent in place of the key's.
	Headers map[string]string
	// Model is what is asked for where the upstream speaks the caller's protocol, Native where it
	// is empty; Models where it speaks another, by that, what On gives where they are nil.
	Model  string
	Models map[string]string
}

// model returns the name that a workload asks for.
func (to Recipient) model(w Workload) string {
	switch {
	case w.Crosses() && to.Models != nil:
		return to.Models[string(w.Served)]
	case w.Crosses():
		return On(w.Served)
	case to.Model != "":
		return to.Model
	}
	return Native
}

// headers are those of a request of a protocol.
func (to Recipient) headers(p Protocol) []load.Header {
	headers := p.Headers(to.Key)
	if to.Headers == nil {
		return headers
	}
	headers = headers[1:] // the first has the key
	for _, name := range slices.Sorted(maps.Keys(to.Headers)) {
		headers = append(headers, load.Header{Name: name, Value: to.Headers[name]})
	}
	return headers
}

// Job returns the workload's request to a recipient, and what its answers must be.
func (w Workload) Job(to Recipient) *load.Job {
	model := to.model(w)
	expect := load.Expect{}
	if w.Stream {
		expect = w.Caller.events(w.Upstream.Pieces)
	}
	if expect.MinBytes = w.MinBytes; expect.MinBytes == 0 {
		expect.MinBytes = 900
	}
	body := w.Caller.body(model, w.Size, w.Picture, w.Stream)
	return &load.Job{
		Request: load.NewRequest(to.Address, w.Caller.Path(model, w.Stream), to.headers(w.Caller), body),
		Expect:  expect,
	}
}

// Crosses reports whether the answers have to be translated, which only gateways do.
func (w Workload) Crosses() bool { return w.Served != "" && w.Served != w.Caller }
