package load

import (
	"errors"
	"strings"
	"testing"
)

var chatStream = Expect{Pieces: 3, Delta: `"delta"`, End: "[DONE]"}

func event(text string) string { return `data: {"delta":{"content":"` + text + `"}}` + "\n\n" }

const done = "data: [DONE]\n\n"

// A stream is whole when all pieces are there, in order, and its end after them.
func TestStreams(t *testing.T) {
	for name, c := range map[string]struct {
		stream string
		err    error
		events int
	}{
		"whole":           {event(" token0") + event(" token1") + event(" token2") + done, nil, 4},
		"joined":          {event(" token0 token1") + event(" token2") + done, nil, 3},
		"heartbeats":      {": ping\n\n" + event(" token0") + "\n" + event(" token1") + event(" token2") + done, nil, 4},
		"carriage return": {strings.ReplaceAll(event(" token0")+event(" token1")+event(" token2")+done, "\n", "\r\n"), nil, 4},
		"said again":      {event(" token0") + event(" token1") + event(" token2") + "data: {\"text\":\" token0 token1 token2\"}\n\n" + done, nil, 5},
		"lost":            {event(" token0") + event(" token2") + done, errOrder, 3},
		"swapped":         {event(" token1") + event(" token0") + event(" token2") + done, errOrder, 4},
		"twice":           {event(" token0") + event(" token0") + event(" token1") + event(" token2") + done, errOrder, 5},
		"too many":        {event(" token0") + event(" token1") + event(" token2") + event(" token3") + done, errOrder, 5},
		"short":           {event(" token0") + event(" token1") + done, errMissing, 3},
		"no end":          {event(" token0") + event(" token1") + event(" token2"), errNoEnd, 3},
		"after the end":   {event(" token0") + event(" token1") + done + event(" token2"), errLate, 4},
	} {
		t.Run(name, func(t *testing.T) {
			for cut := range len(c.stream) {
				var e events
				e.reset(chatStream)
				e.feed([]byte(c.stream[:cut]))
				e.feed([]byte(c.stream[cut:]))
				if err := e.check(); !errors.Is(err, c.err) || e.count != c.events {
					t.Fatalf("cut at %d: %v, %d events; want %v, %d", cut, err, e.count, c.err, c.events)
				}
			}
		})
	}
}
