package remote

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/genway/genway/codec"
	"github.com/tmaxmax/go-sse"
)

// read returns all events of a stream, and how it ended.
func read(r io.Reader, most int) (frames []codec.Frame, err error) {
	in := newEvents(r, most)
	for ended := false; ; {
		f, _, ok := in.next(ended)
		switch {
		case ok:
			frames = append(frames, f)
		case ended:
			return frames, nil
		default:
			if err := in.fill(); errors.Is(err, io.EOF) {
				ended = true
			} else if err != nil {
				return frames, err
			}
		}
	}
}

var streams = []string{
	"", "\n", "\n\n\n", ": comment\n\n", "data: a\n\n", "data:a\n\ndata:  b\n\n", "event: e\ndata: a\n\n", "event: e\n\n", "data\n\n", "data:\n\n",
	"data: a\ndata: b\n\n", "data: a\r\n\r\ndata: b\r\n\r\n", "data: a\r\ndata: b\r\n\r\n", "data: a\r\rdata: b\r\r", "data: a\n", "data: a", "data: a\n\ndata: b\n", "data: a\n\ndata: b",
	"\xef\xbb\xbfdata: a\n\n", "id: 1\n\ndata: x\n\n", "retry: 5\n\ndata: x\n\n", "other: y\ndata: x\n\n", "data: a\r\n", "data: x\r", ":\n\n:\n\ndata: z\n\n",
	"event: " + strings.Repeat("e", 300) + "\ndata: " + strings.Repeat("x", 20_000) + "\n\ndata: y\n\n",
}

// The events are the same however the bytes arrive, and those that a reader known to
// follow the standard finds.
func same(t *testing.T, stream string) {
	t.Helper()
	var want []codec.Frame
	for e, err := range sse.Read(strings.NewReader(stream), &sse.ReadConfig{MaxEventSize: 1 << 20}) {
		if err == nil {
			want = append(want, codec.Frame{Event: e.Type, Data: []byte(e.Data)})
		}
	}
	for name, r := range map[string]io.Reader{
		"whole": strings.NewReader(stream), "bytewise": iotest.OneByteReader(strings.NewReader(stream)), "halves": iotest.HalfReader(strings.NewReader(stream)),
	} {
		got, err := read(r, 1<<20)
		if err != nil || len(got) != len(want) {
			t.Errorf("%q, %s: %q, %v, want %q", stream, name, got, err, want)
			continue
		}
		for i := range got {
			if got[i].Event != want[i].Event || !bytes.Equal(got[i].Data, want[i].Data) {
				t.Errorf("%q, %s: event %d is %q, want %q", stream, name, i, got[i], want[i])
			}
		}
	}
}

func TestEvents(t *testing.T) {
	for _, stream := range streams {
		same(t, stream)
	}
}

func FuzzEvents(f *testing.F) {
	for _, stream := range streams {
		f.Add(stream)
	}
	f.Fuzz(func(t *testing.T, stream string) {
		if strings.ContainsAny(stream, "\x00") || len(stream) > 4096 {
			return
		}
		same(t, stream)
	})
}

// An event is bounded, and an error of the reader is reported.
func TestEventsEnd(t *testing.T) {
	if _, err := read(strings.NewReader("data: "+strings.Repeat("x", 100_000)), 50_000); !errors.Is(err, errEventTooLarge) {
		t.Errorf("too large: %v", err)
	}
	broken := errors.New("broken")
	frames, err := read(io.MultiReader(strings.NewReader("data: a\n\ndata: b"), iotest.ErrReader(broken)), 1<<20)
	if !errors.Is(err, broken) || len(frames) != 1 {
		t.Errorf("%q, %v", frames, err)
	}
}
