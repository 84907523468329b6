package faults_test

import (
	"github.com/genway/genway/internal/cases/gate"
	"github.com/genway/genway/internal/cases/say"
	"github.com/genway/genway/internal/faults/wreck"
)

// said is the text of all answers; streams say it in two pieces.
const said = "fine"

// picture is the image that images answers have.
const picture = "aGVsbG8="

// preambles is how many events come before the first content, tails how many tell
// that the answer has ended, terminators how many of those only end the stream.
var (
	preambles   = map[gate.Protocol]int{gate.Chat: 1, gate.Responses: 4, gate.Messages: 3, gate.GenerateContent: 1}
	tails       = map[gate.Protocol]int{gate.Chat: 3, gate.Responses: 1, gate.Messages: 2, gate.GenerateContent: 1}
	terminators = map[gate.Protocol]int{gate.Chat: 1, gate.Messages: 1}
)

// answer is a good answer of an upstream.
func answer(p gate.Protocol, streamed bool) wreck.Answer {
	switch {
	case p == gate.Images:
		return wreck.Body(`{"created":7,"data":[{"b64_json":"`+picture+`"}],"usage":{"input_tokens":11,"output_tokens":7,"total_tokens":18}}`, picture)
	case !streamed:
		return wreck.Body(say.Text(said).Body(p), said)
	}
	events := say.Text(said).Events(p)
	if p == gate.GenerateContent {
		events = append([]string{say.Chunk(`[]`, "")}, events...)
	}
	framed := make([]string, len(events))
	for i, data := range events {
		framed[i] = frame(p, data)
	}
	return wreck.Stream(framed, preambles[p], tails[p], terminators[p])
}

// frame writes an event as the protocol's service does.
func frame(p gate.Protocol, data string) string {
	if p == gate.Messages || p == gate.Responses {
		return "event: " + parse(data).Type + "\ndata: " + data + "\n\n"
	}
	return "data: " + data + "\n\n"
}
