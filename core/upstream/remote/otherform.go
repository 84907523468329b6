package remote

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// isStream reports whether the answer to a unary call is a stream of events: it says so and
// is neither JSON nor text, or it begins like one.
func isStream(h http.Header, raw []byte) bool {
	if mediaType, _, _ := mime.ParseMediaType(h.Get("Content-Type")); mediaType == "text/event-stream" {
		return !isJSON(raw) && !isText(h, raw) // which are mislabelled
	}
	return beginsEvents(raw)
}

func beginsEvents(raw []byte) bool {
	raw = bytes.TrimLeft(bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf")), "\r\n")
	return slices.ContainsFunc([]string{"data:", "event:", "id:", "retry:", ":"}, func(field string) bool {
		return bytes.HasPrefix(raw, []byte(field))
	})
}

// isText reports whether an answer says to be text and is: a line of an upstream's for those
// who read it (genway.v1.WireMessage). What begins like JSON, a page or events is a broken
// one of those, and a type that only Go's servers gave it, for want of a type of its own
// (http.DetectContentType), says nothing.
func isText(h http.Header, raw []byte) bool {
	value := h.Get("Content-Type")
	mediaType, _, err := mime.ParseMediaType(value)
	if err != nil || value == "text/plain; charset=utf-8" || mediaType != "text/plain" && mediaType != "text/event-stream" {
		return false
	}
	begun := bytes.TrimSpace(raw)
	return len(begun) > 0 && !strings.ContainsRune("{[\"<", rune(begun[0])) && !isJSON(raw) && !beginsEvents(raw) &&
		utf8.Valid(raw) && bytes.IndexByte(raw, 0) < 0
}

// folded reads a stream of events as the one answer that it amounts to. The answer is
// canonical, for callers of the upstream's protocol too: they did not ask for events.
func (u *Upstream) folded(raw []byte) (*genwayv1.GenerateTextResponse, error) {
	decoder, in := u.codec.NewStreamDecoder(), newEvents(bytes.NewReader(raw), len(raw))
	var folder codec.Accumulator
	var usage *genwayv1.Usage
	add := func(events []*genwayv1.StreamGenerateTextResponse, err error) error {
		for _, ev := range events {
			if started := ev.GetStarted(); started != nil {
				usage = started.GetUsage()
			}
			if err := folder.Add(ev); err != nil {
				return err
			}
		}
		return err
	}
	err := func() error {
		for ended := false; ; {
			f, _, ok := in.next(ended)
			switch {
			case ok && len(f.Data) > 0:
				if err := add(decoder.Decode(f)); err != nil {
					return err
				}
			case ok:
			case ended:
				return add(decoder.Close())
			default:
				if err := in.fill(); errors.Is(err, io.EOF) {
					ended = true
				} else if err != nil {
					return fault.Wrap(err, fault.BadUpstream, fault.ReasonMalformedAnswer, "the upstream's answer could not be read")
				}
			}
		}
	}()
	if err == nil && !folder.Complete() {
		err = fault.New(fault.BadUpstream, fault.ReasonStreamCut, "the upstream's stream ended before its end")
	}
	if err != nil {
		f := fault.From(u.redactFault(err))
		if f.Usage = u.cost(f); f.Usage == nil {
			f.Usage = usage
		}
		return nil, f
	}
	return folder.Response(), nil
}

// isWhole reports whether the answer to a streamed call begins like a JSON object, which no
// stream of events does. It reads as much as that takes. What was read is read again.
func (a *answer) isWhole(in *events) (bool, error) {
	for {
		begun := bytes.TrimLeft(bytes.TrimPrefix(in.buf, []byte("\xef\xbb\xbf")), " \t\r\n")
		if len(begun) > 0 {
			return begun[0] == '{', nil
		}
		if err := a.fill(in); err != nil {
			return false, err
		}
		if len(in.buf) > uncounted {
			return false, nil
		}
	}
}

// whole passes on an answer that came in one piece, as the events that it amounts to.
func (s *relay) whole(a *answer, in *events) error {
	a.body = io.MultiReader(bytes.NewReader(bytes.Clone(in.buf)), a.body)
	raw, err := a.whole(true)
	if err != nil {
		return s.own(err)
	}
	resp, err := s.upstream.codec.DecodeResponse(raw)
	if err != nil {
		return s.own(s.upstream.redactFault(err))
	}
	s.wired = false // the caller asked for events, and there are none of the upstream's
	events := codec.Events(resp, nil)
	s.heard(events)
	return s.pass(events, nil)
}
