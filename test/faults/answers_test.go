package faults_test

import (
	"bytes"
	"encoding/base64"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/genway/genway/test/cases/answers"
	"github.com/genway/genway/test/cases/harness"
	"github.com/genway/genway/test/faults/faulty"
)

// answerText is the text of all answers; streams have it in two pieces.
const answerText = "fine"

// picture is the image that images answers have.
const picture = "aGVsbG8="

// preambles is how many events come before the first content, tails how many tell
// that the answer has ended, terminators how many of those only end the stream.
var (
	preambles   = map[harness.Protocol]int{harness.Chat: 1, harness.Responses: 4, harness.Messages: 3, harness.GenerateContent: 1, harness.Interactions: 2}
	tails       = map[harness.Protocol]int{harness.Chat: 3, harness.Responses: 1, harness.Messages: 2, harness.GenerateContent: 1, harness.Interactions: 2}
	terminators = map[harness.Protocol]int{harness.Chat: 1, harness.Messages: 1, harness.Interactions: 1}
)

// answer is a good answer of an upstream.
func answer(p harness.Protocol, streamed bool) faulty.Answer {
	switch {
	case p == harness.Images:
		return faulty.Body(`{"created":7,"data":[{"b64_json":"`+picture+`"}],"usage":{"input_tokens":11,"output_tokens":7,"total_tokens":18}}`, picture)
	case !streamed:
		return faulty.Body(answers.Text(answerText).Body(p), answerText)
	}
	events := answers.Text(answerText).Events(p)
	if p == harness.GenerateContent {
		events = append([]string{answers.Chunk(`[]`, "")}, events...)
	}
	framed := make([]string, len(events))
	for i, data := range events {
		framed[i] = frame(p, data)
	}
	return faulty.Stream(framed, preambles[p], tails[p], terminators[p])
}

// invoked is a good stream of messages as Bedrock's InvokeModelWithResponseStream frames it:
// each event is a chunk of AWS's event stream.
func invoked() faulty.Answer {
	a := answer(harness.Messages, true)
	a.Type = "application/vnd.amazon.eventstream"
	for i, data := range answers.Text(answerText).Events(harness.Messages) {
		m := eventstream.Message{Payload: []byte(`{"bytes":"` + base64.StdEncoding.EncodeToString([]byte(data)) + `"}`)}
		m.Headers.Set(":message-type", eventstream.StringValue("event"))
		m.Headers.Set(":event-type", eventstream.StringValue("chunk"))
		var framed bytes.Buffer
		if err := eventstream.NewEncoder().Encode(&framed, m); err != nil {
			panic(err)
		}
		a.Pieces[i] = framed.String()
	}
	return a
}

// frame writes an event as the protocol's service does.
func frame(p harness.Protocol, data string) string {
	if p == harness.Messages || p == harness.Responses {
		return "event: " + parse(data).Type + "\ndata: " + data + "\n\n"
	}
	return "data: " + data + "\n\n"
}
