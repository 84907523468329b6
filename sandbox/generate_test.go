package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

// request draws one of the many requests the sandbox answers.
func request(t *rapid.T) *genwayv1.GenerateTextRequest {
	prompt := rapid.SampledFrom([]string{"Say hello.", "Weather in São Paulo? 🌦️", `Call the tool read with {"filePath":"é"}.`,
		"Use get_weather and read.", "", "hi END there"}).Draw(t, "prompt")
	req := ask(prompt)
	if rapid.Bool().Draw(t, "history") {
		req.Messages = append([]*genwayv1.Message{
			say(genwayv1.Role_ROLE_SYSTEM, "Be brief."), say(genwayv1.Role_ROLE_USER, "Erst dies."), say(genwayv1.Role_ROLE_ASSISTANT, "Ja."),
		}, req.Messages...)
	}
	if rapid.Bool().Draw(t, "tools") {
		req.Tools = []*genwayv1.Tool{weather, reader, custom}
	}
	if rapid.Bool().Draw(t, "limited") {
		req.MaxOutputTokens = new(rapid.Int64Range(1, 60).Draw(t, "limit"))
	}
	if rapid.Bool().Draw(t, "stops") {
		req.StopSequences = []string{"END", "zz"}
	}
	if rapid.Bool().Draw(t, "structured") {
		req.ResponseFormat = &genwayv1.ResponseFormat{Kind: genwayv1.ResponseFormat_KIND_JSON_OBJECT}
	}
	if rapid.Bool().Draw(t, "sampled") {
		req.Sampling = &genwayv1.Sampling{
			Seed:           new(rapid.Int64().Draw(t, "seed")),
			CandidateCount: new(rapid.Int32Range(1, 3).Draw(t, "n")),
			Logprobs:       new(true), TopLogprobs: new(rapid.Int32Range(0, 5).Draw(t, "top")),
		}
	}
	if rapid.Bool().Draw(t, "thinking") {
		req.Thinking = &genwayv1.ThinkingConfig{Effort: "high", IncludeThoughts: new(rapid.Bool().Draw(t, "shown")),
			Summary: rapid.SampledFrom([]string{"", "auto"}).Draw(t, "summary")}
	}
	if rapid.Bool().Draw(t, "speech") {
		req.Modalities = []string{"text", "audio"}
	}
	req.Wire = &genwayv1.WireMessage{Protocol: genwayv1.Protocol(rapid.IntRange(0, 4).Draw(t, "protocol"))}
	req.Model = rapid.SampledFrom([]string{"sandbox-text", "sandbox-text", "sandbox-empty", "sandbox-refusal", "sandbox-filter",
		"sandbox-blocked", "sandbox-redacted", "sandbox-citations", "sandbox-pause", "sandbox-long-90"}).Draw(t, "model")
	return req
}

// TestStreamIsTheAnswer holds property 2 of the sandbox: a stream folds to the unary
// answer, equal requests get equal answers, usage adds up and a count is what usage says.
func TestStreamIsTheAnswer(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		req := request(rt)
		before := proto.CloneOf(req)
		unary, err := newSandbox(t).GenerateText(t.Context(), deferred.New(req))
		if err != nil {
			rt.Fatalf("unary: %v", err)
		}
		s := newSandbox(t)
		folder, err := fold(t.Context(), s, req)
		if err != nil || !folder.Complete() {
			rt.Fatalf("stream: %v, complete %v", err, folder.Complete())
		}
		if !proto.Equal(unary, folder.Response()) {
			rt.Fatalf("unary:\n%v\nstream:\n%v", unary, folder.Response())
		}
		if !proto.Equal(before, req) {
			rt.Fatal("the request was changed")
		}
		if _, err := proto.Marshal(unary); err != nil {
			rt.Fatalf("not valid on the wire: %v", err)
		}
		count, err := s.CountTokens(t.Context(), &genwayv1.CountTokensRequest{Request: req})
		if err != nil || count.InputTokens != unary.Usage.InputTokens {
			rt.Fatalf("counted %d, used %d: %v", count.GetInputTokens(), unary.Usage.InputTokens, err)
		}
		u := unary.Usage
		if u.TotalTokens != u.InputTokens+u.OutputTokens || u.GetThinkingTokens() > u.OutputTokens {
			rt.Fatalf("usage %v", u)
		}
		if limit := req.MaxOutputTokens; limit != nil && req.Model == "sandbox-text" {
			if most := *limit * int64(len(unary.Candidates)); u.OutputTokens > most {
				rt.Fatalf("%d tokens with a limit of %d", u.OutputTokens, most)
			}
		}
	})
}

func TestStreamsInTokens(t *testing.T) {
	var deltas int
	var first *genwayv1.StreamGenerateTextResponse
	err := newSandbox(t).StreamGenerateText(t.Context(), deferred.New(ask("Say hello.")), func(ev *genwayv1.StreamGenerateTextResponse) error {
		if first == nil {
			first = ev
		}
		if ev.GetPartDelta().GetText() != "" {
			deltas++
		}
		return nil
	})
	if err != nil || first.GetStarted() == nil || deltas != 7 {
		t.Errorf("first %v, %d deltas, %v", first, deltas, err)
	}
}

func TestSendEndsTheStream(t *testing.T) {
	failure := errors.New("gone")
	sent := 0
	err := newSandbox(t).StreamGenerateText(t.Context(), deferred.New(ask("Say hello.")), func(*genwayv1.StreamGenerateTextResponse) error {
		sent++
		return failure
	})
	if err != failure || sent != 1 { //nolint:errorlint // the contract is the very error
		t.Errorf("sent %d, %v", sent, err)
	}
}

func TestCancelledStreams(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	sent := 0
	err := newSandbox(t).StreamGenerateText(ctx, deferred.New(ask("Say hello.")), func(*genwayv1.StreamGenerateTextResponse) error {
		sent++
		cancel()
		return nil
	})
	refused(t, err, fault.Cancelled, "")
	if sent != 1 {
		t.Errorf("%d events after the end of the context", sent-1)
	}
}

func TestDemandedFaults(t *testing.T) {
	for name, c := range map[string]struct {
		kind    fault.Kind
		status  int
		reason  string
		after   time.Duration
		halfway bool
	}{
		"rate-limit":  {kind: fault.RateLimited, status: 429, after: 2 * time.Second},
		"quota":       {kind: fault.QuotaExhausted, status: 429},
		"overload":    {kind: fault.Overloaded, status: 503},
		"error":       {kind: fault.BadUpstream, status: 500},
		"unavailable": {kind: fault.Unavailable, status: 503, after: 2 * time.Second},
		"timeout":     {kind: fault.Timeout, status: 504},
		"garbage":     {kind: fault.BadUpstream, status: 502, reason: fault.ReasonMalformedAnswer},
		"cut":         {kind: fault.BadUpstream, status: 502, reason: fault.ReasonStreamCut, halfway: true},
		"mid-error":   {kind: fault.Overloaded, status: 503, halfway: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSandbox(t)
			req := ask("Say hello.", called("sandbox-"+name))
			_, unary := s.GenerateText(t.Context(), deferred.New(req))
			folder, streamed := fold(t.Context(), s, req)
			for _, err := range []error{unary, streamed} {
				refused(t, err, c.kind, "")
				f := fault.From(err)
				if f.HTTPStatus() != c.status || f.RetryAfter != c.after || c.reason != "" && f.Reason != c.reason {
					t.Errorf("status %d, retry after %v, reason %s", f.HTTPStatus(), f.RetryAfter, f.Reason)
				}
			}
			if begun := folder.Response().GetId() != ""; begun != c.halfway || folder.Complete() {
				t.Errorf("the stream had begun: %v, was complete: %v", begun, folder.Complete())
			}
		})
	}
}

func TestSlow(t *testing.T) {
	for name, c := range map[string]struct {
		want  time.Duration
		pings int
	}{
		"sandbox-slow":       {2 * time.Second, 1},
		"sandbox-slow-500ms": {500 * time.Millisecond, 0},
		"sandbox-slow-5s":    {5 * time.Second, 4},
		"sandbox-drip-1s":    {11 * time.Second, 0}, // 12 events, a pause between each two
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start, pings := time.Now(), 0
				err := newSandbox(t).StreamGenerateText(t.Context(), deferred.New(ask("Say hello.", called(name))), func(ev *genwayv1.StreamGenerateTextResponse) error {
					if ev.GetPing() != nil {
						pings++
					}
					if ev.GetStarted() != nil && time.Since(start) != 0 {
						t.Errorf("started after %v", time.Since(start))
					}
					return nil
				})
				if took := time.Since(start); err != nil || took != c.want || pings != c.pings {
					t.Errorf("took %v with %d pings, want %v with %d: %v", took, pings, c.want, c.pings, err)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if _, err := newSandbox(t).GenerateText(t.Context(), deferred.New(ask("hi", called("sandbox-slow-3s")))); err != nil || time.Since(start) != 3*time.Second {
			t.Errorf("unary took %v: %v", time.Since(start), err)
		}
	})
}

func TestHangEndsWithTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for _, name := range []string{"sandbox-hang", "sandbox-slow-10m"} {
			_, err := newSandbox(t).GenerateText(ctx, deferred.New(ask("hi", called(name))))
			refused(t, err, fault.Timeout, "")
		}
	})
}

func TestShapes(t *testing.T) {
	for name, c := range map[string]struct {
		stop genwayv1.StopReason
		ok   func(*genwayv1.GenerateTextResponse) bool
	}{
		"empty": {genwayv1.StopReason_STOP_REASON_END_TURN, func(r *genwayv1.GenerateTextResponse) bool {
			return len(r.Candidates[0].Parts) == 0 && r.Usage.OutputTokens == 0
		}},
		"refusal": {genwayv1.StopReason_STOP_REASON_REFUSAL, func(r *genwayv1.GenerateTextResponse) bool {
			return r.Candidates[0].Parts[0].GetRefusal().GetText() != ""
		}},
		"filter": {genwayv1.StopReason_STOP_REASON_CONTENT_FILTER, func(r *genwayv1.GenerateTextResponse) bool {
			return answerText(r) == `You said: "`
		}},
		"redacted": {genwayv1.StopReason_STOP_REASON_END_TURN, func(r *genwayv1.GenerateTextResponse) bool {
			return r.Candidates[0].Parts[0].GetThinking().GetEncryptedContent() != nil && r.Candidates[0].Parts[0].GetThinking().GetText() == ""
		}},
		"citations": {genwayv1.StopReason_STOP_REASON_END_TURN, func(r *genwayv1.GenerateTextResponse) bool {
			return r.Candidates[0].Parts[0].GetText().GetCitations()[0].GetEndIndex() == int32(len(answerText(r)))
		}},
		"pause": {genwayv1.StopReason_STOP_REASON_PAUSE, func(r *genwayv1.GenerateTextResponse) bool { return answerText(r) != "" }},
		"long": {genwayv1.StopReason_STOP_REASON_END_TURN, func(r *genwayv1.GenerateTextResponse) bool {
			return r.Usage.OutputTokens >= 2000 && r.Usage.OutputTokens < 2100
		}},
		"long-300": {genwayv1.StopReason_STOP_REASON_END_TURN, func(r *genwayv1.GenerateTextResponse) bool {
			return r.Usage.OutputTokens >= 300 && r.Usage.OutputTokens < 400
		}},
	} {
		t.Run(name, func(t *testing.T) {
			resp := generate(t, ask("Say hello.", called("sandbox-"+name)))
			if got := resp.Candidates[0].StopReason; got != c.stop || !c.ok(resp) {
				t.Errorf("%v", resp)
			}
		})
	}
	blocked := generate(t, ask("Say hello.", called("sandbox-blocked")))
	if len(blocked.Candidates) != 0 || blocked.PromptFeedback.GetBlockReason() == "" || blocked.Usage.OutputTokens != 0 {
		t.Errorf("blocked: %v", blocked)
	}
}

// TestPausedTurnGoesOn has the vendor's loop: send the paused turn back until the turn
// has ended.
func TestPausedTurnGoesOn(t *testing.T) {
	first := generate(t, ask("Say hello.", called("sandbox-pause"))).Candidates[0]
	if first.StopReason != genwayv1.StopReason_STOP_REASON_PAUSE {
		t.Fatalf("%v", first)
	}
	search := &genwayv1.Part{Kind: &genwayv1.Part_Opaque{Opaque: &genwayv1.OpaquePart{Type: "server_tool_use"}}}
	for name, paused := range map[string][]*genwayv1.Part{"text": first.Parts, "a search of the vendor's": {search}} {
		t.Run(name, func(t *testing.T) {
			messages := []*genwayv1.Message{say(genwayv1.Role_ROLE_USER, "Say hello."), {Role: genwayv1.Role_ROLE_ASSISTANT, Parts: paused}}
			if got := generate(t, conversed(messages, called("sandbox-pause"))).Candidates[0].StopReason; got != genwayv1.StopReason_STOP_REASON_END_TURN {
				t.Errorf("stop reason %v", got)
			}
			messages = append(messages, say(genwayv1.Role_ROLE_USER, "And again."))
			if got := generate(t, conversed(messages, called("sandbox-pause"))).Candidates[0].StopReason; got != genwayv1.StopReason_STOP_REASON_PAUSE {
				t.Errorf("stop reason of the next turn %v", got)
			}
		})
	}
}

func TestStop(t *testing.T) {
	for name, c := range map[string]struct {
		stops []string
		want  string
		by    string
	}{
		"none occurs":          {[]string{"ZZZ"}, "You said: \"one two three\"\nOptions: stop_sequences 1 (3 characters)", ""},
		"the earliest":         {[]string{"three", "two"}, `You said: "one `, "two"},
		"the longer":           {[]string{"tw", "two t"}, `You said: "one `, "two t"},
		"empty ones are none":  {[]string{"", "two"}, `You said: "one `, "two"},
		"nothing is left over": {[]string{"You"}, "", "You"},
	} {
		t.Run(name, func(t *testing.T) {
			resp := generate(t, ask("one two three", func(r *genwayv1.GenerateTextRequest) { r.StopSequences = c.stops }))
			if got := answerText(resp); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			stopped := resp.Candidates[0].StopReason == genwayv1.StopReason_STOP_REASON_STOP_SEQUENCE
			if by := resp.Candidates[0].GetStopSequence(); by != c.by || stopped != (c.by != "") {
				t.Errorf("stopped by %q, %v", by, resp.Candidates[0].StopReason)
			}
		})
	}
}

func TestMaxTokens(t *testing.T) {
	limited := func(n int64, with ...func(*genwayv1.GenerateTextRequest)) *genwayv1.GenerateTextResponse {
		return generate(t, ask("Say hello.", append(with, func(r *genwayv1.GenerateTextRequest) { r.MaxOutputTokens = &n })...))
	}
	resp := limited(3)
	if got := answerText(resp); got != "You said:" && got != `You said: "` || resp.Usage.OutputTokens != 3 ||
		resp.Candidates[0].StopReason != genwayv1.StopReason_STOP_REASON_MAX_TOKENS {
		t.Errorf("%q, %v", got, resp)
	}
	resp = limited(4, offer(reader), choose(&genwayv1.ToolChoice{Mode: genwayv1.ToolChoice_MODE_REQUIRED}))
	if call := resp.Candidates[0].Parts[0].GetToolCall(); call.GetName() != "read" || json.Valid([]byte(call.GetArgumentsJson())) ||
		resp.Candidates[0].StopReason != genwayv1.StopReason_STOP_REASON_MAX_TOKENS {
		t.Errorf("cut call: %v", resp.Candidates[0])
	}
	for _, n := range []int64{0, -5} {
		_, err := newSandbox(t).GenerateText(t.Context(), deferred.New(ask("hi", func(r *genwayv1.GenerateTextRequest) { r.MaxOutputTokens = &n })))
		refused(t, err, fault.InvalidRequest, "max_output_tokens")
	}
}

func TestDocumentedDemands(t *testing.T) {
	doc, err := os.ReadFile("../docs/sandbox.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range demands() {
		if row := fmt.Sprintf("| `sandbox-%s` | %s |", d.name, d.does); !strings.Contains(string(doc), row) {
			t.Errorf("docs/sandbox.md lacks the row\n%s", row)
		}
	}
}

func TestPiecesAreWholeCharacters(t *testing.T) {
	for _, piece := range pieces("Grüße 🌦️ 網關") {
		if strings.ToValidUTF8(piece, "") != piece || piece == "" {
			t.Errorf("piece %q", piece)
		}
	}
	if len(codec.Events(&genwayv1.GenerateTextResponse{}, pieces)) != 2 {
		t.Error("an empty answer has more than its two events")
	}
}
