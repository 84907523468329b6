package chat_test

import (
	"fmt"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"pgregory.net/rapid"
)

func drawCandidate(t *rapid.T, index int32) *genwayv1.Candidate {
	out := &genwayv1.Candidate{Index: index, Parts: drawThinking(t)}
	if rapid.Bool().Draw(t, "text") {
		p := drawText(t)
		p.ThoughtSignature = drawSeal(t)
		p.GetText().Logprobs = drawLogprobs(t)
		p.GetText().Citations = listOf(t, "citations", 0, 2, func(int) *genwayv1.Citation { return drawCitation(t) })
		out.Parts = append(out.Parts, p)
	}
	if rapid.IntRange(0, 3).Draw(t, "refusal") == 0 {
		out.Parts = append(out.Parts, &genwayv1.Part{Kind: &genwayv1.Part_Refusal{Refusal: &genwayv1.Refusal{
			Text: texts.Draw(t, "refusal"), Logprobs: drawLogprobs(t)}}})
	}
	if rapid.IntRange(0, 3).Draw(t, "image") == 0 {
		p := drawImage(t)
		p.ThoughtSignature = drawSeal(t)
		out.Parts = append(out.Parts, p)
	}
	if rapid.IntRange(0, 3).Draw(t, "audio") == 0 {
		out.Parts = append(out.Parts, &genwayv1.Part{
			Id: "audio_" + words.Draw(t, "audio id"),
			Kind: &genwayv1.Part_Audio{Audio: &genwayv1.Media{Source: &genwayv1.Media_Data{Data: []byte("RIFF")},
				Transcript: maybe(t, "transcript", texts)}},
			NativeFields: []*genwayv1.NativeField{{Protocol: own, Name: "expires_at", Json: []byte("1700000000")}},
		})
	}
	calls := listOf(t, "calls", 0, 3, func(i int) *genwayv1.Part { return drawCall(t, i, rapid.Bool().Draw(t, "custom")) })
	out.Parts = append(out.Parts, calls...)
	drawEnd(t, out, len(calls) > 0)
	return out
}

func drawEnd(t *rapid.T, out *genwayv1.Candidate, calls bool) {
	end := rapid.SampledFrom([]struct {
		reason genwayv1.StopReason
		native string
	}{
		{genwayv1.StopReason_STOP_REASON_END_TURN, "stop"},
		{genwayv1.StopReason_STOP_REASON_MAX_TOKENS, "length"},
		{genwayv1.StopReason_STOP_REASON_CONTENT_FILTER, "content_filter"},
		{genwayv1.StopReason_STOP_REASON_ERROR, "error"},
		{genwayv1.StopReason_STOP_REASON_STOP_SEQUENCE, "stop"},
		{genwayv1.StopReason_STOP_REASON_OTHER, "odd"},
	}).Draw(t, "end")
	if calls && end.native == "stop" {
		end.reason, end.native = genwayv1.StopReason_STOP_REASON_TOOL_CALL, "tool_calls"
	}
	out.StopReason, out.NativeStopReason = end.reason, end.native
	switch {
	case end.native == "odd", end.native == "error":
		out.NativeFields = append(out.NativeFields, member.Mark(own, "finish_reason"))
	case end.reason == genwayv1.StopReason_STOP_REASON_STOP_SEQUENCE:
		out.StopSequence = new(words.Draw(t, "sequence"))
	}
	out.NativeFields = append(out.NativeFields, drawNatives(t, "native_finish_reason", "content_filter_results", "message.executed_tools")...)
}

func drawUsage(t *rapid.T) *genwayv1.Usage {
	if !rapid.Bool().Draw(t, "usage given") {
		return nil
	}
	in, out := tokens.Draw(t, "input"), tokens.Draw(t, "output")
	return &genwayv1.Usage{
		InputTokens: in, OutputTokens: out, TotalTokens: in + out,
		CacheReadInputTokens: drawn(t, "read", tokens), CacheWriteInputTokens: drawn(t, "write", tokens),
		ThinkingTokens:  drawn(t, "thinking", tokens),
		InputTextTokens: drawn(t, "text in", tokens), InputImageTokens: drawn(t, "image in", tokens), InputAudioTokens: drawn(t, "audio in", tokens),
		OutputTextTokens: drawn(t, "text out", tokens), OutputImageTokens: drawn(t, "image out", tokens), OutputAudioTokens: drawn(t, "audio out", tokens),
		AcceptedPredictionTokens: drawn(t, "accepted", tokens), RejectedPredictionTokens: drawn(t, "rejected", tokens),
		NativeFields: drawNatives(t, "cost", "prompt_tokens_details.video_tokens", "completion_tokens_details.odd"),
	}
}

func drawResponse(t *rapid.T) *genwayv1.GenerateTextResponse {
	resp := &genwayv1.GenerateTextResponse{
		Id: "chatcmpl-" + words.Draw(t, "id"), Model: words.Draw(t, "model"), CreateTime: drawTime(t),
		ServiceTier:       rapid.SampledFrom([]string{"default", "flex"}).Draw(t, "tier"),
		SystemFingerprint: maybe(t, "fingerprint", words),
		Usage:             drawUsage(t),
		NativeFields:      drawNatives(t, "provider", "x_groq"),
	}
	if resp.Usage != nil {
		resp.Usage.ServiceTier = resp.ServiceTier
	}
	for i := range rapid.IntRange(1, 3).Draw(t, "candidates") {
		resp.Candidates = append(resp.Candidates, drawCandidate(t, int32(i)))
	}
	return resp
}

func drawAssistant(t *rapid.T, turn int) (*genwayv1.Message, []string) {
	m := &genwayv1.Message{Role: genwayv1.Role_ROLE_ASSISTANT, Name: maybe(t, "name", words), Parts: drawThinking(t)}
	content := listOf(t, "said", 0, 2, func(int) *genwayv1.Part { return drawText(t) })
	if n := len(content); n > 0 {
		content[n-1].ThoughtSignature = drawSeal(t)
		content[n-1].GetText().Citations = listOf(t, "citations", 0, 1, func(int) *genwayv1.Citation { return drawCitation(t) })
	}
	m.Parts = append(m.Parts, content...)
	if rapid.IntRange(0, 3).Draw(t, "refusal") == 0 {
		m.Parts = append(m.Parts, &genwayv1.Part{Kind: &genwayv1.Part_Refusal{Refusal: &genwayv1.Refusal{Text: texts.Draw(t, "refusal")}}})
	}
	if rapid.IntRange(0, 3).Draw(t, "audio") == 0 {
		m.Parts = append(m.Parts, &genwayv1.Part{Id: "audio_1", Kind: &genwayv1.Part_Audio{Audio: &genwayv1.Media{}}})
	}
	var ids []string
	for i := range rapid.IntRange(0, 2).Draw(t, "calls") {
		p := drawCall(t, turn*10+i, rapid.Bool().Draw(t, "custom"))
		m.Parts = append(m.Parts, p)
		ids = append(ids, p.GetToolCall().Id)
	}
	m.NativeFields = drawNatives(t, "parsed", "prefix")
	return m, ids
}

func drawResult(t *rapid.T, call *genwayv1.ToolCall) *genwayv1.Message {
	r := &genwayv1.ToolResult{ToolCallId: call.Id, Name: maybe(t, "name", words), Custom: codec.IsCustom(call)}
	for range rapid.IntRange(1, 2).Draw(t, "result parts") {
		p := drawText(t)
		p.CacheControl = drawCache(t)
		r.Parts = append(r.Parts, p)
	}
	p := &genwayv1.Part{Kind: &genwayv1.Part_ToolResult{ToolResult: r}}
	if r.Name != "" {
		p.NativeFields = []*genwayv1.NativeField{member.Mark(own, "name")}
	}
	return &genwayv1.Message{Role: genwayv1.Role_ROLE_TOOL, Parts: []*genwayv1.Part{p}, NativeFields: drawNatives(t, "status")}
}

func drawTurns(t *rapid.T) []*genwayv1.Message {
	var out []*genwayv1.Message
	for turn := range rapid.IntRange(1, 4).Draw(t, "turns") {
		role := rapid.SampledFrom([]genwayv1.Role{genwayv1.Role_ROLE_SYSTEM, genwayv1.Role_ROLE_DEVELOPER, genwayv1.Role_ROLE_USER}).Draw(t, "role")
		m := &genwayv1.Message{Role: role, Name: maybe(t, "name", words), NativeFields: drawNatives(t, "extra")}
		m.Parts = listOf(t, "parts", 1, 3, func(int) *genwayv1.Part {
			if role == genwayv1.Role_ROLE_USER {
				return drawUserPart(t)
			}
			return drawText(t)
		})
		out = append(out, m)
		if !rapid.Bool().Draw(t, "answered") {
			continue
		}
		content, _ := drawAssistant(t, turn)
		out = append(out, content)
		for _, p := range content.Parts {
			if call := p.GetToolCall(); call != nil && rapid.Bool().Draw(t, fmt.Sprint("result of ", call.Id)) {
				out = append(out, drawResult(t, call))
			}
		}
	}
	return out
}
