package wire

import (
	"fmt"
	"strings"
)

// Done is the data that ends a stream of chat completions. It is no JSON.
const Done = "[DONE]"

// Frame is one event of a server-sent stream that has data.
type Frame struct {
	// Event is the event's name, or empty.
	Event string
	// Raw is the data, Data the same decoded; nil for Done.
	Raw  string
	Data any
}

// Frames splits a server-sent stream, and counts its comments. It fails on a line
// that is none of the stream's, on data that is no JSON, and on a stream that breaks
// off within a frame.
func Frames(raw string) (frames []Frame, comments int, err error) {
	if raw != "" && !strings.HasSuffix(raw, "\n\n") {
		return nil, 0, fmt.Errorf("the stream breaks off: %q", raw[max(0, len(raw)-200):])
	}
	for block := range strings.SplitSeq(raw, "\n\n") {
		f := Frame{}
		for line := range strings.SplitSeq(block, "\n") {
			name, value, _ := strings.Cut(line, ": ")
			switch {
			case line == "":
			case strings.HasPrefix(line, ":"):
				comments++
			case name == "event":
				f.Event = value
			case name == "data":
				f.Raw += value
			default:
				return nil, 0, fmt.Errorf("a line of the stream is %q", line)
			}
		}
		if f.Raw == "" {
			if f.Event != "" {
				return nil, 0, fmt.Errorf("event %s has no data", f.Event)
			}
			continue
		}
		if f.Raw != Done {
			if f.Data, err = Decode(f.Raw); err != nil {
				return nil, 0, fmt.Errorf("data %q: %w", f.Raw, err)
			}
		}
		frames = append(frames, f)
	}
	return frames, comments, nil
}
