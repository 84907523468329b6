package load

import (
	"slices"
	"time"
)

// Result is what a run has measured. Requests with errors are in no other figure.
type Result struct {
	// Requests is how many were answered well, those after the end of the run's
	// duration included.
	Requests int `json:"requests"`
	// Seconds is for how long requests were begun, Wall until the last was answered.
	Seconds float64 `json:"seconds"`
	Wall    float64 `json:"wall_seconds"`
	// RPS is how many were answered a second, of those answered in time.
	RPS     float64     `json:"rps"`
	Latency Percentiles `json:"latency_ms"`
	// Settled are the latencies of requests that were due later than Run.Settle.
	Settled Percentiles `json:"settled_ms,omitzero"`
	// First is the time to the first event of streams.
	First Percentiles `json:"first_event_ms,omitzero"`
	// Refused is how long answers took, from their sending, whose status is not 200.
	Refused Percentiles `json:"refused_ms,omitzero"`
	// Lag is how late an open loop was in sending.
	Lag Percentiles `json:"lag_ms,omitzero"`
	// Events is how many events streams had, EventsPerSecond within Wall.
	Events          int64          `json:"events,omitempty"`
	EventsPerSecond float64        `json:"events_per_second,omitempty"`
	Bytes           int64          `json:"bytes"`
	Errors          map[string]int `json:"errors,omitempty"`
}

// Failed is how many requests had an error.
func (r Result) Failed() (n int) {
	for _, count := range r.Errors {
		n += count
	}
	return n
}

// Percentiles are milliseconds, by nearest rank.
type Percentiles struct {
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p99.9"`
	Max  float64 `json:"max"`
}

func percentiles(all []time.Duration) Percentiles {
	if len(all) == 0 {
		return Percentiles{}
	}
	slices.Sort(all)
	at := func(thousandths int) float64 {
		rank := (thousandths*len(all) + 999) / 1000
		return float64(all[max(rank, 1)-1]) / float64(time.Millisecond)
	}
	return Percentiles{P50: at(500), P90: at(900), P99: at(990), P999: at(999), Max: at(1000)}
}

func summarize(tallies []tally, duration, wall time.Duration) Result {
	r := Result{Seconds: duration.Seconds(), Wall: wall.Seconds(), Errors: map[string]int{}}
	var latency, first, lag, refused, settled []time.Duration
	within := 0
	for _, t := range tallies {
		latency = append(latency, t.latency...)
		first = append(first, t.first...)
		lag = append(lag, t.lag...)
		refused = append(refused, t.refused...)
		settled = append(settled, t.settled...)
		within += t.within
		r.Events += t.events
		r.Bytes += t.bytes
		for kind, n := range t.errors {
			r.Errors[kind] += n
		}
	}
	r.Requests = len(latency)
	r.Latency, r.First, r.Lag, r.Refused = percentiles(latency), percentiles(first), percentiles(lag), percentiles(refused)
	r.Settled = percentiles(settled)
	r.RPS = float64(within) / r.Seconds
	r.EventsPerSecond = float64(r.Events) / r.Wall
	return r
}
