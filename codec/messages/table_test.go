package messages_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/codec/messages"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"
)

func TestStopReasons(t *testing.T) {
	call := &genwayv1.Part{Kind: &genwayv1.Part_ToolCall{ToolCall: &genwayv1.ToolCall{Id: "c", Name: "f"}}}
	refusal := &genwayv1.Part{Kind: &genwayv1.Part_Refusal{Refusal: &genwayv1.Refusal{Text: "No."}}}
	for _, tt := range []struct {
		name   string
		reason genwayv1.StopReason
		native string
		parts  []*genwayv1.Part
		want   string
	}{
		{"end", genwayv1.StopReason_STOP_REASON_END_TURN, "stop", nil, "end_turn"},
		{"T1 a call in the turn", genwayv1.StopReason_STOP_REASON_END_TURN, "stop", []*genwayv1.Part{text("x"), call}, "tool_use"},
		{"T1 cut in a call", genwayv1.StopReason_STOP_REASON_MAX_TOKENS, "length", []*genwayv1.Part{call}, "max_tokens"},
		{"T3 a call with STOP", genwayv1.StopReason_STOP_REASON_TOOL_CALL, "STOP", []*genwayv1.Part{call}, "tool_use"},
		{"T5 none told", genwayv1.StopReason_STOP_REASON_UNSPECIFIED, "", nil, "end_turn"},
		{"T6 a malformed call", genwayv1.StopReason_STOP_REASON_ERROR, "MALFORMED_FUNCTION_CALL", nil, `max_tokens","native_stop_reason":"MALFORMED_FUNCTION_CALL`},
		{"T6 not known", genwayv1.StopReason_STOP_REASON_OTHER, "LANGUAGE", nil, `max_tokens","native_stop_reason":"LANGUAGE`},
		{"other without a word", genwayv1.StopReason_STOP_REASON_OTHER, "", nil, "max_tokens"},
		{"a filter", genwayv1.StopReason_STOP_REASON_CONTENT_FILTER, "SAFETY", nil, "refusal"},
		{"a refusal that was said", genwayv1.StopReason_STOP_REASON_END_TURN, "stop", []*genwayv1.Part{refusal}, "refusal"},
		{"a word of the vendor's", genwayv1.StopReason_STOP_REASON_PAUSE, "pause_turn", nil, "pause_turn"},
		{"the context is full", genwayv1.StopReason_STOP_REASON_CONTEXT_WINDOW, "", nil, "model_context_window_exceeded"},
		{"a word that was overruled", genwayv1.StopReason_STOP_REASON_MAX_TOKENS, "end_turn", nil, "max_tokens"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			resp := &genwayv1.GenerateTextResponse{Id: "r", Candidates: []*genwayv1.Candidate{{
				Parts: tt.parts, StopReason: tt.reason, NativeStopReason: tt.native}}}
			want := `"stop_reason":"` + tt.want + `"`
			if unary := compactResponse(t, resp); !strings.Contains(unary, want) {
				t.Errorf("unary %s", unary)
			}
			if streamed := streamed(t, resp); !strings.Contains(streamed, want) {
				t.Errorf("streamed %s", streamed)
			}
		})
	}
}

func TestUsage(t *testing.T) {
	count := func(n int64) *int64 { return &n }
	for _, tt := range []struct {
		name  string
		usage *genwayv1.Usage
		want  string
	}{
		{"U2 cached tokens are counted by themselves", &genwayv1.Usage{InputTokens: 100, OutputTokens: 5, CacheReadInputTokens: count(60), CacheWriteInputTokens: count(30)},
			`"input_tokens":10,"cache_creation_input_tokens":30,"cache_read_input_tokens":60,"cache_creation":{"ephemeral_5m_input_tokens":30,"ephemeral_1h_input_tokens":0}`},
		{"by lifetime", &genwayv1.Usage{InputTokens: 3, CacheWriteInputTokens: count(3), CacheWrites: []*genwayv1.CacheWrite{{Ttl: "5m", Tokens: 1}, {Ttl: "1h", Tokens: 2}}},
			`"cache_creation":{"ephemeral_5m_input_tokens":1,"ephemeral_1h_input_tokens":2}`},
		{"never below zero", &genwayv1.Usage{InputTokens: 3, CacheReadInputTokens: count(9)}, `"input_tokens":0,`},
		{"thinking is output", &genwayv1.Usage{OutputTokens: 9, ThinkingTokens: count(4)}, `"output_tokens":9,"output_tokens_details":{"thinking_tokens":4}`},
		{"U6 nothing told", nil, `"usage":{"input_tokens":0,`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			resp := &genwayv1.GenerateTextResponse{Id: "r", Candidates: []*genwayv1.Candidate{{}}, Usage: tt.usage}
			for _, got := range []string{compactResponse(t, resp), streamed(t, resp)} {
				if !strings.Contains(got, tt.want) {
					t.Errorf("got %s", got)
				}
			}
		})
	}
}

func TestToolChoice(t *testing.T) {
	no, yes := false, true
	for _, tt := range []struct {
		name   string
		choice *genwayv1.ToolChoice
		want   string
	}{
		{"none told", nil, ``},
		{"auto", &genwayv1.ToolChoice{Mode: genwayv1.ToolChoice_MODE_AUTO}, `,"tool_choice":{"type":"auto"}`},
		{"T13 any", &genwayv1.ToolChoice{Mode: genwayv1.ToolChoice_MODE_REQUIRED}, `,"tool_choice":{"type":"any"}`},
		{"T13 named", &genwayv1.ToolChoice{Mode: genwayv1.ToolChoice_MODE_REQUIRED, Names: []string{"f"}}, `,"tool_choice":{"type":"tool","name":"f"}`},
		{"none", &genwayv1.ToolChoice{Mode: genwayv1.ToolChoice_MODE_NONE, Parallel: &no}, `,"tool_choice":{"type":"none"}`},
		{"one at a time", &genwayv1.ToolChoice{Parallel: &no}, `,"tool_choice":{"type":"auto","disable_parallel_tool_use":true}`},
		{"several at a time is the default", &genwayv1.ToolChoice{Parallel: &yes}, ``},
		{"required, several", &genwayv1.ToolChoice{Mode: genwayv1.ToolChoice_MODE_REQUIRED, Parallel: &yes}, `,"tool_choice":{"type":"any","disable_parallel_tool_use":false}`},
		{"the vendor's own", &genwayv1.ToolChoice{Native: &genwayv1.NativeField{Protocol: own, Json: []byte(`{"type":"x"}`)}}, `,"tool_choice":{"type":"x"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := request(&genwayv1.GenerateTextRequest{ToolChoice: tt.choice, Tools: []*genwayv1.Tool{function("f")}})
			want := `"tools":[{"name":"f","input_schema":{"type":"object","properties":{}}}]` + tt.want + `}`
			if body := compactRequest(t, req); !strings.HasSuffix(body, want) {
				t.Errorf("got %s", body)
			}
		})
	}
	t.Run("a list of several leaves the others out", func(t *testing.T) {
		req := request(&genwayv1.GenerateTextRequest{
			Tools:      []*genwayv1.Tool{function("a"), function("b"), function("c")},
			ToolChoice: &genwayv1.ToolChoice{Mode: genwayv1.ToolChoice_MODE_REQUIRED, Names: []string{"c", "a"}, AllowedList: true},
		})
		body := compactRequest(t, req)
		if strings.Contains(body, `"b"`) || !strings.Contains(body, `"a"`) || !strings.HasSuffix(body, `"tool_choice":{"type":"any"}}`) {
			t.Errorf("got %s", body)
		}
	})
}

func TestThinkingOfOtherProtocols(t *testing.T) {
	for _, tt := range []struct {
		name   string
		config *genwayv1.ThinkingConfig
		limit  int64
		want   string
		lost   int
	}{
		{"R9 an effort is passed", &genwayv1.ThinkingConfig{Effort: "ultra"}, 100, `,"output_config":{"effort":"ultra"}`, 0},
		{"R9 the least is told", &genwayv1.ThinkingConfig{Effort: "minimal"}, 100, `,"output_config":{"effort":"low"}`, 1},
		{"no effort", &genwayv1.ThinkingConfig{Effort: "none"}, 100, `,"thinking":{"type":"disabled"}`, 0},
		{"a summary", &genwayv1.ThinkingConfig{Effort: "high", Summary: "auto"}, 100, `,"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"high"}`, 0},
		{"a budget", &genwayv1.ThinkingConfig{BudgetTokens: proto.Int32(4096), IncludeThoughts: new(false)}, 8192, `,"thinking":{"type":"enabled","budget_tokens":4096,"display":"omitted"}`, 0},
		{"a budget too small", &genwayv1.ThinkingConfig{BudgetTokens: proto.Int32(1)}, 8192, `,"thinking":{"type":"enabled","budget_tokens":1024}`, 1},
		{"a budget too large", &genwayv1.ThinkingConfig{BudgetTokens: proto.Int32(9000)}, 8192, `,"thinking":{"type":"enabled","budget_tokens":8191}`, 1},
		{"no room", &genwayv1.ThinkingConfig{BudgetTokens: proto.Int32(9000)}, 1024, `,"thinking":{"type":"disabled"}`, 1},
		{"a budget of nothing", &genwayv1.ThinkingConfig{BudgetTokens: proto.Int32(0)}, 100, `,"thinking":{"type":"disabled"}`, 0},
		{"the model decides", &genwayv1.ThinkingConfig{BudgetTokens: proto.Int32(-1)}, 100, `,"thinking":{"type":"adaptive"}`, 0},
		{"on, without a budget", &genwayv1.ThinkingConfig{Mode: genwayv1.ThinkingConfig_MODE_ENABLED}, 100, `,"thinking":{"type":"adaptive"}`, 0},
		{"thoughts are wanted", &genwayv1.ThinkingConfig{IncludeThoughts: new(true)}, 100, `,"thinking":{"type":"adaptive","display":"summarized"}`, 0},
		{"thoughts are not wanted", &genwayv1.ThinkingConfig{IncludeThoughts: new(false)}, 100, ``, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var losses codec.Losses
			req := request(&genwayv1.GenerateTextRequest{Thinking: tt.config, MaxOutputTokens: &tt.limit})
			body, err := c.EncodeRequest(req, &losses)
			if err != nil || !strings.HasSuffix(string(body), `"content":"x"}]`+tt.want+`}`) {
				t.Errorf("got %s %v", body, err)
			}
			if len(losses.List()) != tt.lost {
				t.Errorf("losses are %v", losses.List())
			}
		})
	}
}

func TestServiceTiers(t *testing.T) {
	for tier, want := range map[string]string{
		"auto": `,"service_tier":"auto"}`, "standard_only": `,"service_tier":"standard_only"}`,
		"default": `,"service_tier":"standard_only"}`, "flex": `"content":"x"}]}`, "": `"content":"x"}]}`,
	} {
		var losses codec.Losses
		req := request(&genwayv1.GenerateTextRequest{ServiceTier: tier, MaxOutputTokens: proto.Int64(1)})
		body, err := c.EncodeRequest(req, &losses)
		if err != nil || !strings.HasSuffix(string(body), want) || (len(losses.List()) == 1) != (tier == "flex") {
			t.Errorf("%s gave %s %v %v", tier, body, losses.List(), err)
		}
	}
}

func TestModels(t *testing.T) {
	list := &genwayv1.ListModelsResponse{NextPageToken: "more", Models: []*genwayv1.Model{
		{Name: "a", DisplayName: "A", CreateTime: &timestamppb.Timestamp{Seconds: 1735689600}, InputTokenLimit: proto.Int64(200000), OutputTokenLimit: proto.Int64(64000)},
		{Name: "b", ContextTokenLimit: proto.Int64(1000000)},
	}}
	const b = `{"type":"model","id":"b","display_name":"b","created_at":"1970-01-01T00:00:00Z","max_input_tokens":1000000,"max_tokens":null}`
	want := `{"data":[{"type":"model","id":"a","display_name":"A","created_at":"2025-01-01T00:00:00Z","max_input_tokens":200000,"max_tokens":64000},` + b +
		`],"has_more":true,"first_id":"a","last_id":"b"}`
	if got, err := c.EncodeModels(list); err != nil || string(got) != want {
		t.Errorf("got %s %v", got, err)
	}
	if got, err := c.EncodeModel(list.Models[1]); err != nil || string(got) != b {
		t.Errorf("got %s %v", got, err)
	}
	const none = `{"data":[],"has_more":false,"first_id":null,"last_id":null}`
	if got, err := c.EncodeModels(&genwayv1.ListModelsResponse{}); err != nil || string(got) != none {
		t.Errorf("got %s %v", got, err)
	}
}

// request fills in what every request has.
func request(r *genwayv1.GenerateTextRequest) *codec.Request {
	if r.Model == "" {
		r.Model = "m"
	}
	if r.Messages == nil {
		r.Messages = []*genwayv1.Message{{Role: genwayv1.Role_ROLE_USER, Parts: []*genwayv1.Part{text("x")}}}
	}
	return &codec.Request{GenerateTextRequest: r}
}

func function(name string) *genwayv1.Tool {
	return &genwayv1.Tool{Kind: &genwayv1.Tool_Function{Function: &genwayv1.FunctionTool{Name: name}}}
}

// Case U16: what iterations say is billed beside the totals is usage of its own: a compaction, an advisor, a model that
// declined; messages that the totals include are not.
func TestIterations(t *testing.T) {
	const totals = `"input_tokens":20,"cache_read_input_tokens":3,"output_tokens":10`
	entry := func(kind, model string, input, output int64) string {
		return fmt.Sprintf(`{"type":%q,"model":%q,"input_tokens":%d,"output_tokens":%d,"cache_creation_input_tokens":2,"cache_creation":{"ephemeral_1h_input_tokens":2}}`, kind, model, input, output)
	}
	other := func(kind, model string, input, output int64) *genwayv1.ModelUsage {
		return &genwayv1.ModelUsage{Kind: kind, Model: model, Usage: &genwayv1.Usage{InputTokens: input + 2, OutputTokens: output, TotalTokens: input + output + 2,
			CacheWriteInputTokens: new(int64(2)), CacheWrites: []*genwayv1.CacheWrite{{Ttl: "1h", Tokens: 2}}}}
	}
	const message = `{"type":"message","input_tokens":20,"output_tokens":10,"cache_read_input_tokens":3}`
	for name, c := range map[string]struct {
		iterations, serving string
		input               int64 // of the totals
		want                []*genwayv1.ModelUsage
	}{
		"none":                            {`[]`, "", 23, nil},
		"null":                            {`null`, "", 23, nil},
		"of another type":                 {`7`, "", 23, nil},
		"elements of another type":        {`[7,null,"x",` + entry("compaction", "", 5, 1) + `]`, "", 23, []*genwayv1.ModelUsage{other("compaction", "", 5, 1)}},
		"messages are in the totals":      {`[` + message + `]`, "", 23, nil},
		"a compaction is not":             {`[` + entry("compaction", "", 180_000, 3500) + `,` + message + `]`, "", 23, []*genwayv1.ModelUsage{other("compaction", "", 180_000, 3500)}},
		"nor is an advisor":               {`[` + message + `,` + entry("advisor_message", "claude-b", 823, 531) + `]`, "", 23, []*genwayv1.ModelUsage{other("advisor_message", "claude-b", 823, 531)}},
		"nor is what has yet no name":     {`[` + entry("dream", "claude-c", 1, 1) + `]`, "", 23, []*genwayv1.ModelUsage{other("dream", "claude-c", 1, 1)}},
		"a model that declined":           {`[` + entry("message", "claude-a", 7, 1) + `,{"type":"fallback_message","model":"claude-b","input_tokens":20,"output_tokens":10,"cache_read_input_tokens":3}]`, "claude-b", 23, []*genwayv1.ModelUsage{other("message", "claude-a", 7, 1)}},
		"a model that is in the totals":   {`[` + entry("message", "claude-b", 5, 1) + `,{"type":"message","model":"claude-a","input_tokens":13,"output_tokens":9,"cache_read_input_tokens":3}]`, "", 16, []*genwayv1.ModelUsage{other("message", "claude-b", 5, 1)}},
		"figures beyond all numbers stay": {`[` + `{"type":"compaction","input_tokens":1e300,"output_tokens":-5}]`, "", 23, []*genwayv1.ModelUsage{{Kind: "compaction", Usage: &genwayv1.Usage{InputTokens: math.MaxInt64, OutputTokens: -5, TotalTokens: math.MaxInt64 - 5}}}},
	} {
		body := `{"type":"message","model":"claude-a","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn","usage":{` + totals + `,"iterations":` + c.iterations + `,"server_tool_use":{"web_search_requests":3,"web_fetch_requests":0},"speed":"fast","service_tier":"priority"}}`
		for way, decode := range ways(body) {
			u := decode(t)
			if diff := cmp.Diff(c.want, u.GetModels(), protocmp.Transform()); diff != "" || u.GetInputTokens() != c.input || u.GetModel() != c.serving {
				t.Errorf("%s, %s: %d of %q (-want +got):\n%s", name, way, u.GetInputTokens(), u.GetModel(), diff)
			}
			if len(u.GetTools()) != 1 || u.GetTools()[0].GetTool() != "web_search" || u.GetTools()[0].GetCalls() != 3 || u.GetSpeed() != "fast" || u.GetServiceTier() != "priority" {
				t.Errorf("%s, %s: %v", name, way, u)
			}
		}
	}
}

// ways are those in which the usage of an answer is read: whole or in events, by its head or as it passes.
func ways(body string) map[string]func(*testing.T) *genwayv1.Usage {
	streams := func(read func(codec.StreamDecoder, codec.Frame) ([]*genwayv1.StreamGenerateTextResponse, error)) func(*testing.T) *genwayv1.Usage {
		return func(t *testing.T) *genwayv1.Usage {
			t.Helper()
			var whole struct {
				Usage jsontext.Value `json:"usage"`
			}
			member.Fit([]byte(body), &whole)
			d := messages.Codec{}.NewStreamDecoder()
			var last *genwayv1.Usage
			for _, data := range []string{
				`{"type":"message_start","message":{"type":"message","model":"claude-a","content":[],"usage":{"input_tokens":20,"cache_read_input_tokens":3,"service_tier":"priority","speed":"fast"}}}`,
				`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":` + string(whole.Usage) + `}`, `{"type":"message_stop"}`,
			} {
				events, err := read(d, codec.Frame{Data: []byte(data)})
				if err != nil {
					t.Fatal(err)
				}
				for _, ev := range events {
					if u := ev.GetCompleted().GetUsage(); u != nil {
						last = u
					}
				}
			}
			return last
		}
	}
	return map[string]func(*testing.T) *genwayv1.Usage{
		"whole": func(t *testing.T) *genwayv1.Usage {
			t.Helper()
			resp, err := messages.Codec{}.DecodeResponse([]byte(body))
			if err != nil {
				t.Fatal(err)
			}
			return resp.GetUsage()
		},
		"watched": func(*testing.T) *genwayv1.Usage {
			resp, _ := messages.Codec{}.WatchResponse([]byte(body))
			return resp.GetUsage()
		},
		"head": func(*testing.T) *genwayv1.Usage {
			resp, _ := messages.Codec{}.DecodeResponseHead([]byte(body))
			return resp.GetUsage()
		},
		"events": streams(func(d codec.StreamDecoder, f codec.Frame) ([]*genwayv1.StreamGenerateTextResponse, error) {
			return d.Decode(f)
		}),
		"watched events": streams(func(d codec.StreamDecoder, f codec.Frame) ([]*genwayv1.StreamGenerateTextResponse, error) {
			events, _, err := d.(codec.StreamWatcher).Watch(f)
			return events, err
		}),
	}
}
