package messages_test

import (
	"fmt"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/types/known/durationpb"
	"pgregory.net/rapid"
)

// The generators draw canonical messages in this protocol's normal form: what
// decoding gives, so that decode∘encode is the identity on them.

const own = genwayv1.Protocol_PROTOCOL_MESSAGES

var (
	words   = rapid.StringMatching(`[a-z]{1,8}`)
	texts   = rapid.SampledFrom([]string{"x", "Grüße\n\"quoted\"\\", "\u2028 <&> \U0001F600", "  ", "line\r\n"})
	schemas = rapid.SampledFrom([]string{`{"type":"object"}`, `{"type":"object", "required":["b","a"],"properties":{"b":{"maximum":1.50},"a":{}}}`})
	objects = rapid.SampledFrom([]string{`{}`, `{"a":1.0,"b":[1e3, null]}`, `{"ключ":"\u00e9\/"}`})
	callIDs = rapid.SampledFrom([]string{"toolu_1", "call_2", "functions.f:0", "gwid_x", "id with space"})
)

func some[T any](t *rapid.T, name string, draw func() T) *T {
	if !rapid.Bool().Draw(t, name+" given") {
		return nil
	}
	v := draw()
	return &v
}

func listOf[T any](t *rapid.T, name string, most int, draw func(i int) T) []T {
	var out []T
	for i := range rapid.IntRange(0, most).Draw(t, name+" count") {
		out = append(out, draw(i))
	}
	return out
}

func drawNatives(t *rapid.T, names ...string) []*genwayv1.NativeField {
	var out []*genwayv1.NativeField
	for _, name := range names {
		if rapid.Bool().Draw(t, name) {
			out = append(out, &genwayv1.NativeField{Protocol: own, Name: name, Json: []byte(objects.Draw(t, name+" value"))})
		}
	}
	return out
}

func drawCache(t *rapid.T) *genwayv1.CacheControl {
	if !rapid.Bool().Draw(t, "cached") {
		return nil
	}
	return &genwayv1.CacheControl{
		Ttl:          lifetime(rapid.SampledFrom([]int64{0, 300, 3600}).Draw(t, "ttl")),
		NativeFields: drawNatives(t, "scope"),
	}
}

func drawSeal(t *rapid.T) *genwayv1.Seal {
	return &genwayv1.Seal{Protocol: own, Value: []byte(rapid.StringMatching(`[A-Za-z0-9+/]{4,12}==`).Draw(t, "seal"))}
}

func drawText(t *rapid.T) *genwayv1.Part {
	text := &genwayv1.Text{Text: texts.Draw(t, "text")}
	for range rapid.IntRange(0, 2).Draw(t, "citations") {
		url := "https://" + words.Draw(t, "host") + ".example"
		text.Citations = append(text.Citations, &genwayv1.Citation{
			Title: "T", Url: url, CitedText: "c",
			Native: &genwayv1.NativeField{Protocol: own, Name: "citations", Json: fmt.Appendf(nil,
				`{"type":"web_search_result_location", "cited_text":"c","encrypted_index":"E","title":"T","url":%q}`, url)},
		})
	}
	return &genwayv1.Part{Kind: &genwayv1.Part_Text{Text: text}}
}

func drawMedia(t *rapid.T) *genwayv1.Part {
	p := &genwayv1.Part{CacheControl: drawCache(t), NativeFields: drawNatives(t, "context")}
	m := &genwayv1.Media{}
	image := rapid.Bool().Draw(t, "image")
	switch rapid.IntRange(0, 2).Draw(t, "source") {
	case 0:
		m.MimeType, m.Source = "application/pdf", &genwayv1.Media_Data{Data: []byte("%PDF-\xff")}
		if image {
			m.MimeType = "image/png"
		} else if rapid.Bool().Draw(t, "plain") {
			m.MimeType, m.Source = "text/plain", &genwayv1.Media_Data{Data: []byte(texts.Draw(t, "document"))}
		}
	case 1:
		m.Source = &genwayv1.Media_Url{Url: "https://a.example/" + words.Draw(t, "path")}
		if !image {
			m.MimeType = "application/pdf"
		}
	case 2:
		m.Source = &genwayv1.Media_FileId{FileId: words.Draw(t, "file")}
	}
	if image {
		p.Kind = &genwayv1.Part_Image{Image: m}
		return p
	}
	m.Filename = rapid.SampledFrom([]string{"", "title"}).Draw(t, "title")
	p.Kind = &genwayv1.Part_File{File: m}
	return p
}

func drawOpaque(t *rapid.T) *genwayv1.Part {
	kind := rapid.SampledFrom([]string{"server_tool_use", "search_result", "container_upload", "news"}).Draw(t, "kind")
	return &genwayv1.Part{Kind: &genwayv1.Part_Opaque{Opaque: &genwayv1.OpaquePart{
		Protocol: own, Type: kind, Json: fmt.Appendf(nil, `{"type":%q, "n": %s}`, kind, objects.Draw(t, "opaque"))}}}
}

func drawThinking(t *rapid.T) *genwayv1.Part {
	th := &genwayv1.Thinking{}
	if rapid.Bool().Draw(t, "redacted") {
		th.EncryptedContent = drawSeal(t)
	} else {
		th.Text, th.Signature = rapid.SampledFrom([]string{"", "Hm.", "a\nb"}).Draw(t, "reasoning"), drawSeal(t)
	}
	return &genwayv1.Part{Kind: &genwayv1.Part_Thinking{Thinking: th}, NativeFields: drawNatives(t, "origin")}
}

func drawCall(t *rapid.T) *genwayv1.Part {
	return &genwayv1.Part{NativeFields: drawNatives(t, "toolset_name"), Kind: &genwayv1.Part_ToolCall{ToolCall: &genwayv1.ToolCall{
		Id: callIDs.Draw(t, "call"), Name: words.Draw(t, "tool"), Arguments: &genwayv1.ToolCall_ArgumentsJson{ArgumentsJson: objects.Draw(t, "arguments")}}}}
}

func drawResult(t *rapid.T) *genwayv1.Part {
	return &genwayv1.Part{
		Kind: &genwayv1.Part_ToolResult{ToolResult: &genwayv1.ToolResult{
			ToolCallId: callIDs.Draw(t, "call"), IsError: rapid.Bool().Draw(t, "error"),
			Parts: listOf(t, "results", 2, func(int) *genwayv1.Part {
				return rapid.SampledFrom([]func(*rapid.T) *genwayv1.Part{drawText, drawMedia, drawOpaque}).Draw(t, "result")(t)
			})}},
		CacheControl: drawCache(t),
		NativeFields: drawNatives(t, "toolset_name"),
	}
}

func drawTurn(t *rapid.T) *genwayv1.Message {
	m := &genwayv1.Message{Role: genwayv1.Role_ROLE_USER, NativeFields: drawNatives(t, "note")}
	kinds := []func(*rapid.T) *genwayv1.Part{drawText, drawMedia, drawResult, drawOpaque}
	switch rapid.IntRange(0, 3).Draw(t, "role") {
	case 1, 2:
		m.Role = genwayv1.Role_ROLE_ASSISTANT
		kinds = []func(*rapid.T) *genwayv1.Part{drawText, drawThinking, drawCall, drawOpaque}
	case 3:
		m.Role, m.NativeRole = genwayv1.Role_ROLE_SYSTEM, "system"
		kinds = []func(*rapid.T) *genwayv1.Part{drawText}
	}
	for range rapid.IntRange(1, 4).Draw(t, "parts") {
		p := rapid.SampledFrom(kinds).Draw(t, "kind of part")(t)
		if p.GetText() != nil {
			p.CacheControl, p.NativeFields = drawCache(t), drawNatives(t, "mark")
		}
		m.Parts = append(m.Parts, p)
	}
	return m
}

func drawTool(t *rapid.T) *genwayv1.Tool {
	if rapid.Bool().Draw(t, "hosted") {
		return &genwayv1.Tool{Kind: &genwayv1.Tool_Hosted{Hosted: &genwayv1.HostedTool{
			Protocol: own, Type: "web_search_20250305", Json: []byte(`{"type":"web_search_20250305", "name":"web_search"}`)}}}
	}
	return &genwayv1.Tool{
		Kind: &genwayv1.Tool_Function{Function: &genwayv1.FunctionTool{
			Name: words.Draw(t, "name"), Description: rapid.SampledFrom([]string{"", "what"}).Draw(t, "description"),
			ParametersJson: schemas.Draw(t, "schema"), Strict: some(t, "strict", func() bool { return rapid.Bool().Draw(t, "strict") })}},
		CacheControl: drawCache(t),
		NativeFields: drawNatives(t, "eager_input_streaming"),
	}
}

func drawThinkingConfig(t *rapid.T) *genwayv1.ThinkingConfig {
	th := &genwayv1.ThinkingConfig{Effort: rapid.SampledFrom([]string{"", "low", "xhigh", "ultra"}).Draw(t, "effort")}
	switch rapid.IntRange(0, 3).Draw(t, "mode") {
	case 0:
		if th.Effort == "" {
			return nil
		}
		return th
	case 1:
		th.Mode, th.BudgetTokens = genwayv1.ThinkingConfig_MODE_ENABLED, some(t, "budget", func() int32 { return 2048 })
		if th.BudgetTokens == nil {
			th.Mode = genwayv1.ThinkingConfig_MODE_ADAPTIVE
		}
	case 2:
		th.Mode = genwayv1.ThinkingConfig_MODE_DISABLED
	case 3:
		th.Mode = genwayv1.ThinkingConfig_MODE_ADAPTIVE
	}
	th.IncludeThoughts = some(t, "shown", func() bool { return rapid.Bool().Draw(t, "shown") })
	th.NativeFields = drawNatives(t, "pace")
	return th
}

func drawChoice(t *rapid.T) *genwayv1.ToolChoice {
	c := &genwayv1.ToolChoice{Parallel: some(t, "parallel", func() bool { return rapid.Bool().Draw(t, "parallel") })}
	switch rapid.IntRange(0, 4).Draw(t, "choice") {
	case 0:
		return nil
	case 1:
		c.Mode = genwayv1.ToolChoice_MODE_AUTO
	case 2:
		c.Mode = genwayv1.ToolChoice_MODE_REQUIRED
	case 3:
		c.Mode, c.Names = genwayv1.ToolChoice_MODE_REQUIRED, []string{words.Draw(t, "chosen")}
	case 4:
		return &genwayv1.ToolChoice{Mode: genwayv1.ToolChoice_MODE_NONE}
	}
	return c
}

func drawRequest(t *rapid.T) *codec.Request {
	limit := rapid.Int64Range(1, 1<<40).Draw(t, "max_tokens")
	r := &genwayv1.GenerateTextRequest{
		Model: words.Draw(t, "model"), MaxOutputTokens: &limit,
		Tools: listOf(t, "tools", 3, func(int) *genwayv1.Tool { return drawTool(t) }), ToolChoice: drawChoice(t),
		Thinking: drawThinkingConfig(t), CacheControl: drawCache(t),
		StopSequences: listOf(t, "stops", 2, func(int) string { return texts.Draw(t, "stop") }),
		ServiceTier:   rapid.SampledFrom([]string{"", "auto", "standard_only"}).Draw(t, "tier"),
		User:          rapid.SampledFrom([]string{"", "u-1"}).Draw(t, "user"),
		NativeFields:  drawNatives(t, "context_management", "speed", "whatever", "metadata", "output_config"),
	}
	for i, f := range r.NativeFields {
		if f.Name == "metadata" || f.Name == "output_config" {
			r.NativeFields[i].Json = []byte(`{"k":[1.0]}`)
		}
	}
	if rapid.Bool().Draw(t, "sampling") {
		r.Sampling = &genwayv1.Sampling{
			Temperature: some(t, "temperature", func() float64 { return rapid.Float64Range(0, 1).Draw(t, "temperature") }),
			TopP:        some(t, "top_p", func() float64 { return rapid.Float64Range(0, 1).Draw(t, "top_p") }),
			TopK:        some(t, "top_k", func() int32 { return rapid.Int32Range(0, 500).Draw(t, "top_k") }),
		}
		if r.Sampling.Temperature == nil && r.Sampling.TopP == nil && r.Sampling.TopK == nil {
			r.Sampling = nil
		}
	}
	if rapid.Bool().Draw(t, "format") {
		r.ResponseFormat = &genwayv1.ResponseFormat{Kind: genwayv1.ResponseFormat_KIND_JSON_SCHEMA, SchemaJson: schemas.Draw(t, "format")}
	}
	if rapid.Bool().Draw(t, "system") {
		m := &genwayv1.Message{Role: genwayv1.Role_ROLE_SYSTEM}
		for range rapid.IntRange(1, 2).Draw(t, "system parts") {
			p := drawText(t)
			p.CacheControl = drawCache(t)
			m.Parts = append(m.Parts, p)
		}
		r.Messages = append(r.Messages, m)
	}
	for range rapid.IntRange(1, 4).Draw(t, "turns") {
		r.Messages = append(r.Messages, drawTurn(t))
	}
	return &codec.Request{GenerateTextRequest: r, Stream: rapid.Bool().Draw(t, "stream")}
}

func drawUsage(t *rapid.T) *genwayv1.Usage {
	count := func(name string) int64 { return rapid.Int64Range(0, 1<<40).Draw(t, name) }
	read, short, long, thinking := count("read"), count("5m"), count("1h"), count("thinking")
	write := short + long
	u := &genwayv1.Usage{
		InputTokens: count("input") + read + write, OutputTokens: count("output"),
		CacheReadInputTokens: &read, CacheWriteInputTokens: &write,
		CacheWrites: []*genwayv1.CacheWrite{{Ttl: "5m", Tokens: short}, {Ttl: "1h", Tokens: long}}, ThinkingTokens: &thinking,
		NativeFields: drawNatives(t, "server_tool_use", "iterations"),
	}
	u.TotalTokens = u.InputTokens + u.OutputTokens
	if rapid.Bool().Draw(t, "geo") {
		u.InferenceGeo = "us"
		u.NativeFields = append(u.NativeFields, &genwayv1.NativeField{Protocol: own, Name: "inference_geo", Json: []byte(`"us"`)})
	}
	return u
}

var endings = map[string]genwayv1.StopReason{
	"end_turn": genwayv1.StopReason_STOP_REASON_END_TURN, "max_tokens": genwayv1.StopReason_STOP_REASON_MAX_TOKENS,
	"stop_sequence": genwayv1.StopReason_STOP_REASON_STOP_SEQUENCE, "tool_use": genwayv1.StopReason_STOP_REASON_TOOL_CALL,
	"pause_turn": genwayv1.StopReason_STOP_REASON_PAUSE, "compaction": genwayv1.StopReason_STOP_REASON_PAUSE, "refusal": genwayv1.StopReason_STOP_REASON_REFUSAL,
	"model_context_window_exceeded": genwayv1.StopReason_STOP_REASON_CONTEXT_WINDOW, "word_of_tomorrow": genwayv1.StopReason_STOP_REASON_OTHER,
}

func drawResponse(t *rapid.T) *genwayv1.GenerateTextResponse {
	word := rapid.SampledFrom([]string{"end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal", "model_context_window_exceeded", "compaction", "word_of_tomorrow"}).Draw(t, "stop")
	candidate := &genwayv1.Candidate{StopReason: endings[word], NativeStopReason: word}
	if word == "stop_sequence" {
		candidate.StopSequence = some(t, "sequence", func() string { return texts.Draw(t, "sequence") })
	}
	if word == "refusal" && rapid.Bool().Draw(t, "explained") {
		candidate.StopMessage = "No."
		candidate.NativeFields = []*genwayv1.NativeField{{Protocol: own, Name: "stop_details", Json: []byte(`{"type":"refusal", "category":"bio","explanation":"No."}`)}}
	}
	for range rapid.IntRange(0, 4).Draw(t, "parts") {
		draw := rapid.SampledFrom([]func(*rapid.T) *genwayv1.Part{drawText, drawThinking, drawCall, drawOpaque}).Draw(t, "kind of part")
		candidate.Parts = append(candidate.Parts, draw(t))
	}
	if word == "word_of_tomorrow" {
		candidate.NativeFields = append(candidate.NativeFields, member.Mark(own, "stop_reason"))
	}
	for n := len(candidate.Parts); n > 0 && codec.Cut(candidate.StopReason) && candidate.Parts[n-1].GetToolCall().GetArgumentsJson() == "{}"; n-- {
		candidate.Parts = candidate.Parts[:n-1] // which says as much as a call whose arguments never came
	}
	resp := &genwayv1.GenerateTextResponse{
		Id: "msg_" + words.Draw(t, "id"), Model: words.Draw(t, "model"),
		Candidates: []*genwayv1.Candidate{candidate}, Usage: drawUsage(t),
		ServiceTier:  rapid.SampledFrom([]string{"standard", "priority", "batch"}).Draw(t, "tier"),
		NativeFields: drawNatives(t, "container", "diagnostics", "whatever"),
	}
	resp.Usage.ServiceTier = resp.ServiceTier
	return resp
}

// drawSplit cuts texts at random places between characters.
func drawSplit(t *rapid.T) codec.Splitter {
	return func(text string) []string {
		var pieces []string
		runes := []rune(text)
		for len(runes) > 0 {
			n := rapid.IntRange(1, len(runes)).Draw(t, "piece")
			pieces, runes = append(pieces, string(runes[:n])), runes[n:]
		}
		return pieces
	}
}

// lifetime is a time to live of so many seconds; nil for 0.
func lifetime(seconds int64) *durationpb.Duration {
	if seconds == 0 {
		return nil
	}
	return &durationpb.Duration{Seconds: seconds}
}
