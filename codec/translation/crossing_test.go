package translation

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/chat"
	"github.com/genway/genway/codec/codectest"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/generatecontent"
	"github.com/genway/genway/codec/interactions"
	"github.com/genway/genway/codec/messages"
	"github.com/genway/genway/codec/responses"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

var codecs = map[string]codec.Codec{
	"chat":            chat.Codec{},
	"responses":       responses.Codec{},
	"messages":        messages.Codec{},
	"generatecontent": generatecontent.Codec{},
	"interactions":    interactions.Codec{},
}

// refusals are what a target cannot hold and must refuse by name.
var refusals = map[string]string{"stop sequences to responses": "stop_sequences"}

// losses are what a target may lose, if it says so: "request to target" -> the
// beginning of the member it names.
var losses = map[string]string{}

func pairs(t *testing.T, run func(t *testing.T, from, to string)) {
	for from := range codecs {
		for to := range codecs {
			t.Run(from+" to "+to, func(t *testing.T) { run(t, from, to) })
		}
	}
}

// A request of any protocol means the same to an upstream of any other, is refused
// by name, or its loss is declared.
func TestRequestsKeepTheirMeaning(t *testing.T) {
	pairs(t, func(t *testing.T, from, to string) {
		for name, canonical := range requests() {
			if from == "responses" && name == "stop sequences" {
				continue // its callers cannot say this
			}
			t.Run(name, func(t *testing.T) {
				asked := asCaller(t, codecs[from], canonical)
				var lost codec.Losses
				body, err := codecs[to].EncodeRequest(asked, &lost)
				if from != to {
					if param, refused := refusals[name+" to "+to]; refused {
						var f *fault.Error
						if !errors.As(err, &f) || f.Kind != fault.InvalidRequest || !strings.HasPrefix(f.Param, param) {
							t.Fatalf("is not refused by name: %v", err)
						}
						return
					}
				}
				if err != nil {
					t.Fatal(err)
				}
				got, err := codecs[to].DecodeRequest(body)
				if err != nil {
					t.Fatalf("%v\n%s", err, body)
				}
				want, have := meaning(asked), meaning(got)
				if want != have && !isLost(lost.List(), losses[name+" to "+to]) {
					t.Errorf("asked\n%s\nbecame\n%s\nin %s", want, have, body)
				}
			})
		}
	})
}

func isLost(list []*genwayv1.Loss, member string) bool {
	for _, l := range list {
		if member != "" && strings.HasPrefix(l.GetMember(), member) {
			return true
		}
	}
	return false
}

// asCaller is the canonical request as it comes from a caller of the protocol.
func asCaller(t *testing.T, c codec.Codec, canonical *genwayv1.GenerateTextRequest) *codec.Request {
	t.Helper()
	body, err := c.EncodeRequest(&codec.Request{GenerateTextRequest: proto.CloneOf(canonical)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	asked, err := c.DecodeRequest(body)
	if err != nil {
		t.Fatalf("%v\n%s", err, body)
	}
	if asked.Model == "" {
		asked.Model = canonical.Model // from the path
	}
	return asked
}

// An answer of any upstream means the same to a caller of any protocol, unary and
// streamed, wherever the stream is cut into pieces.
func TestAnswersKeepTheirMeaning(t *testing.T) {
	pairs(t, func(t *testing.T, from, to string) {
		for name, canonical := range answers() {
			t.Run(name, func(t *testing.T) {
				upstream, caller := codecs[from], codecs[to]
				asked := asCaller(t, caller, requests()["text"])
				asked.IncludeUsage = true

				body, err := upstream.EncodeResponse(proto.CloneOf(canonical), codec.Answer{})
				if err != nil {
					t.Fatal(err)
				}
				answer, err := upstream.DecodeResponse(body)
				if err != nil {
					t.Fatalf("%v\n%s", err, body)
				}
				want := outcome(answer)
				if body, err = caller.EncodeResponse(answer, codec.Answer{Request: asked}); err != nil {
					t.Fatal(err)
				}
				got, err := caller.DecodeResponse(body)
				if err != nil {
					t.Fatalf("%v\n%s", err, body)
				}
				if have := outcome(got); have != want {
					t.Errorf("unary: the upstream sent\n%s\nthe caller got\n%s\nin %s", want, have, body)
				}

				received := restream(t, upstream, caller, canonical, asked)
				if have := outcome(received); have != want {
					t.Errorf("streamed: the upstream sent\n%s\nthe caller got\n%s", want, have)
				}
			})
		}
	})
}

// restream sends the answer as a stream of the upstream's protocol, passes its
// events on in the caller's, and returns what the caller adds up.
func restream(t *testing.T, upstream, caller codec.Codec, canonical *genwayv1.GenerateTextResponse, asked *codec.Request) *genwayv1.GenerateTextResponse {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	split := func(s string) []string {
		if len(s) < 2 {
			return []string{s}
		}
		at := 1 + random.IntN(len(s)-1)
		return []string{s[:at], s[at:]}
	}
	sent := codectest.EncodeStream(t, upstream, codec.Events(proto.CloneOf(canonical), split), codec.Answer{Request: &codec.Request{GenerateTextRequest: asked.GenerateTextRequest, Stream: true, IncludeUsage: true}})
	decoder := upstream.NewStreamDecoder()
	var events []*genwayv1.StreamGenerateTextResponse
	for _, frame := range sent {
		evs, err := decoder.Decode(frame)
		if err != nil {
			t.Fatalf("%v\n%s", err, codectest.Frames(sent))
		}
		events = append(events, evs...)
	}
	evs, err := decoder.Close()
	if err != nil {
		t.Fatalf("%v\n%s", err, codectest.Frames(sent))
	}
	events = append(events, evs...)
	passed := codectest.EncodeStream(t, caller, events, codec.Answer{Request: asked})
	got, err := codectest.DecodeStream(caller, passed)
	if err != nil {
		t.Fatalf("%v\n%s", err, codectest.Frames(passed))
	}
	return got
}
