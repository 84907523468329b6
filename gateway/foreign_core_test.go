package gateway_test

import (
	"context"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// A core of any make serves behind the edge. The streams below break the contract's order
// (genway/v1/stream.proto). Whatever the protocol, no such stream ends like a whole answer.
func TestStreamsThatBreakTheContract(t *testing.T) {
	text := func() *genwayv1.Part { return &genwayv1.Part{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{}}} }
	started := &genwayv1.TextStarted{Id: "gen_1", Model: "m"}
	part := &genwayv1.PartStarted{Part: text()}
	delta := &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Text{Text: "a"}}
	end := &genwayv1.PartCompleted{}
	completed := &genwayv1.TextCompleted{Candidates: []*genwayv1.CandidateEnd{{StopReason: genwayv1.StopReason_STOP_REASON_END_TURN}}}
	second := &genwayv1.PartDelta{Index: 1, Delta: &genwayv1.PartDelta_Text{Text: "b"}}
	call := &genwayv1.PartStarted{Part: &genwayv1.Part{Kind: &genwayv1.Part_ToolCall{ToolCall: &genwayv1.ToolCall{Id: "c", Name: "f"}}}}
	for name, events := range map[string][]proto.Message{
		"the end alone":            {completed},
		"no start":                 {part, delta, end, completed},
		"a delta of no part":       {started, delta, completed},
		"a part without end":       {started, part, delta, completed},
		"a part that ends twice":   {started, part, delta, end, end, completed},
		"a part that skips one":    {started, &genwayv1.PartStarted{Index: 7, Part: text()}, completed},
		"parts that overlap":       {started, part, &genwayv1.PartStarted{Index: 1, Part: text()}, delta, second, end, completed},
		"text in a call":           {started, call, delta, end, completed},
		"text in nothing":          {started, &genwayv1.PartStarted{}, delta, end, completed},
		"a negative candidate":     {started, &genwayv1.PartStarted{Candidate: -1, Part: text()}, completed},
		"a candidate without end":  {started, part, delta, end, &genwayv1.TextCompleted{}},
		"no candidate":             {started, &genwayv1.TextCompleted{}},
		"events of no protocol":    {&genwayv1.WireFrame{Data: []byte("garbage\n\nevil: 1")}, completed},
		"a part among passing one": {started, &genwayv1.WireFrame{Data: []byte("{}")}, part, completed},
	} {
		t.Run(name, func(t *testing.T) {
			e := overConnection(t)
			e.core.stream = func(_ context.Context, send func(*genwayv1.StreamGenerateTextResponse) error) error {
				for _, ev := range events {
					if err := send(codec.Event(proto.Clone(ev))); err != nil {
						return err
					}
				}
				return nil
			}
			for _, p := range streamed {
				r := e.do(t, http.MethodPost, p.path, right(p.name), p.body)
				if strings.Contains(r.body, complete[p.name]) || !strings.Contains(r.body, "error") || strings.Contains(r.body, "evil") {
					t.Errorf("%s: %d %s", p.name, r.status, r.body)
				}
			}
		})
	}
}

// What a core sends behind the end of an answer reaches no caller.
func TestEventsBehindTheEnd(t *testing.T) {
	e := overConnection(t)
	for _, behind := range codec.Events(answer(), nil) {
		e.core.stream = func(_ context.Context, send func(*genwayv1.StreamGenerateTextResponse) error) error {
			for _, ev := range append(codec.Events(answer(), nil), behind) {
				if err := send(ev); err != nil {
					return err
				}
			}
			return nil
		}
		for _, p := range streamed {
			r := e.do(t, http.MethodPost, p.path, right(p.name), p.body)
			if strings.Count(r.body, complete[p.name]) != strings.Count(whole(t, e, p.path, p.name, p.body), complete[p.name]) || strings.Contains(r.body, `"error":{`) {
				t.Errorf("%s, %T: %s", p.name, behind.GetPayload(), r.body)
			}
		}
	}
}

// whole is the answer of a core that keeps to the contract.
func whole(t *testing.T, e *edge, path, name, body string) string {
	t.Helper()
	broken := e.core.stream
	defer func() { e.core.stream = broken }()
	e.core.stream = nil
	return e.do(t, http.MethodPost, path, right(name), body).body
}

// Answers without content, and with candidates that cannot be told apart, are no success.
func TestAnswersThatBreakTheContract(t *testing.T) {
	for name, change := range map[string]func(*genwayv1.GenerateTextResponse){
		"no candidates":     func(r *genwayv1.GenerateTextResponse) { r.Candidates = nil },
		"a negative index":  func(r *genwayv1.GenerateTextResponse) { r.Candidates[0].Index = -3 },
		"one index for two": func(r *genwayv1.GenerateTextResponse) { r.Candidates = append(r.Candidates, r.Candidates[0]) },
		"another protocol's body": func(r *genwayv1.GenerateTextResponse) {
			r.Candidates, r.Wire = nil, &genwayv1.WireMessage{Protocol: genwayv1.Protocol_PROTOCOL_IMAGES, Json: []byte("{}")}
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := overConnection(t)
			e.core.answer = answer()
			change(e.core.answer)
			for _, p := range protocols[:4] {
				native(t, p.name, e.do(t, http.MethodPost, p.path, right(p.name), p.body), http.StatusBadGateway)
			}
		})
	}
}

// Statuses without our detail give no text to the caller, and say what may be done.
func TestPlainStatusesOfCores(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{status.Error(codes.InvalidArgument, "secret text"), http.StatusBadRequest},
		{status.Error(codes.FailedPrecondition, "secret text"), http.StatusBadRequest},
		{status.Error(codes.Unauthenticated, "secret text"), http.StatusUnauthorized},
		{status.Error(codes.PermissionDenied, "secret text"), http.StatusForbidden},
		{status.Error(codes.NotFound, "secret text"), http.StatusNotFound},
		{status.Error(codes.ResourceExhausted, "secret text"), http.StatusTooManyRequests},
		{status.Error(codes.ResourceExhausted, "grpc: received message larger than max (secret text)"), http.StatusRequestEntityTooLarge},
		{status.Error(codes.Unimplemented, "secret text"), http.StatusNotFound},
		{status.Error(codes.Internal, "secret text"), http.StatusInternalServerError},
	} {
		t.Run(c.err.Error(), func(t *testing.T) {
			e := overConnection(t)
			e.core.fail = c.err
			for _, p := range protocols {
				native(t, p.name, e.do(t, http.MethodPost, p.path, right(p.name), p.body), c.want)
			}
		})
	}
}

// Figures and times that no answer can have are not shown to callers.
func TestFiguresThatNoAnswerHas(t *testing.T) {
	e := overConnection(t)
	for name, c := range map[string]struct {
		change func(*genwayv1.GenerateTextResponse)
		no     []string
	}{
		"negative tokens": {func(r *genwayv1.GenerateTextResponse) {
			r.Usage = &genwayv1.Usage{InputTokens: -5, OutputTokens: math.MinInt64, ThinkingTokens: proto.Int64(-1)}
		}, []string{":-"}},
		"sums beyond an integer": {func(r *genwayv1.GenerateTextResponse) {
			r.Usage = &genwayv1.Usage{InputTokens: math.MaxInt64, OutputTokens: math.MaxInt64, CacheReadInputTokens: proto.Int64(math.MaxInt64)}
		}, []string{":-"}},
		"a time beyond the calendar": {func(r *genwayv1.GenerateTextResponse) {
			r.CreateTime = &timestamppb.Timestamp{Seconds: math.MaxInt64, Nanos: -5}
		}, []string{"9223372036854775807", "292277026596"}},
		"no number": {func(r *genwayv1.GenerateTextResponse) {
			r.Candidates[0].Parts[0].GetText().Logprobs = []*genwayv1.TokenLogprob{{Token: "a", Logprob: math.NaN()}, {Token: "b", Logprob: math.Inf(-1)}}
		}, []string{"NaN", "Inf"}},
	} {
		t.Run(name, func(t *testing.T) {
			bad := answer()
			c.change(bad)
			e.core.answer = bad
			e.core.stream = func(_ context.Context, send func(*genwayv1.StreamGenerateTextResponse) error) error {
				for _, ev := range codec.Events(bad, nil) {
					if err := send(ev); err != nil {
						return err
					}
				}
				return nil
			}
			check := func(protocol string, r reply) {
				if r.status != http.StatusOK || strings.Contains(r.body, `"error":{`) {
					t.Errorf("%s: %d %s", protocol, r.status, r.body)
				}
				for _, no := range c.no {
					if strings.Contains(r.body, no) {
						t.Errorf("%s has %s: %s", protocol, no, r.body)
					}
				}
			}
			for _, p := range protocols[:4] {
				check(p.name, e.do(t, http.MethodPost, p.path, right(p.name), p.body))
			}
			for _, p := range streamed {
				check(p.name+" streamed", e.do(t, http.MethodPost, p.path, right(p.name), p.body))
			}
		})
	}
}

// An answer without the name of its model has the name that was asked for. Protocols require one.
func TestAnswersWithoutAModel(t *testing.T) {
	e := overConnection(t)
	check := func(protocol string, r reply) {
		for _, empty := range []string{`"model":""`, `"modelVersion":""`} {
			if strings.Contains(r.body, empty) {
				t.Errorf("%s has %s: %s", protocol, empty, r.body)
			}
		}
		if r.status != http.StatusOK || !strings.Contains(r.body, `"model":"m"`) && !strings.Contains(r.body, `"modelVersion":"m"`) {
			t.Errorf("%s: %d %s", protocol, r.status, r.body)
		}
	}
	unnamed := answer()
	unnamed.Model = ""
	e.core.answer = unnamed
	e.core.stream = func(_ context.Context, send func(*genwayv1.StreamGenerateTextResponse) error) error {
		for _, ev := range codec.Events(unnamed, nil) {
			if err := send(ev); err != nil {
				return err
			}
		}
		return nil
	}
	for _, p := range protocols[:4] {
		check(p.name, e.do(t, http.MethodPost, p.path, right(p.name), p.body))
	}
	for _, p := range streamed {
		check(p.name+" streamed", e.do(t, http.MethodPost, p.path, right(p.name), p.body))
	}
	for _, path := range []string{"/v1beta/models/a%2Fm:generateContent", "/v1beta/models/a%2Fm:streamGenerateContent?alt=sse"} {
		if r := e.do(t, http.MethodPost, path, right("generatecontent"), protocols[3].body); !strings.Contains(r.body, `"modelVersion":"a/m"`) {
			t.Errorf("%s: %d %s", path, r.status, r.body)
		}
	}
}
