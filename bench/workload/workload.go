package workload

import (
	"time"

	"github.com/genway/genway/bench/load"
	"github.com/genway/genway/bench/upstream"
)

// Unit is what a workload's cost is counted by.
type Unit string

// The units. A cost by requests or streams is CPU time for one, less is better; by
// events it is events for a second of CPU time, more is better.
const (
	ByRequest Unit = "CPU/request"
	ByStream  Unit = "CPU/stream"
	ByEvent   Unit = "events/CPU-second"
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

// Job gives the workload's request to an address, and what its answers must be.
func (w Workload) Job(address, key string) *load.Job {
	model := Native
	if w.Crosses() {
		model = On(w.Served)
	}
	expect := load.Expect{}
	if w.Stream {
		expect = w.Caller.events(w.Upstream.Pieces)
	}
	if expect.MinBytes = w.MinBytes; expect.MinBytes == 0 {
		expect.MinBytes = 900
	}
	body := w.Caller.body(model, w.Size, w.Picture, w.Stream)
	return &load.Job{
		Request: load.NewRequest(address, w.Caller.Path(model, w.Stream), w.Caller.Headers(key), body),
		Expect:  expect,
	}
}

// Crosses reports whether the answers have to be translated, which only gateways do.
func (w Workload) Crosses() bool { return w.Served != "" && w.Served != w.Caller }
