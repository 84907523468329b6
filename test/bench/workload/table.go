package workload

import (
	"time"

	"github.com/genway/genway/test/bench/upstream"
)

// answering returns the upstream's defaults, changed.
func answering(change func(*upstream.Settings)) upstream.Settings {
	s := upstream.Defaults()
	change(&s)
	return s
}

// Chat1K is the workload that others are compared with.
func Chat1K() Workload {
	return Workload{
		Name: "chat", Title: "chat, 1 KB, 32 connections", Unit: ByRequest,
		Upstream: upstream.Defaults(), Caller: Chat, Size: 1000, Connections: 32,
	}
}

// Main are the workloads that every target is put through.
func Main() []Workload {
	const kilobyte = 1000
	return []Workload{
		Chat1K(),
		{
			Name: "stream", Title: "chat stream, 200 events, 16 connections", Unit: ByStream,
			Upstream: upstream.Defaults(), Caller: Chat, Size: kilobyte, Stream: true, Connections: 16,
		},
		{
			Name: "paced", Title: "paced streams, 200 events, 10 ms apart, 50 connections", Unit: ByStream,
			Upstream: answering(func(s *upstream.Settings) { s.Gap = 10 * time.Millisecond }),
			Caller:   Chat, Size: kilobyte, Stream: true, Connections: 50, Requests: 50, Duration: 10 * time.Second,
			Ramp: pacedRamp,
		},
		{
			Name: "prompt200k", Title: "200 KB prompt, 8 connections", Unit: ByRequest,
			Upstream: upstream.Defaults(), Caller: Chat, Size: 200 * kilobyte, Connections: 8,
		},
		{
			Name: "prompt1m", Title: "1 MB prompt, 8 connections", Unit: ByRequest,
			Upstream: upstream.Defaults(), Caller: Chat, Size: 1000 * kilobyte, Connections: 8,
		},
		{
			Name: "image-in", Title: "1 MB image in the request, 8 connections", Unit: ByRequest,
			Upstream: upstream.Defaults(), Caller: Chat, Size: 1000 * kilobyte, Picture: true, Connections: 8,
		},
		{
			Name: "image-out", Title: "1.5 MB image in the answer, 8 connections", Unit: ByRequest,
			Upstream: upstream.Defaults(), Caller: Images, Connections: 8, MinBytes: 1_500_000,
		},
		{
			Name: "open500", Title: "open loop, 500 requests a second, 64 connections", Unit: ByLatency,
			Upstream: upstream.Defaults(), Caller: Chat, Size: kilobyte, Connections: 64, Rate: 500, Duration: 2 * time.Second,
		},
	}
}

// ChatStream is the stream that others are compared with.
func ChatStream() Workload { return Main()[1] }

// Pairs are chat within each protocol and between all of them, in the order of the
// callers. The first is Chat1K.
func Pairs() []Workload { return pairsOf(Chat1K(), "") }

// StreamPairs are the same as streams. The first is ChatStream.
func StreamPairs() []Workload { return pairsOf(ChatStream(), " stream") }

func pairsOf(base Workload, suffix string) []Workload {
	pairs := []Workload{base}
	for _, caller := range Texts() {
		for _, served := range Texts() {
			if caller == Chat && served == Chat {
				continue
			}
			w := base
			w.Name = string(caller) + ">" + string(served) + suffix
			w.Title = string(caller) + " → " + string(served)
			w.Caller, w.Served = caller, served
			pairs = append(pairs, w)
		}
	}
	return pairs
}

// pacedRamp is the time over which the paced streams begin: one each 10.2 ms, so that each has its events
// a fiftieth of their gap later than the one before, and the events of all come one by one. Streams that
// begin at once have their events in bunches, and the sooner a target opens them all, the closer these are.
// Events of a bunch share wake-ups and writes, so the row would be about the opening of streams.
const pacedRamp = 50 * 10200 * time.Microsecond

// OpenStreams is so many streams at once of an event each 100 ms, for five seconds.
func OpenStreams(streams int) Workload {
	return Open("open-streams", "streams of an event each 100 ms", streams, 5*time.Second)
}

// Open is so many streams at once that last for a time, an event each 100 ms.
func Open(name, title string, streams int, last time.Duration) Workload {
	const gap = 100 * time.Millisecond
	return Workload{
		Name: name, Title: title, Unit: ByStream,
		Upstream: answering(func(s *upstream.Settings) { s.Gap, s.Pieces = gap, int(last/gap) }),
		Caller:   Chat, Size: 1000, Stream: true, Connections: streams, Requests: int64(streams),
		Duration: last, Ramp: time.Duration(streams) * time.Millisecond,
	}
}

// Pictures is answers with an image of 20 MB each, through 8 connections.
func Pictures(requests int64) Workload {
	const size = 20_000_000
	return Workload{
		Name: "pictures", Title: "images of 20 MB, 8 connections", Unit: ByRequest,
		Upstream: answering(func(s *upstream.Settings) { s.Image = size }),
		Caller:   Images, Connections: 8, MinBytes: size, Requests: requests, Duration: 5 * time.Minute,
	}
}
