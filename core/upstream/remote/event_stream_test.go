package remote

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/genway/genway/codec/fault"
)

// frames are the chunks of three events, and where each ends.
func frames(t *testing.T) (text []byte, ends map[int]int, events []string) {
	t.Helper()
	ends = map[int]int{0: 0}
	var out bytes.Buffer
	for i, data := range []string{`{"type":"a"}`, `{"type":"b","text":"more of it"}`, `{"type":"c"}`} {
		m := eventstream.Message{Payload: []byte(`{"bytes":"` + base64.StdEncoding.EncodeToString([]byte(data)) + `"}`)}
		m.Headers.Set(":message-type", eventstream.StringValue("event"))
		m.Headers.Set(":event-type", eventstream.StringValue("chunk"))
		if err := eventstream.NewEncoder().Encode(&out, m); err != nil {
			t.Fatal(err)
		}
		ends[out.Len()] = i + 1
		events = append(events, "event: "+string(data[9])+"\ndata: "+data+"\n\n")
	}
	return out.Bytes(), ends, events
}

func readFrames(t *testing.T, text []byte) (string, error) {
	t.Helper()
	a := &answer{upstream: &Upstream{config: Config{MaxAnswerBytes: 1 << 20}}, ctx: t.Context()}
	got, err := io.ReadAll(newEventStream(a, bytes.NewReader(text)))
	return string(got), err
}

// A stream that is cut has the events that came whole, and ends without an error between two
// frames alone.
func TestEventStreamCutAtEveryByte(t *testing.T) {
	text, ends, events := frames(t)
	whole := 0
	for n := range len(text) + 1 {
		count, between := ends[n]
		if between {
			whole = count
		}
		want := strings.Join(events[:whole], "")
		got, err := readFrames(t, text[:n])
		if got != want || between != (err == nil) || err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut at %d: got %q, %v", n, got, err)
		}
	}
}

// No byte can be changed without being noticed: a changed frame yields nothing, nor does what
// follows it.
func TestEventStreamChangedAtEveryByte(t *testing.T) {
	text, ends, events := frames(t)
	whole := 0
	for n := range text {
		if count, between := ends[n]; between {
			whole = count
		}
		want := strings.Join(events[:whole], "")
		for _, bit := range []byte{1, 0x80} {
			changed := bytes.Clone(text)
			changed[n] ^= bit
			got, err := readFrames(t, changed)
			// A header whose length is changed may end behind its frame, as in a cut one.
			if reported := errors.Is(err, io.ErrUnexpectedEOF) || fault.From(err).Reason == fault.ReasonMalformedAnswer && !errors.Is(err, errEventTooLarge); got != want || !reported {
				t.Errorf("byte %d: got %q, %v", n, got, err)
			}
		}
	}
}
