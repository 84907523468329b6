package remote

import (
	"bytes"
	"cmp"
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

// isStream reports whether the answer to a unary call is a stream of events: its Content-Type says
// so and it is neither JSON nor text, or it begins like one.
func isStream(h http.Header, raw []byte) bool {
	if mediaType, _, _ := mime.ParseMediaType(h.Get("Content-Type")); mediaType == "text/event-stream" {
		return !isJSON(raw) && !isText(h, raw) // both occur with this type
	}
	return beginsEvents(raw)
}

func beginsEvents(raw []byte) bool {
	raw = bytes.TrimLeft(bytes.TrimPrefix(raw, byteOrderMark), "\r\n")
	return slices.ContainsFunc([]string{"data:", "event:", "id:", "retry:", ":"}, func(field string) bool {
		return bytes.HasPrefix(raw, []byte(field))
	})
}

// isText reports whether an answer is text by its Content-Type and by its content, as a line that
// an upstream writes for people (genway.v1.WireMessage). A body that begins like JSON, HTML or
// events is a broken one of those. The type that Go's servers guess for a body without one
// (http.DetectContentType) does not count.
func isText(h http.Header, raw []byte) bool {
	value := h.Get("Content-Type")
	mediaType, _, err := mime.ParseMediaType(value)
	if err != nil || value == "text/plain; charset=utf-8" || mediaType != "text/plain" && mediaType != "text/event-stream" {
		return false
	}
	start := bytes.TrimSpace(raw)
	return len(start) > 0 && !strings.ContainsRune("{[\"<", rune(start[0])) && !isJSON(raw) && !beginsEvents(raw) &&
		utf8.Valid(raw) && bytes.IndexByte(raw, 0) < 0
}

// foldStream reads a stream of events as a unary answer. The answer is canonical for callers of
// the upstream's protocol too, since they did not ask for events.
func (u *Upstream) foldStream(raw []byte) (*genwayv1.GenerateTextResponse, error) {
	decoder, in := codec.JoinHalves(u.codec.NewStreamDecoder()), newEvents(bytes.NewReader(raw), len(raw))
	var accumulator codec.Accumulator
	var usage *genwayv1.Usage
	add := func(events []*genwayv1.StreamGenerateTextResponse, err error) error {
		for _, ev := range events {
			if started := ev.GetStarted(); started != nil {
				usage = started.GetUsage()
			}
			if err := accumulator.Add(ev); err != nil {
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
					return fault.MalformedAnswer(err)
				}
			}
		}
	}()
	if err == nil && !accumulator.Complete() {
		err = fault.StreamCut()
	}
	if err != nil {
		f := fault.From(u.redactFault(err))
		f.Usage = cmp.Or(f.Usage, u.cost(f), usage)
		return nil, f
	}
	return accumulator.Response(), nil
}

// isUnary reports whether the answer to a streamed call begins like a JSON object, as no stream of
// events does. It fills the buffer of in as far as necessary and takes nothing from it.
func (a *answer) isUnary(in *events) (bool, error) {
	for {
		start := bytes.TrimLeft(bytes.TrimPrefix(in.buf, byteOrderMark), " \t\r\n")
		if len(start) > 0 {
			return start[0] == '{', nil
		}
		if err := a.fill(in); err != nil {
			return false, err
		}
		if len(in.buf) > uncounted {
			return false, nil
		}
	}
}

// unary sends a unary answer as the events of a stream.
func (s *forwarder) unary(a *answer, in *events) error {
	a.body = io.MultiReader(bytes.NewReader(bytes.Clone(in.buf)), a.body)
	raw, err := a.whole(true)
	if err != nil {
		return s.failure(err)
	}
	resp, err := s.upstream.codec.DecodeResponse(raw)
	if err != nil {
		declined(s.record, raw, err)
		return s.failure(s.upstream.redactFault(err))
	}
	s.passThrough = false // the caller asked for events, and the upstream has sent none
	events := codec.Events(resp, nil)
	s.note(events)
	return s.send(events, nil)
}
