package core_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/images"
	"github.com/genway/genway/core"
	"github.com/genway/genway/core/auth"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/limit"
	"github.com/genway/genway/core/price"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	counter "github.com/genway/genway/internal/tokens"
	"github.com/genway/genway/protocol/deferred"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// silent is an upstream whose answers are a text and have the usage of the test.
type silent struct {
	scripted
	text  string
	usage *genwayv1.Usage
	fails error
	// wired makes the answers raw bodies of chat completions.
	wired bool
	flow  atomic.Int64
	// ends is what a stream ends with; nil is its completion.
	ends error
	// drawing is a stream of images.
	drawing func(context.Context, upstream.SendImage) error
}

func (u *silent) serve(ctx context.Context) error {
	record := call.Of(ctx)
	record.Upstream, record.TargetModel, record.Calls = "main", "small", 1
	return u.fails
}

func (u *silent) GenerateText(ctx context.Context, _ *deferred.Request) (*genwayv1.GenerateTextResponse, error) {
	if err := u.serve(ctx); err != nil {
		return nil, err
	}
	resp := &genwayv1.GenerateTextResponse{Usage: u.usage}
	if u.wired {
		body := fmt.Sprintf(`{"id":"c","object":"chat.completion","created":7,"model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":%q}}]}`, u.text)
		resp.Wire = &genwayv1.WireMessage{Protocol: genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, Json: []byte(body)}
		return resp, nil
	}
	if u.text != "" {
		resp.Candidates = []*genwayv1.Candidate{{Parts: []*genwayv1.Part{{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{Text: u.text}}}}}}
	}
	return resp, nil
}

func (u *silent) StreamGenerateText(ctx context.Context, _ *deferred.Request, send upstream.Send) error {
	if err := u.serve(ctx); err != nil {
		return err
	}
	if u.streamOf != nil {
		return u.streamOf(ctx, send)
	}
	events := []*genwayv1.StreamGenerateTextResponse{{Payload: &genwayv1.StreamGenerateTextResponse_Started{Started: &genwayv1.TextStarted{}}}}
	for piece := range strings.SplitAfterSeq(u.text, " ") {
		events = append(events, &genwayv1.StreamGenerateTextResponse{Payload: &genwayv1.StreamGenerateTextResponse_PartDelta{
			PartDelta: &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Text{Text: piece}}}})
	}
	if u.wired {
		record := call.Of(ctx)
		record.Flow = &u.flow
		u.flow.Store(int64(len(u.text)))
		events = []*genwayv1.StreamGenerateTextResponse{{Payload: &genwayv1.StreamGenerateTextResponse_Wire{Wire: &genwayv1.WireFrame{Data: []byte(strings.Repeat("x", 3000))}}}}
	}
	if u.ends == nil {
		events = append(events, &genwayv1.StreamGenerateTextResponse{Payload: &genwayv1.StreamGenerateTextResponse_Completed{Completed: &genwayv1.TextCompleted{Usage: u.usage}}})
	}
	for _, ev := range events {
		if err := send(ev); err != nil {
			return err
		}
	}
	return u.ends
}

func (u *silent) StreamGenerateImage(ctx context.Context, _ *genwayv1.GenerateImageRequest, send upstream.SendImage) error {
	if err := u.serve(ctx); err != nil {
		return err
	}
	return u.drawing(ctx, send)
}

func (u *silent) GenerateImage(ctx context.Context, _ *genwayv1.GenerateImageRequest) (*genwayv1.GenerateImageResponse, error) {
	if err := u.serve(ctx); err != nil {
		return nil, err
	}
	return &genwayv1.GenerateImageResponse{Images: []*genwayv1.GeneratedImage{{}, {}}, Usage: u.usage}, nil
}

// settled makes one call and returns its row.
func settled(t *testing.T, u *silent, do func(*core.Service, core.Interceptors)) ledger.Entry {
	t.Helper()
	return settledWith(t, u, nil, do)
}

func settledWith(t *testing.T, u *silent, limiter *limit.Limiter, do func(*core.Service, core.Interceptors)) ledger.Entry {
	t.Helper()
	catalogue, err := price.Parse("prices.yaml", []byte(prices))
	if err != nil {
		t.Fatal(err)
	}
	kept := &keeping{}
	recorder, err := ledger.Start(t.Context(), ledger.Config{Store: kept})
	if err != nil {
		t.Fatal(err)
	}
	service, err := core.New(core.Config{Upstream: u, Ledger: recorder, Prices: catalogue, Limiter: limiter})
	if err != nil {
		t.Fatal(err)
	}
	do(service, core.Interceptors{Authenticator: auth.Authenticator{Keys: fixedKeys{}}, Logger: slog.New(slog.DiscardHandler)})
	if err := recorder.Close(); err != nil {
		t.Fatal(err)
	}
	return kept.entries[1]
}

const (
	answered = "The quick brown fox jumps over the lazy dog, and nobody counts. "
	asked    = "hi" // of request
)

// A complete answer whose upstream reports no usage is charged by its own text: unary and
// streamed, passed through and translated, and however long.
func TestAnswersWithoutUsageAreCounted(t *testing.T) {
	in := int64(counter.Count(asked))
	for name, c := range map[string]struct {
		text     string
		usage    *genwayv1.Usage
		want     ledger.Usage // of output the tokens of the text, unless it says otherwise
		reported bool
	}{
		"absent":               {answered, nil, ledger.Usage{Input: in}, false},
		"empty":                {answered, &genwayv1.Usage{}, ledger.Usage{Input: in}, false},
		"absent of nothing":    {"", nil, ledger.Usage{Input: in}, false},
		"zero of nothing":      {"", &genwayv1.Usage{}, ledger.Usage{}, true},
		"absent, long":         {strings.Repeat(answered, 1000), nil, ledger.Usage{Input: in}, false},
		"only of the input":    {answered, &genwayv1.Usage{InputTokens: 70, CacheReadInputTokens: proto.Int64(30)}, ledger.Usage{Input: 70, CacheRead: 30}, false},
		"only of the output":   {answered, &genwayv1.Usage{OutputTokens: 5}, ledger.Usage{Output: 5}, true},
		"in full":              {answered, &genwayv1.Usage{InputTokens: 9, OutputTokens: 5}, ledger.Usage{Input: 9, Output: 5}, true},
		"the largest possible": {answered, &genwayv1.Usage{InputTokens: core.MaxUsageTokens, OutputTokens: core.MaxUsageTokens}, ledger.Usage{Input: core.MaxUsageTokens, Output: core.MaxUsageTokens}, true},
	} {
		for _, wired := range []bool{false, true} {
			for _, stream := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, wired %t, streamed %t", name, wired, stream), func(t *testing.T) {
					got := settled(t, &silent{text: c.text, usage: c.usage, wired: wired}, func(s *core.Service, i core.Interceptors) {
						_ = makeCall(i, s, "req", "small", stream)
					})
					want := c.want
					source := ledger.Reported
					if !c.reported {
						source = ledger.Estimated
						want.Output = int64(counter.Count(c.text))
					}
					exact := !stream || !wired && len(c.text) <= 4096 || c.reported
					if off := math.Abs(float64(got.Usage.Output-want.Output)) / float64(max(want.Output, 1)); !exact && off < 0.25 {
						want.Output = got.Usage.Output
					}
					if wired && stream && c.text == "" && !c.reported {
						want.Output = got.Usage.Output // of frames that nobody read
					}
					if diff := cmp.Diff(want, got.Usage); diff != "" || got.UsageSource != source || got.Outcome != ledger.OK {
						t.Errorf("%s, %q (-want +got):\n%s", got.Outcome, got.UsageSource, diff)
					}
					if (got.Cost == 0) != (want.Input+want.Output == 0) {
						t.Errorf("it costs %d", got.Cost)
					}
				})
			}
		}
	}
}

// Figures that cannot be true are kept out of the ledger, whatever became of the call. The
// estimate is charged, and a caller whose answer is translated does not get them.
func TestImplausibleUsageIsRejected(t *testing.T) {
	want := ledger.Usage{Input: int64(counter.Count(asked)), Output: int64(counter.Count(answered))}
	usages := map[string]*genwayv1.Usage{
		"cached above the input":    {InputTokens: 10, OutputTokens: 5, CacheReadInputTokens: new(int64(1_000_000))},
		"written above the input":   {InputTokens: 10, OutputTokens: 5, CacheWriteInputTokens: new(int64(11))},
		"thinking above the output": {InputTokens: 10, OutputTokens: 5, ThinkingTokens: new(int64(500))},
		"calls below 0":             {InputTokens: 10, OutputTokens: 5, Tools: []*genwayv1.ToolUsage{{Tool: "web_search", Calls: -1}}},
		"calls beyond counting":     {InputTokens: 10, OutputTokens: 5, Tools: []*genwayv1.ToolUsage{{Tool: "web_search", Calls: math.MaxInt64}}},
		"another model's":           {InputTokens: 10, OutputTokens: 5, Models: []*genwayv1.ModelUsage{{Usage: &genwayv1.Usage{OutputTokens: 5, ThinkingTokens: new(int64(500))}}}},
		"too many models":           {InputTokens: 10, OutputTokens: 5, Models: make([]*genwayv1.ModelUsage, 1000)},
	}
	members := (&genwayv1.Usage{}).ProtoReflect().Descriptor().Fields()
	for i := range members.Len() {
		member := members.Get(i)
		name := string(member.Name())
		if member.Kind() != protoreflect.Int64Kind || name == "total_tokens" || strings.HasSuffix(name, "prediction_tokens") ||
			member.Options().(*descriptorpb.FieldOptions).GetDeprecated() {
			continue // no charge depends on them
		}
		for _, figure := range []int64{9e18, math.MaxInt64, math.MinInt64, -1, core.MaxUsageTokens + 1} {
			usage := used()
			usage.ProtoReflect().Set(member, protoreflect.ValueOfInt64(figure))
			usages[fmt.Sprint(name, " = ", figure)] = usage
		}
	}
	for name, usage := range usages {
		for _, way := range []string{"unary", "streamed", "failed", "left"} {
			u := &silent{text: answered, usage: proto.CloneOf(usage)}
			expected := want
			switch way {
			case "failed":
				f := fault.New(fault.BadUpstream, "HALF", "half an answer")
				f.Usage, u.fails = usage, f
				expected.Output = 0
			case "left":
				f := fault.New(fault.BadUpstream, "HALF", "half an answer")
				f.Usage, u.ends = usage, f
			}
			got := settled(t, u, func(s *core.Service, i core.Interceptors) {
				_ = makeCall(i, s, "req", "small", way == "streamed" || way == "left")
			})
			if diff := cmp.Diff(expected, got.Usage); diff != "" || got.UsageSource != ledger.Rejected || got.Cost != expected.Input*150+expected.Output*600 {
				t.Errorf("%s, %s: %q, %d (-want +got):\n%s", name, way, got.UsageSource, got.Cost, diff)
			}
		}
	}
	u := &silent{text: answered, usage: &genwayv1.Usage{InputTokens: math.MaxInt64, OutputTokens: -1}}
	settled(t, u, func(s *core.Service, _ core.Interceptors) {
		resp, err := s.GenerateText(t.Context(), request())
		if err != nil || resp.GetUsage() != nil || len(resp.GetLosses()) != 1 || resp.GetLosses()[0].GetMember() != "usage" {
			t.Errorf("%v, %v", resp, err)
		}
	})
	u.wired = true
	settled(t, u, func(s *core.Service, _ core.Interceptors) {
		if resp, err := s.GenerateText(t.Context(), request()); err != nil || resp.GetUsage().GetOutputTokens() != -1 || len(resp.GetWire().GetJson()) == 0 {
			t.Errorf("%v, %v", resp, err)
		}
	})
}

// Images without usage are counted, unless their price is by the image.
func TestImagesWithoutUsageAreCounted(t *testing.T) {
	out := 2 * int64(counter.Drawing(1024, 1536, "high"))
	for _, c := range []struct {
		model  string
		usage  *genwayv1.Usage
		want   ledger.Usage
		source ledger.UsageSource
	}{
		{"small", nil, ledger.Usage{Input: 1, Output: out, OutputImage: out, Images: 2}, ledger.Estimated},
		{"nobody's", &genwayv1.Usage{InputTokens: -4}, ledger.Usage{Input: 1, Output: out, OutputImage: out, Images: 2}, ledger.Rejected},
		{"draw", nil, ledger.Usage{Images: 2}, ledger.Reported},
		{"small", &genwayv1.Usage{InputTokens: 4, OutputTokens: 5}, ledger.Usage{Input: 4, Output: 5, Images: 2}, ledger.Reported},
	} {
		got := settled(t, &silent{usage: c.usage}, func(s *core.Service, _ core.Interceptors) {
			if _, err := s.GenerateImage(t.Context(), &genwayv1.GenerateImageRequest{Model: c.model, Prompt: "p", Size: "1024x1536", Quality: "high"}); err != nil {
				t.Error(err)
			}
		})
		if diff := cmp.Diff(c.want, got.Usage); diff != "" || got.UsageSource != c.source {
			t.Errorf("%s: %q, (-want +got):\n%s", c.model, got.UsageSource, diff)
		}
	}
}

// budgeted knows one key, with a budget of a day.
type budgeted struct{}

func (budgeted) Authenticate(context.Context, string) (keys.Principal, error) {
	policy := &keys.Policy{Limits: limit.Limits{Budgets: []limit.Budget{{Amount: 20_000, Period: limit.Day}}}}
	return keys.Principal{KeyID: "key_poor", Group: keys.GroupInternal, Policy: policy}, nil
}

// A budget is spent by answers without usage, and by those whose usage cannot be true: no
// upstream can switch it off by what it says or leaves out.
func TestBudgetsAreSpentByTheEstimate(t *testing.T) {
	catalogue, err := price.Parse("prices.yaml", []byte(prices))
	if err != nil {
		t.Fatal(err)
	}
	for name, usage := range map[string]*genwayv1.Usage{
		"none": nil, "empty": {}, "negative": {InputTokens: -5, OutputTokens: math.MinInt64}, "absurd": {InputTokens: 9e18, OutputTokens: 9e18},
	} {
		for _, stream := range []bool{false, true} {
			served := 0
			service, err := core.New(core.Config{Upstream: &silent{text: answered, usage: usage}, Prices: catalogue, Limiter: limit.New(limit.NewMemory(nil), limit.Rules{OutputTokens: 1})})
			if err != nil {
				t.Fatal(err)
			}
			interceptors := core.Interceptors{Authenticator: auth.Authenticator{Keys: budgeted{}}, Logger: slog.New(slog.DiscardHandler)}
			for range 10 {
				if makeCall(interceptors, service, "req", "small", stream) == nil {
					served++
				}
			}
			if served != 3 { // of 8,550 nano-dollars each
				t.Errorf("%s, streamed %t: %d requests are served", name, stream, served)
			}
		}
	}
}

// An answer that broke off is booked by what was seen of it and by its prompt, for as much as the budget
// is charged: one figure, whichever side broke it off. What the upstream has reported by then stays, be it 0.
func TestBrokenAnswersAreBooked(t *testing.T) {
	in, seen := int64(counter.Count(asked)), int64(len(answered)*50/3)
	begun := func(usage *genwayv1.Usage) []proto.Message {
		return []proto.Message{&genwayv1.TextStarted{Usage: usage}, &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Text{Text: strings.Repeat(answered, 50)}}}
	}
	failed := func(usage *genwayv1.Usage) error {
		f := fault.New(fault.BadUpstream, "HALF", "half an answer")
		f.Usage = usage
		return f
	}
	for name, c := range map[string]struct {
		events []proto.Message
		ends   error
		record call.Record // what the adapter says
		want   ledger.Usage
		source ledger.UsageSource
	}{
		"cut":                           {begun(nil), nil, call.Record{}, ledger.Usage{Input: in, Output: seen}, ledger.Estimated},
		"failed":                        {begun(nil), failed(nil), call.Record{}, ledger.Usage{Input: in, Output: seen}, ledger.Estimated},
		"left":                          {begun(nil), context.Canceled, call.Record{}, ledger.Usage{Input: in, Output: seen}, ledger.Estimated},
		"a panic":                       {begun(nil), errPanics, call.Record{}, ledger.Usage{Input: in, Output: seen}, ledger.Estimated},
		"the input was reported":        {begun(&genwayv1.Usage{InputTokens: 70, CacheReadInputTokens: proto.Int64(30), OutputTokens: 1}), nil, call.Record{}, ledger.Usage{Input: 70, CacheRead: 30, Output: seen}, ledger.Estimated},
		"an input of 0 was reported":    {begun(&genwayv1.Usage{}), nil, call.Record{}, ledger.Usage{Output: seen}, ledger.Estimated},
		"more was reported than seen":   {begun(&genwayv1.Usage{InputTokens: 70, OutputTokens: seen + 1}), nil, call.Record{}, ledger.Usage{Input: 70, Output: seen + 1}, ledger.Reported},
		"the stream reported last":      {begun(nil), failed(nil), call.Record{RawUsage: &genwayv1.Usage{InputTokens: 70, OutputTokens: 3}}, ledger.Usage{Input: 70, Output: seen}, ledger.Estimated},
		"the end reported all":          {begun(nil), failed(nil), call.Record{RawUsage: &genwayv1.Usage{InputTokens: 70, OutputTokens: 3}, RawFinal: true}, ledger.Usage{Input: 70, Output: 3}, ledger.Reported},
		"the failure reported all":      {begun(nil), failed(&genwayv1.Usage{InputTokens: 70, OutputTokens: 3}), call.Record{}, ledger.Usage{Input: 70, Output: 3}, ledger.Reported},
		"the failure reported nothing":  {begun(nil), failed(&genwayv1.Usage{}), call.Record{}, ledger.Usage{}, ledger.Reported},
		"cannot be true":                {begun(nil), failed(nil), call.Record{RawUsage: &genwayv1.Usage{InputTokens: -1}}, ledger.Usage{Input: in, Output: int64(counter.Count(strings.Repeat(answered, 50)))}, ledger.Rejected},
		"accepted, and nothing came":    {nil, failed(nil), call.Record{Accepted: true}, ledger.Usage{Input: in}, ledger.Estimated},
		"not accepted":                  {nil, failed(nil), call.Record{}, ledger.Usage{}, ledger.Reported},
		"a call before it was accepted": {nil, failed(nil), call.Record{Spent: []call.Spent{{Upstream: "main"}}}, ledger.Usage{Input: in}, ledger.Estimated},
		"two, and one reported":         {begun(nil), nil, call.Record{Spent: []call.Spent{{Upstream: "main"}, {Upstream: "main", Usage: &genwayv1.Usage{InputTokens: 5, OutputTokens: 6}}}}, ledger.Usage{Input: 2*in + 5, Output: seen + 6}, ledger.Estimated},
	} {
		t.Run(name, func(t *testing.T) {
			u := &silent{}
			u.streamOf = func(ctx context.Context, send upstream.Send) error {
				record := call.Of(ctx)
				record.Accepted, record.RawUsage, record.RawFinal, record.Spent = c.record.Accepted, c.record.RawUsage, c.record.RawFinal, c.record.Spent
				for _, ev := range c.events {
					if err := send(codec.Event(ev)); err != nil {
						return err
					}
				}
				if errors.Is(c.ends, errPanics) {
					panic("a bug")
				}
				return c.ends
			}
			memory := limit.NewMemory(nil)
			got := settledWith(t, u, limit.New(memory, limit.Rules{Keys: limit.Limits{Budgets: []limit.Budget{{Amount: limit.Dollar, Period: limit.Day}}}}), func(s *core.Service, i core.Interceptors) {
				_ = makeCall(i, s, "req", "small", true)
			})
			if diff := cmp.Diff(c.want, got.Usage); diff != "" || got.UsageSource != c.source || got.Cost != c.want.Input*150+c.want.Output*600-c.want.CacheRead*75 {
				t.Errorf("%s, %q, it costs %d (-want +got):\n%s", got.Outcome, got.UsageSource, got.Cost, diff)
			}
			memory.Fills().Each(time.Now(), func(_, _ string, fill float64) {
				if spent := int64(math.Round(fill * limit.Dollar)); spent != got.Cost {
					t.Errorf("the budget is charged %d, the ledger %d", spent, got.Cost)
				}
			})
		})
	}
}

var errPanics = errors.New("panics")

// A stream of images that broke off is booked by the images that came, and by the prompt.
func TestBrokenImagesAreBooked(t *testing.T) {
	one := int64(counter.Drawing(1024, 1024, "low"))
	image := &genwayv1.FinishedImage{Image: &genwayv1.GeneratedImage{Size: "1024x1024"}, Quality: "low"}
	for name, c := range map[string]struct {
		model    string
		events   []*genwayv1.StreamGenerateImageResponse
		accepted bool
		want     ledger.Usage
		source   ledger.UsageSource
	}{
		"one of two came":           {"small", []*genwayv1.StreamGenerateImageResponse{images.Event(&genwayv1.ImageStarted{}), images.Event(image)}, true, ledger.Usage{Input: 1, Output: one, OutputImage: one, Images: 1}, ledger.Estimated},
		"none came":                 {"small", nil, true, ledger.Usage{Input: 1}, ledger.Estimated},
		"refused":                   {"small", nil, false, ledger.Usage{}, ledger.Reported},
		"priced by the image":       {"draw", []*genwayv1.StreamGenerateImageResponse{images.Event(image)}, true, ledger.Usage{Images: 1}, ledger.Reported},
		"priced by the image, none": {"draw", nil, true, ledger.Usage{}, ledger.Reported},
	} {
		t.Run(name, func(t *testing.T) {
			got := settled(t, &silent{drawing: func(ctx context.Context, send upstream.SendImage) error {
				call.Of(ctx).Accepted = c.accepted
				for _, ev := range c.events {
					if err := send(ev); err != nil {
						return err
					}
				}
				return fault.StreamCut()
			}}, func(s *core.Service, i core.Interceptors) {
				stream := &sink{ctx: metadata.NewIncomingContext(t.Context(), metadata.Pairs("authorization", "Bearer internal"))}
				_ = i.Stream(s, stream, &grpc.StreamServerInfo{FullMethod: genwayv1.Generation_StreamGenerateImage_FullMethodName}, func(_ any, ss grpc.ServerStream) error {
					return s.StreamGenerateImage(&genwayv1.GenerateImageRequest{Model: c.model, Prompt: "p", Count: new(int32(2)), Size: "1024x1024", Quality: "low"},
						&grpc.GenericServerStream[genwayv1.GenerateImageRequest, genwayv1.StreamGenerateImageResponse]{ServerStream: ss})
				})
			})
			if diff := cmp.Diff(c.want, got.Usage); diff != "" || got.UsageSource != c.source {
				t.Errorf("%s, %q (-want +got):\n%s", got.Outcome, got.UsageSource, diff)
			}
		})
	}
}
