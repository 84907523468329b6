package codec

import (
	"bytes"
	"slices"
	"strings"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// JoinHalves returns a decoder that reads a letter whose surrogate pair is split between two frames.
// Upstreams that count text in units of UTF-16 send "\ud83d" at the end of one delta and "\ude00"
// at the beginning of the next; each half alone is no letter and would be read as U+FFFD. A frame
// with a string that ends in the first half is held until the next frame, which is the only
// one that can have the second.
func JoinHalves(d StreamDecoder) StreamDecoder { return &halves{StreamDecoder: d} }

type halves struct {
	StreamDecoder
	// held is the frame that waits, and firsts the halves at the ends of its strings, in order.
	held   *Frame
	firsts []half
}

// half is one half of a surrogate pair: the string that it is in, and the offset of its escape.
type half struct {
	of string
	at int
}

const (
	escape     = len(`\ud83d`)
	highHalves = "89abAB"
	lowHalves  = "cdefCDEF"
)

// Decode implements StreamDecoder.
func (h *halves) Decode(f Frame) ([]*genwayv1.StreamGenerateTextResponse, error) {
	var events []*genwayv1.StreamGenerateTextResponse
	if h.held != nil {
		f.Data = h.join(f.Data)
		var err error
		if events, err = h.release(); err != nil {
			return events, err
		}
	}
	if mayEndInHalf(f.Data) {
		if found := find(f.Data, func(raw []byte) (int, bool) {
			at := len(raw) - 1 - escape
			return at, at > 0 && isHalf(raw[at:], highHalves) && !escaped(raw[:at])
		}); len(found) > 0 {
			h.held, h.firsts = &Frame{Event: f.Event, Data: bytes.Clone(f.Data)}, found
			return events, nil
		}
	}
	more, err := h.StreamDecoder.Decode(f)
	return follow(events, more), err
}

// join moves the second halves from the beginnings of the same strings in the next frame to the one
// that is held. It returns what remains of the next frame.
func (h *halves) join(next []byte) []byte {
	seconds := find(next, func(raw []byte) (int, bool) {
		return 1, len(raw) > 1+escape && isHalf(raw[1:], lowHalves)
	})
	// From the last to the first, so that the offsets of those ahead stay.
	for _, first := range slices.Backward(h.firsts) {
		i := slices.IndexFunc(seconds, func(second half) bool { return second.of == first.of })
		if i < 0 {
			continue
		}
		at := seconds[i].at
		h.held.Data = slices.Insert(h.held.Data, first.at+escape, next[at:at+escape]...)
		next = slices.Concat(next[:at], next[at+escape:])
		seconds = seconds[:i]
	}
	return next
}

func (h *halves) release() ([]*genwayv1.StreamGenerateTextResponse, error) {
	if h.held == nil {
		return nil, nil
	}
	f := *h.held
	h.held = nil
	return h.StreamDecoder.Decode(f)
}

// Close implements StreamDecoder.
func (h *halves) Close() ([]*genwayv1.StreamGenerateTextResponse, error) {
	events, err := h.release()
	if err != nil {
		return events, err
	}
	more, err := h.StreamDecoder.Close()
	return follow(events, more), err
}

// follow returns the events of the held frame and those behind them. Nearly always none was held, and
// nothing is copied.
func follow(held, more []*genwayv1.StreamGenerateTextResponse) []*genwayv1.StreamGenerateTextResponse {
	if len(held) == 0 {
		return more
	}
	return append(held, more...)
}

// Finished reports whether the answer has ended, if the decoder knows.
func (h *halves) Finished() bool {
	f, ok := h.StreamDecoder.(interface{ Finished() bool })
	return ok && h.held == nil && f.Finished()
}

// Reported returns the usage that was reported so far, if the decoder knows.
func (h *halves) Reported() *genwayv1.Usage {
	if r, ok := h.StreamDecoder.(interface{ Reported() *genwayv1.Usage }); ok {
		return r.Reported()
	}
	return nil
}

// mayEndInHalf reports whether the first half of a pair is ahead of a quote. Most frames have no
// such escape at all.
func mayEndInHalf(data []byte) bool {
	for {
		i := bytes.Index(data, []byte(`\u`))
		if i < 0 || len(data) <= i+escape {
			return false
		}
		if data[i+escape] == '"' && isHalf(data[i:], highHalves) {
			return true
		}
		data = data[i+2:]
	}
}

// isHalf reports whether text begins with the escape of a surrogate of a kind.
func isHalf(text []byte, kind string) bool {
	return len(text) >= escape && text[0] == '\\' && text[1] == 'u' && (text[2] == 'd' || text[2] == 'D') && strings.IndexByte(kind, text[3]) >= 0
}

// escaped reports whether the text ends with the backslash that escapes the next one.
func escaped(text []byte) bool {
	n := len(text) - len(bytes.TrimRight(text, `\`))
	return n%2 == 1
}

// find returns the strings of a frame in which a half is. A string is known by its pointer and by
// the indices that are in the frame, those of the candidate and the part. Of a frame that is no JSON
// it returns none.
func find(data []byte, look func(raw []byte) (at int, ok bool)) []half {
	d := jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	var found []half
	var indices strings.Builder
	for {
		kind, n := d.StackIndex(d.StackDepth())
		isName := kind == '{' && n%2 == 0
		switch k := d.PeekKind(); {
		case k == '"' && !isName:
			raw, err := d.ReadValue()
			if err != nil {
				return nil
			}
			if at, ok := look(raw); ok {
				found = append(found, half{of: string(d.StackPointer()), at: int(d.InputOffset()) - len(raw) + at})
			}
			continue
		case k == '0':
			raw, err := d.ReadValue()
			if err != nil {
				return nil
			}
			if p := string(d.StackPointer()); strings.HasSuffix(p, "index") {
				indices.WriteString(p + "=" + string(raw))
			}
			continue
		}
		if _, err := d.ReadToken(); err != nil {
			break
		}
	}
	for i := range found {
		found[i].of += indices.String()
	}
	return found
}
