package sandbox

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/call"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/tokens"
	"github.com/genway/genway/protocol/deferred"
	"github.com/genway/genway/sandbox/media"
)

func TestStructured(t *testing.T) {
	city := `{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city","days"],"additionalProperties":false}`
	for name, c := range map[string]struct {
		format *genwayv1.ResponseFormat
		want   string
	}{
		"schema":             {&genwayv1.ResponseFormat{Kind: genwayv1.ResponseFormat_KIND_JSON_SCHEMA, SchemaJson: city}, `{"city":"Paris","days":7}`},
		"object":             {&genwayv1.ResponseFormat{Kind: genwayv1.ResponseFormat_KIND_JSON_OBJECT}, `{"reply":"You said: \"Plan for Paris, 7 days, sunny.\"","given":["Options: response_format json_object"]}`},
		"object with schema": {&genwayv1.ResponseFormat{Kind: genwayv1.ResponseFormat_KIND_JSON_OBJECT, SchemaJson: city}, `{"city":"Paris","days":7}`},
		"enum":               {&genwayv1.ResponseFormat{Kind: genwayv1.ResponseFormat_KIND_ENUM, SchemaJson: `{"type":"STRING","enum":["rainy","sunny"]}`}, `sunny`},
		"text":               {&genwayv1.ResponseFormat{Kind: genwayv1.ResponseFormat_KIND_TEXT}, `You said: "Plan for Paris, 7 days, sunny."`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := answerText(generate(t, ask("Plan for Paris, 7 days, sunny.", format(c.format)))); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestNamesAreHints(t *testing.T) {
	schema := `{"type":"object","properties":{"name":{"type":"string"},"tags":{"type":"array","items":{"type":"string"}}},"required":["name","tags"]}`
	got := answerText(generate(t, ask("Describe Paris.", format(&genwayv1.ResponseFormat{Kind: genwayv1.ResponseFormat_KIND_JSON_SCHEMA, SchemaJson: schema}))))
	if want := `{"name":"Paris","tags":["sample tags"]}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func format(f *genwayv1.ResponseFormat) func(*genwayv1.GenerateTextRequest) {
	return func(r *genwayv1.GenerateTextRequest) { r.ResponseFormat = f }
}

func TestImpossibleFormats(t *testing.T) {
	for name, c := range map[string]struct {
		format *genwayv1.ResponseFormat
		param  string
	}{
		"no schema":    {&genwayv1.ResponseFormat{Kind: genwayv1.ResponseFormat_KIND_JSON_SCHEMA}, "response_format.schema_json"},
		"broken":       {&genwayv1.ResponseFormat{Kind: genwayv1.ResponseFormat_KIND_JSON_SCHEMA, SchemaJson: `{"type":`}, "response_format.schema_json"},
		"unsatisfying": {&genwayv1.ResponseFormat{Kind: genwayv1.ResponseFormat_KIND_JSON_SCHEMA, SchemaJson: `false`}, "response_format.schema_json"},
		"grammar":      {&genwayv1.ResponseFormat{Native: &genwayv1.NativeField{Name: "grammar"}}, "response_format"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := newSandbox(t).GenerateText(t.Context(), deferred.New(ask("hi", format(c.format))))
			refused(t, err, fault.InvalidRequest, c.param)
		})
	}
}

func TestThinking(t *testing.T) {
	chat, responses := genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS, genwayv1.Protocol_PROTOCOL_RESPONSES
	messages, google := genwayv1.Protocol_PROTOCOL_MESSAGES, genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT
	enabled := genwayv1.ThinkingConfig_MODE_ENABLED
	include := &genwayv1.NativeField{Name: "include", Json: []byte(`["reasoning.encrypted_content"]`)}
	for name, c := range map[string]struct {
		config   *genwayv1.ThinkingConfig
		protocol genwayv1.Protocol
		native   []*genwayv1.NativeField
		// shows are the members the thinking part has; "" is none, "-" no thinking at all.
		shows string
	}{
		"not asked":               {nil, chat, nil, "-"},
		"effort none":             {&genwayv1.ThinkingConfig{Effort: "none"}, chat, nil, "-"},
		"budget 0":                {&genwayv1.ThinkingConfig{BudgetTokens: new(int32(0))}, google, nil, "-"},
		"disabled":                {&genwayv1.ThinkingConfig{Mode: genwayv1.ThinkingConfig_MODE_DISABLED}, messages, nil, "-"},
		"effort":                  {&genwayv1.ThinkingConfig{Effort: "xhigh"}, chat, nil, "text signature"},
		"budget":                  {&genwayv1.ThinkingConfig{Mode: enabled, BudgetTokens: new(int32(1024))}, messages, nil, "text signature"},
		"adaptive":                {&genwayv1.ThinkingConfig{Mode: genwayv1.ThinkingConfig_MODE_ADAPTIVE}, messages, nil, "text signature"},
		"dynamic budget":          {&genwayv1.ThinkingConfig{BudgetTokens: new(int32(-1)), IncludeThoughts: new(true)}, google, nil, "text signature"},
		"hidden by default":       {&genwayv1.ThinkingConfig{BudgetTokens: new(int32(512))}, google, nil, ""},
		"hidden":                  {&genwayv1.ThinkingConfig{Effort: "low", IncludeThoughts: new(false)}, chat, nil, ""},
		"responses":               {&genwayv1.ThinkingConfig{Effort: "low"}, responses, nil, ""},
		"responses with summary":  {&genwayv1.ThinkingConfig{Effort: "low", Summary: "auto"}, responses, nil, "summary"},
		"responses with contents": {&genwayv1.ThinkingConfig{Effort: "low"}, responses, []*genwayv1.NativeField{include}, "encrypted"},
	} {
		t.Run(name, func(t *testing.T) {
			resp := generate(t, ask("Say hello.", wire(c.protocol), func(r *genwayv1.GenerateTextRequest) {
				r.Thinking, r.NativeFields = c.config, c.native
			}))
			th := resp.Candidates[0].Parts[0].GetThinking()
			var shows []string
			for member, there := range map[string]bool{"text": th.GetText() != "", "summary": len(th.GetSummary()) > 0,
				"signature": th.GetSignature() != nil, "encrypted": th.GetEncryptedContent() != nil} {
				if there {
					shows = append(shows, member)
				}
			}
			if len(shows) == 2 && shows[0] == "signature" {
				shows[0], shows[1] = shows[1], shows[0]
			}
			want := strings.TrimPrefix(c.shows, "-")
			if got := strings.Join(shows, " "); got != want || (resp.Usage.ThinkingTokens == nil) != (c.shows == "-") {
				t.Errorf("shows %q, want %q; %v", got, want, resp.Usage)
			}
			if s := th.GetSignature(); s != nil && s.Protocol != c.protocol {
				t.Errorf("origin %v", s.Protocol)
			}
		})
	}
}

func TestThinkingStaysWithinItsBudget(t *testing.T) {
	resp := generate(t, ask("Say hello.", func(r *genwayv1.GenerateTextRequest) {
		r.Thinking = &genwayv1.ThinkingConfig{BudgetTokens: new(int32(5)), IncludeThoughts: new(true)}
	}))
	if got := resp.Usage.GetThinkingTokens(); got != 5 {
		t.Errorf("%d tokens", got)
	}
	resp = generate(t, ask("Say hello.", func(r *genwayv1.GenerateTextRequest) {
		r.Thinking, r.MaxOutputTokens = &genwayv1.ThinkingConfig{Effort: "max"}, new(int64(20))
	}))
	if got := resp.Usage.GetThinkingTokens(); got != 10 || resp.Usage.OutputTokens > 20 || answerText(resp) == "" {
		t.Errorf("%d tokens of thinking, %d in all", got, resp.Usage.OutputTokens)
	}
}

func TestLogprobs(t *testing.T) {
	resp := generate(t, ask("Grüße 🌦️", func(r *genwayv1.GenerateTextRequest) {
		r.Sampling = &genwayv1.Sampling{Logprobs: new(true), TopLogprobs: new(int32(3))}
	}))
	text := resp.Candidates[0].Parts[0].GetText()
	var joined []byte
	for _, l := range text.Logprobs {
		joined = append(joined, l.Utf8...)
		if l.Logprob > 0 || l.Logprob < -1 || len(l.Top) != 3 || l.Top[0].Token != l.Token || l.Top[1].Logprob >= l.Top[0].Logprob {
			t.Errorf("token %v", l)
		}
	}
	if string(joined) != text.Text || len(text.Logprobs) != tokens.Count(text.Text) {
		t.Errorf("%d tokens spell %q", len(text.Logprobs), joined)
	}
	if plain := generate(t, ask("Hi.")); plain.Candidates[0].Parts[0].GetText().Logprobs != nil {
		t.Error("log probabilities nobody asked for")
	}
	if logprobs("a", 20)[0].Top[19].Logprob < -math.MaxFloat32 {
		t.Error("improbable")
	}
}

func TestSpeech(t *testing.T) {
	spoken := func(container string) *genwayv1.GenerateTextRequest {
		return ask("Say hello.", func(r *genwayv1.GenerateTextRequest) {
			r.Modalities, r.AudioOutput = []string{"text", "audio"}, &genwayv1.AudioOutput{Voice: "alloy", Format: container}
		})
	}
	resp := generate(t, spoken("wav"))
	audio := resp.Candidates[0].Parts[0].GetAudio()
	info := media.Describe(audio.GetMimeType(), audio.GetData())
	if info.Type != "audio/wav" || info.SampleRate != toneRate || info.Duration == 0 || !strings.HasPrefix(audio.GetTranscript(), `You said: "Say hello."`) {
		t.Errorf("%v: %q", info, audio.GetTranscript())
	}
	if n := resp.Candidates[0].Parts[0].NativeFields; n != nil {
		t.Errorf("native fields %v for a caller of no protocol", n)
	}
	// The clients of chat completions keep audio by its id until it expires.
	req := spoken("wav")
	wire(genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS)(req)
	if n := generate(t, req).Candidates[0].Parts[0].NativeFields; len(n) != 1 || n[0].Name != "expires_at" || string(n[0].Json) != strconv.FormatInt(epoch.Unix()+3600, 10) {
		t.Errorf("native fields %v", n)
	}
	u := resp.Usage
	if u.GetOutputAudioTokens() == 0 || u.GetOutputAudioTokens()+u.GetOutputTextTokens() != u.OutputTokens {
		t.Errorf("usage %v", u)
	}
	if pcm := generate(t, spoken("pcm16")).Candidates[0].Parts[0].GetAudio(); len(pcm.GetData())+44 != len(audio.GetData()) {
		t.Errorf("%d bytes of pcm16, %d of wav", len(pcm.GetData()), len(audio.GetData()))
	}
	_, err := newSandbox(t).GenerateText(t.Context(), deferred.New(spoken("opus")))
	refused(t, err, fault.InvalidRequest, "audio_output.format")
	_, err = newSandbox(t).GenerateText(t.Context(), deferred.New(ask("hi", func(r *genwayv1.GenerateTextRequest) { r.Modalities = []string{"smell"} })))
	refused(t, err, fault.InvalidRequest, "modalities")
}

func TestInputCounts(t *testing.T) {
	part := func(p *genwayv1.Part) *genwayv1.GenerateTextRequest {
		return conversed([]*genwayv1.Message{{Role: genwayv1.Role_ROLE_USER, Parts: []*genwayv1.Part{p}}})
	}
	data := func(s string) *genwayv1.Media {
		return &genwayv1.Media{Source: &genwayv1.Media_Data{Data: []byte(s)}}
	}
	for name, c := range map[string]struct {
		req  *genwayv1.GenerateTextRequest
		want int
	}{
		"text":   {ask("hello world"), 2},
		"image":  {part(picture(onePixel)), 85 + 170},
		"url":    {part(&genwayv1.Part{Kind: &genwayv1.Part_Image{Image: &genwayv1.Media{Source: &genwayv1.Media_Url{Url: "https://e.org"}}}}), 85},
		"speech": {part(&genwayv1.Part{Kind: &genwayv1.Part_Audio{Audio: data(string(wavFile(make([]byte, 2*toneRate))))}}), 32},
		"noise":  {part(&genwayv1.Part{Kind: &genwayv1.Part_Audio{Audio: data(strings.Repeat("\x00", 1025))}}), 2},
		"a file": {part(&genwayv1.Part{Kind: &genwayv1.Part_File{File: data("hello world")}}), 2},
		"a PDF":  {part(&genwayv1.Part{Kind: &genwayv1.Part_File{File: data("%PDF-1.4\n/Type /Page\n/Type /Page\n")}}), 516},
		"a tool": {ask("hello world", offer(function("hello", "world", `{}`))), 2 + 1 + 1 + 1},
		"a call": {part(&genwayv1.Part{Kind: &genwayv1.Part_ToolCall{ToolCall: &genwayv1.ToolCall{Name: "hello", Arguments: &genwayv1.ToolCall_ArgumentsJson{ArgumentsJson: "{}"}}}}), 2},
		"a result": {part(&genwayv1.Part{Kind: &genwayv1.Part_ToolResult{ToolResult: &genwayv1.ToolResult{
			ResultJson: new("{}"), Parts: []*genwayv1.Part{textPart("hello world"), picture(onePixel)}}}}), 1 + 2 + 255},
		"thinking": {part(&genwayv1.Part{Kind: &genwayv1.Part_Thinking{Thinking: &genwayv1.Thinking{Text: "hello world", Summary: []string{"hello"}}}}), 3},
	} {
		t.Run(name, func(t *testing.T) {
			if got := countInput(c.req).Total(); got != int64(c.want) {
				t.Errorf("%d tokens, want %d", got, c.want)
			}
		})
	}
}

func TestMemory(t *testing.T) {
	var n int
	s := New(Config{NewID: func(prefix string) string { n++; return fmt.Sprintf("%s%024x", prefix, n) }})
	responses := wire(genwayv1.Protocol_PROTOCOL_RESPONSES)
	after := func(id string) func(*genwayv1.GenerateTextRequest) {
		return func(r *genwayv1.GenerateTextRequest) {
			raw, err := json.Marshal(id)
			if err != nil {
				t.Fatal(err)
			}
			r.NativeFields = []*genwayv1.NativeField{{Protocol: genwayv1.Protocol_PROTOCOL_RESPONSES, Name: "previous_response_id", Json: raw, Binding: true}}
		}
	}
	first, err := s.GenerateText(t.Context(), deferred.New(conversed([]*genwayv1.Message{
		say(genwayv1.Role_ROLE_SYSTEM, "Be brief."), say(genwayv1.Role_ROLE_USER, "My name is Ada.")}, responses)))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(first.Id, "resp_") {
		t.Errorf("id %q", first.Id)
	}
	folder, err := fold(t.Context(), s, ask("What is my name?", responses, after(first.Id)))
	if err != nil {
		t.Fatal(err)
	}
	second := folder.Response()
	if got := answerText(second); !strings.Contains(got, `- user: "My name is Ada."`) || strings.Contains(got, "\nsystem: ") || len(second.Losses) != 0 {
		t.Errorf("%q", got)
	}
	// U46: another key sees nothing of it.
	record := &call.Record{}
	record.Caller.KeyID = "another"
	other := call.With(t.Context(), record)
	foreign, err := s.GenerateText(other, deferred.New(ask("What is my name?", responses, after(first.Id))))
	if err != nil || strings.Contains(answerText(foreign), "Ada") || len(foreign.Losses) != 1 {
		t.Errorf("another key gets %q, %v", answerText(foreign), err)
	}
	third, err := s.GenerateText(t.Context(), deferred.New(ask("And?", responses, after(second.Id))))
	if err != nil || !strings.Contains(answerText(third), "Earlier turns: 4") {
		t.Errorf("%q, %v", answerText(third), err)
	}
	forgets := func(id string) {
		t.Helper()
		resp, err := s.GenerateText(t.Context(), deferred.New(ask("hi", responses, after(id))))
		if err != nil || !strings.Contains(answerText(resp), "\nPrevious response: not remembered\n") ||
			len(resp.Losses) != 1 || resp.Losses[0].Member != "previous_response_id" {
			t.Errorf("%s: %v, %v", id, resp, err)
		}
	}
	forgets("resp_d0214094d6a255c0d15c4953")
	for _, unknown := range []string{"resp_unknown", "resp_gw" + strings.Repeat("0a", 16)} {
		_, err = s.GenerateText(t.Context(), deferred.New(ask("hi", responses, after(unknown))))
		refused(t, err, fault.InvalidRequest, "previous_response_id")
		if f := fault.From(err); f.NativeCode != "previous_response_not_found" {
			t.Errorf("code %q", f.NativeCode)
		}
	}
	private, err := s.GenerateText(t.Context(), deferred.New(ask("hi", responses, func(r *genwayv1.GenerateTextRequest) { r.Store = new(false) })))
	if err != nil {
		t.Fatal(err)
	}
	forgets(private.Id)
	for range maxRemembered {
		if _, err := s.GenerateText(t.Context(), deferred.New(ask("hi", responses))); err != nil {
			t.Fatal(err)
		}
	}
	forgets(first.Id)
	if len(s.memory.conversations) != maxRemembered || len(s.memory.ids) != maxRemembered {
		t.Errorf("%d conversations of %d ids", len(s.memory.conversations), len(s.memory.ids))
	}
}

func TestThreadsAreUnknown(t *testing.T) {
	thread := func(raw string) func(*genwayv1.GenerateTextRequest) {
		return func(r *genwayv1.GenerateTextRequest) {
			r.NativeFields = []*genwayv1.NativeField{{Protocol: genwayv1.Protocol_PROTOCOL_MESSAGES, Name: "thread", Json: []byte(raw)}}
		}
	}
	generate(t, ask("hi", thread(`{"type":"create"}`)))
	_, err := newSandbox(t).GenerateText(t.Context(), deferred.New(ask("hi", thread(`{"type":"continue","previous_message_id":"msg_1"}`))))
	refused(t, err, fault.NotFound, "thread")
	var body struct {
		Error struct {
			Details struct {
				ErrorCode string `json:"error_code"`
			} `json:"details"`
		} `json:"error"`
	}
	if err := json.Unmarshal(fault.From(err).Wire.GetJson(), &body); err != nil || body.Error.Details.ErrorCode != "thread_not_found" {
		t.Errorf("%+v, %v", body, err)
	}
}
