package responses_test

import (
	"fmt"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"
)

// The generators here make canonical messages in this protocol's normal form:
// what a decoder of it returns, with nothing an encoder would have to add.

const protocol = genwayv1.Protocol_PROTOCOL_RESPONSES

var texts = rapid.OneOf(
	rapid.SampledFrom([]string{"a", "Hello, world.", "日本語 \"quoted\"\n", "<b>&\u2028", "😀 \\ /"}),
	rapid.StringN(1, 20, -1),
)

var ids = rapid.StringMatching(`[a-z]{2,3}_[0-9A-Z]{6}`)

func draw[T any](t *rapid.T, label string, values ...T) T {
	return rapid.SampledFrom(values).Draw(t, label)
}

func maybe[T any](t *rapid.T, label string, gen func() T) *T {
	if !rapid.Bool().Draw(t, label) {
		return nil
	}
	v := gen()
	return &v
}

func natives(t *rapid.T, prefix string) []*genwayv1.NativeField {
	var out []*genwayv1.NativeField
	for i := range rapid.IntRange(0, 2).Draw(t, "natives") {
		out = append(out, &genwayv1.NativeField{Protocol: protocol, Name: fmt.Sprintf("%sx_%d", prefix, i),
			Json: []byte(draw(t, "native", `1.0`, `{"b": 1, "a":[true]}`, `"\u00e9"`))})
	}
	return out
}

func mark(t *rapid.T) *genwayv1.CacheControl {
	if rapid.IntRange(0, 4).Draw(t, "mark") > 0 {
		return nil
	}
	return &genwayv1.CacheControl{Ttl: lifetime(draw(t, "ttl", int64(0), 1800, 43200, 61)),
		NativeFields: []*genwayv1.NativeField{{Protocol: protocol, Name: "mode", Json: []byte(`"explicit"`)}}}
}

func text(t *rapid.T) string { return texts.Draw(t, "text") }

func textOf(id, s string) *genwayv1.Part {
	return &genwayv1.Part{Id: id, Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{Text: s}}}
}

func content(t *rapid.T, id string) *genwayv1.Part {
	p := &genwayv1.Part{Id: id, CacheControl: mark(t), NativeFields: natives(t, "")}
	data := &genwayv1.Media_Data{Data: []byte(text(t))}
	switch draw(t, "content", 0, 0, 0, 1, 2, 3, 4, 5, 6, 7) {
	case 0:
		p.Kind = &genwayv1.Part_Text{Text: &genwayv1.Text{Text: text(t)}}
	case 1:
		p.Kind = &genwayv1.Part_Image{Image: &genwayv1.Media{MimeType: "image/png", Source: data, Detail: draw(t, "detail", "", "low", "original")}}
	case 2:
		p.Kind = &genwayv1.Part_Image{Image: &genwayv1.Media{Source: &genwayv1.Media_Url{Url: "https://a.example/x.png"}}}
	case 3:
		p.Kind = &genwayv1.Part_Image{Image: &genwayv1.Media{Source: &genwayv1.Media_FileId{FileId: "file_1"}, Detail: "high"}}
	case 4:
		p.Kind = &genwayv1.Part_File{File: &genwayv1.Media{MimeType: "application/pdf", Filename: "a.pdf", Source: data}}
	case 5:
		p.Kind = &genwayv1.Part_File{File: &genwayv1.Media{Source: &genwayv1.Media_FileId{FileId: "file_2"}}}
	case 6:
		p.Kind = &genwayv1.Part_Audio{Audio: &genwayv1.Media{MimeType: draw(t, "audio", "audio/wav", "audio/mpeg", "audio/flac"), Source: data}}
		p.NativeFields = append(p.NativeFields, member.Mark(protocol, "input_audio"))
	case 7:
		return opaque(id, "input_video", `{"type":"input_video", "url":"x"}`)
	}
	return p
}

func opaque(id, kind, json string) *genwayv1.Part {
	return &genwayv1.Part{Id: id, Kind: &genwayv1.Part_Opaque{Opaque: &genwayv1.OpaquePart{Protocol: protocol, Type: kind, Json: []byte(json)}}}
}

func tokens(t *rapid.T, n int) []*genwayv1.TokenLogprob {
	var out []*genwayv1.TokenLogprob
	for range rapid.IntRange(0, n).Draw(t, "tokens") {
		token := text(t)
		p := &genwayv1.TokenLogprob{Token: token, Logprob: -rapid.Float64Range(0.001, 9).Draw(t, "logprob"), Utf8: []byte(token)}
		if rapid.Bool().Draw(t, "top") {
			p.Top = []*genwayv1.TokenLogprob{{Token: token, Logprob: p.Logprob, Utf8: []byte(token)}}
		}
		out = append(out, p)
	}
	return out
}

func citation(t *rapid.T) *genwayv1.Citation {
	start, end, index := int32(1), int32(4), int32(2)
	switch draw(t, "citation", 0, 1, 2) {
	case 0:
		return &genwayv1.Citation{Url: "https://a.example/", Title: text(t), StartIndex: &start, EndIndex: &end}
	case 1:
		return &genwayv1.Citation{FileId: "file_1", Filename: "a.txt", DocumentIndex: &index}
	}
	return &genwayv1.Citation{FileId: "file_1", DocumentIndex: &index, Native: &genwayv1.NativeField{Protocol: protocol,
		Name: "annotations", Json: []byte(`{"type":"file_path","file_id":"file_1", "index":2}`)}}
}

// drawContent draws the content of one message of the assistant.
func drawContent(t *rapid.T, id string, answer bool) []*genwayv1.Part {
	var parts []*genwayv1.Part
	for i := range rapid.IntRange(1, 2).Draw(t, "said") {
		p := &genwayv1.Part{Id: id}
		if i == 0 {
			p.NativeFields = natives(t, "message.")
		}
		p.NativeFields = append(p.NativeFields, natives(t, "")...)
		switch draw(t, "kind", 0, 0, 0, 1, 2) {
		case 0:
			s := &genwayv1.Text{Text: text(t), Logprobs: tokens(t, 2)}
			for range rapid.IntRange(0, 2).Draw(t, "citations") {
				s.Citations = append(s.Citations, citation(t))
			}
			p.Kind = &genwayv1.Part_Text{Text: s}
		case 1:
			p.Kind = &genwayv1.Part_Refusal{Refusal: &genwayv1.Refusal{Text: text(t)}}
		case 2:
			if id == "" || i == 0 {
				p.Kind = &genwayv1.Part_Text{Text: &genwayv1.Text{Text: text(t)}}
				break
			}
			p = opaque(id, "output_video", `{"type":"output_video","url":"x"}`)
		}
		parts = append(parts, p)
	}
	return parts
}

func foreign(t *rapid.T) *genwayv1.Seal {
	return &genwayv1.Seal{Protocol: genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT, Value: []byte(text(t))}
}

func thinking(t *rapid.T, answer bool) *genwayv1.Part {
	k := &genwayv1.Thinking{}
	for range rapid.IntRange(0, 2).Draw(t, "summaries") {
		k.Summary = append(k.Summary, text(t))
	}
	if rapid.Bool().Draw(t, "shown") {
		k.Text = text(t)
	}
	switch draw(t, "seal", 0, 1, 2, 3) {
	case 1:
		k.EncryptedContent = &genwayv1.Seal{Protocol: protocol, Value: []byte("gAAAA" + text(t))}
	case 2:
		if answer {
			k.Signature = &genwayv1.Seal{Protocol: genwayv1.Protocol_PROTOCOL_MESSAGES, Value: []byte(text(t))}
		}
	case 3:
		if answer {
			k.Signature = &genwayv1.Seal{Protocol: genwayv1.Protocol_PROTOCOL_MESSAGES, Value: []byte(text(t))}
			k.EncryptedContent = foreign(t)
		}
	}
	return &genwayv1.Part{Id: "rs_" + ids.Draw(t, "id"), NativeFields: natives(t, ""), Kind: &genwayv1.Part_Thinking{Thinking: k}}
}

func call(t *rapid.T, callID string) *genwayv1.Part {
	c := &genwayv1.ToolCall{Id: callID, Name: draw(t, "name", "search", "run")}
	if rapid.Bool().Draw(t, "custom") {
		input := text(t)
		c.Arguments = &genwayv1.ToolCall_Input{Input: input}
	} else {
		c.Arguments = &genwayv1.ToolCall_ArgumentsJson{ArgumentsJson: draw(t, "arguments", `{}`, `{"q": 1.0, "a":"\u00e9"}`, `{"cut`)}
	}
	var fields []*genwayv1.NativeField
	if rapid.Bool().Draw(t, "namespace") {
		c.Name, fields = "crm__"+c.Name, space("crm", c.Name)
	}
	return &genwayv1.Part{Id: ids.Draw(t, "id"), NativeFields: append(fields, natives(t, "")...), Kind: &genwayv1.Part_ToolCall{ToolCall: c}}
}

func drawn(t *rapid.T) *genwayv1.Part {
	return &genwayv1.Part{Id: ids.Draw(t, "id"), NativeFields: natives(t, ""), Kind: &genwayv1.Part_Image{Image: &genwayv1.Media{
		MimeType: draw(t, "format", "image/png", "image/webp"), Source: &genwayv1.Media_Data{Data: []byte(text(t))}}}}
}

const searchCall = `{"type":"web_search_call","id":"ws_1", "status":"completed","action":{"type":"search"}}`

// turn is a whole turn of the assistant. Ids of its messages differ, as two
// messages with one id would be one.
func turn(t *rapid.T, answer bool) []*genwayv1.Part {
	var parts []*genwayv1.Part
	for i := range rapid.IntRange(1, 4).Draw(t, "items") {
		switch draw(t, "item", 0, 1, 2, 3, 4) {
		case 0:
			parts = append(parts, drawContent(t, fmt.Sprintf("msg_%d", i), answer)...)
		case 1:
			parts = append(parts, thinking(t, answer))
		case 2:
			parts = append(parts, call(t, fmt.Sprintf("call_%d", i)))
		case 3:
			parts = append(parts, drawn(t))
		case 4:
			parts = append(parts, opaque("", "web_search_call", searchCall))
		}
	}
	return parts
}

func results(t *rapid.T) []*genwayv1.Part {
	var parts []*genwayv1.Part
	for i := range rapid.IntRange(1, 2).Draw(t, "results") {
		r := &genwayv1.ToolResult{ToolCallId: fmt.Sprintf("call_%d", i), Custom: rapid.Bool().Draw(t, "custom")}
		for range rapid.IntRange(0, 2).Draw(t, "parts") {
			r.Parts = append(r.Parts, content(t, ""))
		}
		parts = append(parts, &genwayv1.Part{Id: draw(t, "id", "", "fco_1"), NativeFields: natives(t, ""), Kind: &genwayv1.Part_ToolResult{ToolResult: r}})
	}
	if rapid.Bool().Draw(t, "hosted") {
		parts = append(parts, opaque("", "computer_call_output", `{"type":"computer_call_output", "call_id":"c"}`))
	}
	return parts
}

func messages(t *rapid.T) []*genwayv1.Message {
	var out []*genwayv1.Message
	if rapid.Bool().Draw(t, "instructions") {
		out = append(out, &genwayv1.Message{Role: genwayv1.Role_ROLE_SYSTEM, Parts: []*genwayv1.Part{textOf("", text(t))}})
	}
	last := genwayv1.Role_ROLE_SYSTEM
	for i := range rapid.IntRange(1, 5).Draw(t, "turns") {
		role := draw(t, "role", genwayv1.Role_ROLE_USER, genwayv1.Role_ROLE_DEVELOPER, genwayv1.Role_ROLE_ASSISTANT, genwayv1.Role_ROLE_TOOL)
		if role == last {
			role = genwayv1.Role_ROLE_USER
		}
		last = role
		m := &genwayv1.Message{Role: role}
		switch role {
		case genwayv1.Role_ROLE_ASSISTANT:
			if m.Parts = turn(t, false); rapid.Bool().Draw(t, "bare") {
				m.Parts = []*genwayv1.Part{textOf("", text(t))}
			}
		case genwayv1.Role_ROLE_TOOL:
			m.Parts = results(t)
		default:
			id := draw(t, "id", "", fmt.Sprintf("msg_u%d", i))
			m.NativeFields = natives(t, "")
			for range rapid.IntRange(1, 3).Draw(t, "parts") {
				m.Parts = append(m.Parts, content(t, id))
			}
		}
		out = append(out, m)
	}
	return out
}

func tools(t *rapid.T) []*genwayv1.Tool {
	var out []*genwayv1.Tool
	for i := range rapid.IntRange(0, 3).Draw(t, "tools") {
		tool := &genwayv1.Tool{}
		switch draw(t, "tool", 0, 1, 2) {
		case 0:
			strict := rapid.Bool().Draw(t, "strict")
			tool.NativeFields = natives(t, "")
			tool.Kind = &genwayv1.Tool_Function{Function: &genwayv1.FunctionTool{Name: fmt.Sprintf("f%d", i), Description: draw(t, "description", "", "d"),
				ParametersJson: draw(t, "schema", "", `{"type": "object",  "properties":{"b":{"const":1.0},"a":{}}}`), Strict: &strict}}
		case 1:
			tool.NativeFields = natives(t, "")
			tool.Kind = &genwayv1.Tool_Custom{Custom: &genwayv1.CustomTool{Name: fmt.Sprintf("c%d", i), FormatJson: draw(t, "format", "", `{"type":"grammar", "syntax":"lark"}`)}}
		case 2:
			tool.Kind = &genwayv1.Tool_Hosted{Hosted: &genwayv1.HostedTool{Protocol: protocol, Type: "multi_agent_v1",
				Json: []byte(`{"type":"multi_agent_v1", "name":"n","tools":[{"type":"function"}]}`)}}
		}
		out = append(out, tool)
	}
	if rapid.Bool().Draw(t, "namespace") {
		strict := false
		for i, name := range []string{"a", "b"} {
			tool := &genwayv1.Tool{NativeFields: append(natives(t, ""), space("crm", name)...),
				Kind: &genwayv1.Tool_Function{Function: &genwayv1.FunctionTool{Name: "crm__" + name, Strict: &strict}}}
			if i == 0 {
				tool.NativeFields = append(tool.NativeFields, natives(t, "namespace.")...)
			}
			out = append(out, tool)
		}
	}
	return out
}

// space are the marks of a tool in a namespace, or of its call.
func space(namespace, name string) []*genwayv1.NativeField {
	return []*genwayv1.NativeField{member.Mark(protocol, "namespace="+namespace), member.Mark(protocol, "name="+name)}
}

func choice(t *rapid.T) *genwayv1.ToolChoice {
	c := &genwayv1.ToolChoice{Parallel: maybe(t, "parallel", func() bool { return rapid.Bool().Draw(t, "v") })}
	switch draw(t, "choice", 0, 1, 2, 3, 4, 5) {
	case 0:
		c.Mode = draw(t, "mode", genwayv1.ToolChoice_MODE_AUTO, genwayv1.ToolChoice_MODE_NONE, genwayv1.ToolChoice_MODE_REQUIRED)
	case 1:
		c.Mode, c.Names = genwayv1.ToolChoice_MODE_REQUIRED, []string{"f0"}
	case 2:
		c.Mode, c.Names, c.AllowedList = genwayv1.ToolChoice_MODE_AUTO, []string{"f0", "c1"}, true
	case 3:
		c.NativeMode = "validated"
	case 4:
		c.Native = &genwayv1.NativeField{Protocol: protocol, Name: "tool_choice", Json: []byte(`{"type": "web_search"}`), Binding: true}
	case 5:
		if c.Parallel == nil {
			return nil
		}
	}
	return c
}

func format(t *rapid.T) *genwayv1.ResponseFormat {
	switch draw(t, "format", 0, 1, 2, 3, 4) {
	case 0:
		return &genwayv1.ResponseFormat{Kind: genwayv1.ResponseFormat_KIND_TEXT}
	case 1:
		return &genwayv1.ResponseFormat{Kind: genwayv1.ResponseFormat_KIND_JSON_OBJECT}
	case 2:
		return &genwayv1.ResponseFormat{Kind: genwayv1.ResponseFormat_KIND_JSON_SCHEMA, Name: "n", Description: draw(t, "description", "", "d"),
			SchemaJson: `{"b": 1.0, "a":{}}`, Strict: maybe(t, "strict", func() bool { return true })}
	case 3:
		return &genwayv1.ResponseFormat{Native: &genwayv1.NativeField{Protocol: protocol, Name: "text.format",
			Json: []byte(`{"type": "grammar"}`), Binding: true}}
	}
	return nil
}

// additional is the item that brings tools, and its tools.
func additional() (*genwayv1.Part, []*genwayv1.Tool) {
	item := opaque("", "additional_tools", `{"type":"additional_tools", "role":"developer","tools":[{"type":"namespace","name":"late","description":"d","tools":[{"type":"custom","name":"x"}]},{"type":"web_search"}]}`)
	item.NativeFields = []*genwayv1.NativeField{member.Mark(protocol, "lifted")}
	brought := member.Mark(protocol, "additional_tools")
	custom := &genwayv1.Tool{NativeFields: append(space("late", "x"), &genwayv1.NativeField{Protocol: protocol, Name: "namespace.description", Json: []byte(`"d"`)}, brought),
		Kind: &genwayv1.Tool_Custom{Custom: &genwayv1.CustomTool{Name: "late__x"}}}
	search := &genwayv1.Tool{NativeFields: []*genwayv1.NativeField{brought},
		Kind: &genwayv1.Tool_Hosted{Hosted: &genwayv1.HostedTool{Protocol: protocol, Type: "web_search", Json: []byte(`{"type":"web_search"}`)}}}
	return item, []*genwayv1.Tool{custom, search}
}

func request(t *rapid.T) *codec.Request {
	unit := func() float64 { return rapid.Float64Range(0, 1).Draw(t, "number") }
	req := &genwayv1.GenerateTextRequest{
		Model: text(t), Messages: messages(t), Tools: tools(t), ToolChoice: choice(t), ResponseFormat: format(t),
		MaxOutputTokens: maybe(t, "max", func() int64 { return rapid.Int64Range(1, 1<<40).Draw(t, "n") }),
		ServiceTier:     draw(t, "tier", "", "flex"), User: draw(t, "user", "", "u"), Verbosity: draw(t, "verbosity", "", "low"),
		Store: maybe(t, "store", func() bool { return false }), PromptCacheKey: draw(t, "key", "", "k"), SafetyIdentifier: draw(t, "safety", "", "s"),
		NativeFields: natives(t, ""),
	}
	if rapid.Bool().Draw(t, "additional") {
		item, brought := additional()
		req.Tools = append(req.Tools, brought...)
		if last := req.Messages[len(req.Messages)-1]; last.Role == genwayv1.Role_ROLE_ASSISTANT {
			last.Parts = append(last.Parts, item)
		} else {
			req.Messages = append(req.Messages, &genwayv1.Message{Role: genwayv1.Role_ROLE_ASSISTANT, Parts: []*genwayv1.Part{item}})
		}
	}
	if rapid.Bool().Draw(t, "metadata") {
		req.Metadata = map[string]string{"b": text(t), "a": "", text(t): "x"}
	}
	s := &genwayv1.Sampling{Temperature: maybe(t, "temperature", unit), TopP: maybe(t, "top_p", unit),
		TopLogprobs: maybe(t, "top_logprobs", func() int32 { return 3 }), Logprobs: maybe(t, "logprobs", func() bool { return true })}
	if s.Temperature != nil || s.TopP != nil || s.TopLogprobs != nil || s.Logprobs != nil {
		req.Sampling = s
	}
	if rapid.Bool().Draw(t, "include") {
		req.NativeFields = append(req.NativeFields, &genwayv1.NativeField{Protocol: protocol, Name: "include", Json: []byte(`["reasoning.encrypted_content"]`)})
	}
	req.NativeFields = append(req.NativeFields, natives(t, "text.")...)
	if req.ResponseFormat.GetKind() != 0 {
		req.NativeFields = append(req.NativeFields, natives(t, "text.format.")...)
	}
	if rapid.Bool().Draw(t, "thinking") {
		req.Thinking = &genwayv1.ThinkingConfig{Effort: draw(t, "effort", "none", "xhigh", "brave"), Summary: draw(t, "summary", "", "auto"), NativeFields: natives(t, "")}
	}
	return &codec.Request{GenerateTextRequest: req, Stream: rapid.Bool().Draw(t, "stream")}
}

func answer(t *rapid.T) *genwayv1.GenerateTextResponse {
	n := func() *int64 { v := rapid.Int64Range(0, 1<<40).Draw(t, "tokens"); return &v }
	resp := &genwayv1.GenerateTextResponse{
		Id: ids.Draw(t, "id"), Model: text(t), CreateTime: &timestamppb.Timestamp{Seconds: 1_700_000_000},
		ServiceTier: draw(t, "tier", "default", "priority"), NativeFields: natives(t, ""),
	}
	if rapid.Bool().Draw(t, "usage") {
		in, out := *n(), *n()
		resp.Usage = &genwayv1.Usage{InputTokens: in, OutputTokens: out, TotalTokens: in + out, ServiceTier: resp.ServiceTier, CacheReadInputTokens: n(),
			CacheWriteInputTokens: n(), ThinkingTokens: n(), NativeFields: append(append(natives(t, ""), natives(t, "input_tokens_details.")...), natives(t, "output_tokens_details.")...)}
	}
	c := &genwayv1.Candidate{Parts: turn(t, true)}
	for _, p := range c.Parts {
		if p.GetToolCall() != nil && rapid.IntRange(0, 3).Draw(t, "thought") == 0 {
			p.ThoughtSignature = foreign(t)
		}
	}
	switch draw(t, "stop", 0, 0, 1, 2, 3, 4) {
	case 0:
		c.StopReason, c.NativeStopReason = genwayv1.StopReason_STOP_REASON_END_TURN, "completed"
		for _, p := range c.Parts {
			if p.GetToolCall() != nil {
				c.StopReason = genwayv1.StopReason_STOP_REASON_TOOL_CALL
			}
		}
	case 1:
		c.StopReason, c.NativeStopReason = genwayv1.StopReason_STOP_REASON_MAX_TOKENS, "max_output_tokens"
	case 2:
		c.StopReason, c.NativeStopReason = genwayv1.StopReason_STOP_REASON_CONTENT_FILTER, "content_filter"
	case 3:
		c.StopReason, c.NativeStopReason = genwayv1.StopReason_STOP_REASON_OTHER, "steered"
	case 4:
		c.StopReason, c.NativeStopReason = genwayv1.StopReason_STOP_REASON_OTHER, "queued"
	}
	if c.StopReason == genwayv1.StopReason_STOP_REASON_OTHER {
		c.NativeFields = []*genwayv1.NativeField{member.Mark(protocol, "incomplete_details.reason")}
	}
	resp.Candidates = []*genwayv1.Candidate{c}
	return resp
}

// splitter cuts texts between characters.
func splitter(t *rapid.T) codec.Splitter {
	size := rapid.IntRange(1, 6).Draw(t, "piece")
	return func(s string) []string {
		var out []string
		var piece strings.Builder
		n := 0
		for _, r := range s {
			piece.WriteRune(r)
			if n++; n == size {
				out, n = append(out, piece.String()), 0
				piece.Reset()
			}
		}
		if piece.Len() > 0 {
			out = append(out, piece.String())
		}
		return out
	}
}

// lifetime is a time to live of so many seconds; nil for 0.
func lifetime(seconds int64) *durationpb.Duration {
	if seconds == 0 {
		return nil
	}
	return &durationpb.Duration{Seconds: seconds}
}
