package harness

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/genway/genway/test/cases/probe"
)

// Frame is one block of a stream: an event, or a comment or bare newline that
// keeps the connection open.
type Frame struct {
	Event string
	Data  string
	// Comment is the text of a comment; "\n" for a bare newline.
	Comment string
	t       *testing.T
}

// JSON reads the frame's data; the test fails if it is not JSON.
func (f Frame) JSON() probe.Value {
	f.t.Helper()
	return probe.Parse(f.t, []byte(f.Data))
}

// Reader reads a stream a frame at a time.
type Reader struct {
	Status int
	Header http.Header
	t      *testing.T
	lines  *bufio.Reader
}

func newReader(t *testing.T, resp *http.Response) *Reader {
	t.Helper()
	return &Reader{Status: resp.StatusCode, Header: resp.Header, t: t, lines: bufio.NewReader(resp.Body)}
}

// Next returns the next frame; false at the clean end of the body. A body that is
// broken off, or framed in a way that some client cannot read, fails the test.
func (r *Reader) Next() (Frame, bool) {
	r.t.Helper()
	f := Frame{t: r.t}
	var data []string
	for {
		line, err := r.lines.ReadString('\n')
		if errors.Is(err, io.EOF) && line == "" && data == nil && f.Event == "" {
			return Frame{}, false
		}
		if err != nil {
			r.t.Fatalf("the stream is cut at %q: %v", line, err)
		}
		line = strings.TrimSuffix(line, "\n")
		switch name, value, _ := strings.Cut(line, ": "); {
		case line == "" && data != nil:
			f.Data = strings.Join(data, "\n")
			return f, true
		case line == "" && f.Comment == "" && f.Event == "":
			f.Comment = "\n"
			return f, true
		case line == "":
			return f, true
		case name == "event":
			f.Event = value
		case name == "data":
			data = append(data, value)
		case strings.HasPrefix(line, ":"):
			f.Comment = strings.TrimSpace(line[1:])
		default:
			r.t.Fatalf("a line no client expects: %q", line)
		}
	}
}

func parseFrames(t *testing.T, body []byte) []Frame {
	t.Helper()
	r := &Reader{t: t, lines: bufio.NewReader(bytes.NewReader(body))}
	var frames []Frame
	for {
		f, ok := r.Next()
		if !ok {
			return frames
		}
		frames = append(frames, f)
	}
}
