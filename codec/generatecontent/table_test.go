package generatecontent_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/codectest"
	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

func TestEncodeError(t *testing.T) {
	for _, c2 := range []struct {
		name   string
		err    fault.Error
		status int
		body   string
	}{
		{"invalid", fault.Error{Kind: fault.InvalidRequest, Message: "no", Param: "contents", Reason: "X", RequestID: "r"}, 400,
			`{"error":{"code":400,"message":"no","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"X","domain":"genway"},{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"contents","description":"no"}]},{"@type":"type.googleapis.com/google.rpc.RequestInfo","requestId":"r"}]}}`},
		{"wrong key", fault.Error{Kind: fault.Unauthenticated, Reason: fault.ReasonInvalidKey, Message: "no"}, 400,
			`{"error":{"code":400,"message":"no","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}]}}`},
		{"no key", fault.Error{Kind: fault.Unauthenticated, Reason: fault.ReasonMissingKey}, 403,
			`{"error":{"code":403,"message":"","status":"PERMISSION_DENIED","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"MISSING_KEY","domain":"genway"}]}}`},
		{"unauthenticated", fault.Error{Kind: fault.Unauthenticated}, 401, `{"error":{"code":401,"message":"","status":"UNAUTHENTICATED"}}`},
		{"denied", fault.Error{Kind: fault.PermissionDenied}, 403, `{"error":{"code":403,"message":"","status":"PERMISSION_DENIED"}}`},
		{"not found", fault.Error{Kind: fault.NotFound}, 404, `{"error":{"code":404,"message":"","status":"NOT_FOUND"}}`},
		{"method", fault.Error{Kind: fault.MethodNotAllowed}, 405, `{"error":{"code":405,"message":"","status":"UNIMPLEMENTED"}}`},
		{"conflict", fault.Error{Kind: fault.Conflict}, 409, `{"error":{"code":409,"message":"","status":"ABORTED"}}`},
		{"too large", fault.Error{Kind: fault.TooLarge}, 413, `{"error":{"code":413,"message":"","status":"INVALID_ARGUMENT"}}`},
		{"media type", fault.Error{Kind: fault.UnsupportedMediaType}, 415, `{"error":{"code":415,"message":"","status":"INVALID_ARGUMENT"}}`},
		{"unprocessable", fault.Error{Kind: fault.Unprocessable}, 422, `{"error":{"code":422,"message":"","status":"INVALID_ARGUMENT"}}`},
		{"upgrade", fault.Error{Kind: fault.UpgradeRequired}, 426, `{"error":{"code":426,"message":"","status":"FAILED_PRECONDITION"}}`},
		{"rate", fault.Error{Kind: fault.RateLimited, RetryAfter: 1500 * time.Millisecond}, 429,
			`{"error":{"code":429,"message":"","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1.5s"}]}}`},
		{"quota", fault.Error{Kind: fault.QuotaExhausted}, 429, `{"error":{"code":429,"message":"","status":"RESOURCE_EXHAUSTED"}}`},
		{"cancelled", fault.Error{Kind: fault.Cancelled}, 499, `{"error":{"code":499,"message":"","status":"CANCELLED"}}`},
		{"internal", fault.Error{Kind: fault.Internal}, 500, `{"error":{"code":500,"message":"","status":"INTERNAL"}}`},
		{"upstream", fault.Error{Kind: fault.BadUpstream}, 502, `{"error":{"code":502,"message":"","status":"UNAVAILABLE"}}`},
		{"unavailable", fault.Error{Kind: fault.Unavailable}, 503, `{"error":{"code":503,"message":"","status":"UNAVAILABLE"}}`},
		{"overloaded", fault.Error{Kind: fault.Overloaded}, 503, `{"error":{"code":503,"message":"","status":"UNAVAILABLE"}}`},
		{"timeout", fault.Error{Kind: fault.Timeout}, 504, `{"error":{"code":504,"message":"","status":"DEADLINE_EXCEEDED"}}`},
		{"no kind", fault.Error{}, 500, `{"error":{"code":500,"message":"","status":"INTERNAL"}}`},
		{"own status", fault.Error{Kind: fault.InvalidRequest, Status: 418}, 418, `{"error":{"code":418,"message":"","status":"INVALID_ARGUMENT"}}`},
		{"own wire", fault.Error{Kind: fault.RateLimited, Wire: &genwayv1.WireMessage{Protocol: own, Json: []byte(`{"error": 1}`)}}, 429, `{"error": 1}`},
		{"foreign wire", fault.Error{Kind: fault.RateLimited, Wire: &genwayv1.WireMessage{Protocol: genwayv1.Protocol_PROTOCOL_MESSAGES, Json: []byte(`{}`)}}, 429,
			`{"error":{"code":429,"message":"","status":"RESOURCE_EXHAUSTED"}}`},
	} {
		t.Run(c2.name, func(t *testing.T) {
			status, body := c.EncodeError(&c2.err)
			if status != c2.status || string(body) != c2.body {
				t.Errorf("%d %s", status, body)
			}
		})
	}
}

// TestErrorsRoundTrip: what a caller gets of us says the same to another gateway.
func TestErrorsRoundTrip(t *testing.T) {
	for _, e := range []*fault.Error{
		{Kind: fault.Unauthenticated, Reason: fault.ReasonInvalidKey, Message: "no"},
		{Kind: fault.NotFound, Reason: fault.ReasonModelNotFound, Message: "no", Param: "model"},
		{Kind: fault.RateLimited, Message: "no", RetryAfter: 2 * time.Second},
	} {
		got := c.DecodeError(c.EncodeError(e))
		if got.Kind != e.Kind || got.Reason != e.Reason || got.Message != e.Message || got.Param != e.Param || got.RetryAfter != e.RetryAfter {
			t.Errorf("%+v became %+v", e, got)
		}
	}
}

// TestStopReasons: how a candidate ended, streamed or not, and back (cases T3, T6
// and T12).
func TestStopReasons(t *testing.T) {
	const call = `{"functionCall":{"name":"f","args":{}}}`
	for _, c2 := range []struct {
		name, word, parts string
		reason            genwayv1.StopReason
	}{
		{"T3 a call and STOP", "STOP", call, genwayv1.StopReason_STOP_REASON_TOOL_CALL},
		{"STOP", "STOP", "", genwayv1.StopReason_STOP_REASON_END_TURN},
		{"T12 a call cut short", "MAX_TOKENS", call, genwayv1.StopReason_STOP_REASON_MAX_TOKENS},
		{"T6 malformed call", "MALFORMED_FUNCTION_CALL", "", genwayv1.StopReason_STOP_REASON_ERROR},
		{"T6 unknown", "BRAND_NEW", "", genwayv1.StopReason_STOP_REASON_OTHER},
		{"unexpected call", "UNEXPECTED_TOOL_CALL", call, genwayv1.StopReason_STOP_REASON_ERROR},
		{"safety", "SAFETY", "", genwayv1.StopReason_STOP_REASON_CONTENT_FILTER},
		{"recitation", "RECITATION", "", genwayv1.StopReason_STOP_REASON_CONTENT_FILTER},
		{"image safety", "IMAGE_SAFETY", "", genwayv1.StopReason_STOP_REASON_CONTENT_FILTER},
		{"continuation", "CONTINUATION", "", genwayv1.StopReason_STOP_REASON_PAUSE},
	} {
		t.Run(c2.name, func(t *testing.T) {
			body := `{"candidates":[{"content":{"parts":[` + c2.parts + `]},"finishReason":"` + c2.word + `"}]}`
			resp, err := c.DecodeResponse([]byte(body))
			if err != nil {
				t.Fatal(err)
			}
			got := resp.Candidates[0]
			if got.StopReason != c2.reason || got.NativeStopReason != c2.word {
				t.Errorf("%v %s", got.StopReason, got.NativeStopReason)
			}
			streamed, err := codectest.DecodeStream(c, frames(body))
			if err != nil || streamed.Candidates[0].StopReason != c2.reason {
				t.Errorf("streamed: %v, %v", streamed, err)
			}
			if out := finish(t, got); out != c2.word {
				t.Errorf("written as %s", out)
			}
		})
	}
}

func finish(t *testing.T, candidate *genwayv1.Candidate) string {
	t.Helper()
	out, err := c.EncodeResponse(&genwayv1.GenerateTextResponse{Candidates: []*genwayv1.Candidate{candidate}}, codec.Answer{})
	if err != nil {
		t.Fatal(err)
	}
	var body struct {
		Candidates []struct {
			FinishReason string `json:"finishReason"`
		} `json:"candidates"`
	}
	if err := json.Unmarshal(out, &body); err != nil {
		t.Fatal(err)
	}
	return body.Candidates[0].FinishReason
}

func TestForeignStopReasons(t *testing.T) {
	for word, want := range map[string]struct {
		reason genwayv1.StopReason
		out    string
	}{
		"tool_use":      {genwayv1.StopReason_STOP_REASON_TOOL_CALL, "STOP"},
		"stop_sequence": {genwayv1.StopReason_STOP_REASON_STOP_SEQUENCE, "STOP"},
		"length":        {genwayv1.StopReason_STOP_REASON_MAX_TOKENS, "MAX_TOKENS"},
		"refusal":       {genwayv1.StopReason_STOP_REASON_REFUSAL, "SAFETY"},
		"pause_turn":    {genwayv1.StopReason_STOP_REASON_PAUSE, "OTHER"},
		"weird":         {genwayv1.StopReason_STOP_REASON_OTHER, "OTHER"},
		"":              {genwayv1.StopReason_STOP_REASON_ERROR, "OTHER"},
		"SAFETY":        {genwayv1.StopReason_STOP_REASON_MAX_TOKENS, "MAX_TOKENS"},
	} {
		if got := finish(t, &genwayv1.Candidate{StopReason: want.reason, NativeStopReason: word}); got != want.out {
			t.Errorf("%s became %s", word, got)
		}
	}
}

// TestUsageU11: candidatesTokenCount is without thoughts and may be absent.
func TestUsageU11(t *testing.T) {
	resp, err := c.DecodeResponse([]byte(`{"candidates":[],"usageMetadata":{"promptTokenCount":9,"cachedContentTokenCount":4,"thoughtsTokenCount":30,"toolUsePromptTokenCount":2,"totalTokenCount":41}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := &genwayv1.Usage{InputTokens: 9, OutputTokens: 30, TotalTokens: 41, CacheReadInputTokens: proto.Int64(4), ThinkingTokens: proto.Int64(30), ToolUseInputTokens: proto.Int64(2)}
	if !proto.Equal(resp.Usage, want) {
		t.Errorf("%v", resp.Usage)
	}
	out, err := c.EncodeResponse(&genwayv1.GenerateTextResponse{Usage: &genwayv1.Usage{InputTokens: 3, OutputTokens: 10}}, codec.Answer{})
	if err != nil || string(out) != `{"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":10,"totalTokenCount":13}}` {
		t.Errorf("%s, %v", out, err)
	}
}

// TestToolChoice: T13, T15 and F18 in the direction of the upstream.
func TestToolChoice(t *testing.T) {
	strict := &genwayv1.Tool{Kind: &genwayv1.Tool_Function{Function: &genwayv1.FunctionTool{Name: "f", Strict: proto.Bool(true)}}}
	for _, c2 := range []struct {
		name   string
		choice *genwayv1.ToolChoice
		tools  []*genwayv1.Tool
		config string
	}{
		{"T13 required", &genwayv1.ToolChoice{Mode: genwayv1.ToolChoice_MODE_REQUIRED}, nil, `{"mode":"ANY"}`},
		{"named", &genwayv1.ToolChoice{Mode: genwayv1.ToolChoice_MODE_REQUIRED, Names: []string{"f"}}, nil, `{"mode":"ANY","allowedFunctionNames":["f"]}`},
		{"allowed", &genwayv1.ToolChoice{Mode: genwayv1.ToolChoice_MODE_AUTO, Names: []string{"f"}, AllowedList: true}, nil, `{"mode":"VALIDATED","allowedFunctionNames":["f"]}`},
		{"T15 strict", nil, []*genwayv1.Tool{strict}, `{"mode":"VALIDATED"}`},
		{"strict, none", &genwayv1.ToolChoice{Mode: genwayv1.ToolChoice_MODE_NONE}, []*genwayv1.Tool{strict}, `{"mode":"NONE"}`},
		{"F18 validated", &genwayv1.ToolChoice{NativeMode: "validated"}, nil, `{"mode":"VALIDATED"}`},
		{"F18 unknown", &genwayv1.ToolChoice{NativeMode: "sometimes"}, nil, `tool_choice`},
		{"hosted", &genwayv1.ToolChoice{Native: &genwayv1.NativeField{Name: "x"}}, nil, `tool_choice`},
	} {
		t.Run(c2.name, func(t *testing.T) {
			out, err := c.EncodeRequest(&codec.Request{GenerateTextRequest: &genwayv1.GenerateTextRequest{
				Messages: []*genwayv1.Message{{Role: genwayv1.Role_ROLE_USER, Parts: []*genwayv1.Part{textPart("x")}}}, ToolChoice: c2.choice, Tools: c2.tools}}, nil)
			if err != nil {
				if e := fault.From(err); e.Param != c2.config || e.Reason != fault.ReasonUnsupported {
					t.Errorf("%v", err)
				}
				return
			}
			if !strings.Contains(string(out), `"functionCallingConfig":`+c2.config+`}`) {
				t.Errorf("%s", out)
			}
		})
	}
}

func TestThinking(t *testing.T) {
	for _, c2 := range []struct {
		name, model string
		thinking    *genwayv1.ThinkingConfig
		config      string
		losses      int
	}{
		{"effort", "gemini-3-pro", &genwayv1.ThinkingConfig{Effort: "low"}, `{"thinkingLevel":"LOW"}`, 0},
		{"effort for budgets", "gemini-2.5-flash", &genwayv1.ThinkingConfig{Effort: "low"}, `{"thinkingBudget":1024}`, 0},
		{"none", "gemini-3-pro", &genwayv1.ThinkingConfig{Effort: "none"}, `{"thinkingBudget":0}`, 0},
		{"R9 xhigh", "gemini-3-pro", &genwayv1.ThinkingConfig{Effort: "xhigh"}, `{"thinkingLevel":"HIGH"}`, 1},
		{"R9 unknown", "gemini-3-pro", &genwayv1.ThinkingConfig{Effort: "novel"}, `{"thinkingLevel":"NOVEL"}`, 0},
		{"disabled", "", &genwayv1.ThinkingConfig{Mode: genwayv1.ThinkingConfig_MODE_DISABLED}, `{"thinkingBudget":0}`, 0},
		{"enabled", "", &genwayv1.ThinkingConfig{Mode: genwayv1.ThinkingConfig_MODE_ENABLED, BudgetTokens: proto.Int32(2000)}, `{"includeThoughts":true,"thinkingBudget":2000}`, 0},
		{"adaptive", "", &genwayv1.ThinkingConfig{Mode: genwayv1.ThinkingConfig_MODE_ADAPTIVE}, `{"includeThoughts":true,"thinkingBudget":-1}`, 0},
		{"both", "", &genwayv1.ThinkingConfig{Effort: "low", BudgetTokens: proto.Int32(1)}, `{"thinkingBudget":1}`, 1},
		{"summary", "gemini-3-pro", &genwayv1.ThinkingConfig{Effort: "high", Summary: "auto"}, `{"includeThoughts":true,"thinkingLevel":"HIGH"}`, 0},
	} {
		t.Run(c2.name, func(t *testing.T) {
			var losses codec.Losses
			out, err := c.EncodeRequest(&codec.Request{GenerateTextRequest: &genwayv1.GenerateTextRequest{
				Model:    c2.model,
				Messages: []*genwayv1.Message{{Role: genwayv1.Role_ROLE_USER, Parts: []*genwayv1.Part{textPart("x")}}}, Thinking: c2.thinking}}, &losses)
			if err != nil || !strings.Contains(string(out), `"thinkingConfig":`+c2.config+`}`) || len(losses.List()) != c2.losses {
				t.Errorf("%s, %v, %v", out, err, losses.List())
			}
		})
	}
}

// TestSealsComeBack: thinking of a messages upstream survives the caller's round
// trip, streamed or not (cases R1, R6).
func TestSealsComeBack(t *testing.T) {
	messages := genwayv1.Protocol_PROTOCOL_MESSAGES
	resp := &genwayv1.GenerateTextResponse{Candidates: []*genwayv1.Candidate{{Parts: []*genwayv1.Part{
		{Kind: &genwayv1.Part_Thinking{Thinking: &genwayv1.Thinking{Text: "Let me see.", Signature: &genwayv1.Seal{Origin: messages, Value: []byte("s+/=")}}}},
		{Kind: &genwayv1.Part_Thinking{Thinking: &genwayv1.Thinking{EncryptedContent: &genwayv1.Seal{Origin: messages, Value: []byte("e")}}}},
		textPart("Yes."),
	}, StopReason: genwayv1.StopReason_STOP_REASON_END_TURN, NativeStopReason: "STOP"}}}
	want := resp.Candidates[0].Parts
	for name, split := range map[string]codec.Splitter{"whole": nil, "pieces": halves} {
		t.Run(name, func(t *testing.T) {
			var parts []string
			for _, f := range codectest.EncodeStream(t, c, codec.Unfold(resp, split), codec.Answer{}) {
				var body struct {
					Candidates []struct {
						Content struct{ Parts []json.RawMessage }
					}
				}
				if err := json.Unmarshal(f.Data, &body); err != nil {
					t.Fatal(err)
				}
				for _, p := range body.Candidates[0].Content.Parts {
					parts = append(parts, string(p))
				}
			}
			req, err := c.DecodeRequest([]byte(`{"contents":[{"role":"model","parts":[` + strings.Join(parts, ",") + `]}]}`))
			if err != nil {
				t.Fatal(err)
			}
			got := req.Messages[0].Parts
			if !proto.Equal(got[0], want[0]) || !proto.Equal(got[1], want[1]) {
				t.Errorf("%v", got)
			}
		})
	}
}

func TestModels(t *testing.T) {
	list := &genwayv1.ListModelsResponse{NextPageToken: "p", Models: []*genwayv1.Model{
		{Name: "a", GeneratesText: true, InputTokenLimit: proto.Int64(8), Description: "d", DisplayName: "A"}, {Name: "models/b", GeneratesImages: true},
	}}
	out, err := c.EncodeModels(list)
	want := `{"models":[{"name":"models/a","baseModelId":"a","version":"","displayName":"A","description":"d","inputTokenLimit":8,"supportedGenerationMethods":["generateContent","streamGenerateContent","countTokens"]},{"name":"models/b","baseModelId":"b","version":"","displayName":"b","description":"","supportedGenerationMethods":[]}],"nextPageToken":"p"}`
	if err != nil || string(out) != want {
		t.Errorf("%s, %v", out, err)
	}
	if out, err = c.EncodeModels(&genwayv1.ListModelsResponse{}); err != nil || string(out) != `{"models":[]}` {
		t.Errorf("%s, %v", out, err)
	}
	if out, err = c.EncodeModel(list.Models[1]); err != nil || !strings.HasPrefix(string(out), `{"name":"models/b"`) {
		t.Errorf("%s, %v", out, err)
	}
}
