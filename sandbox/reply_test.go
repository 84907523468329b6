package sandbox

import (
	"strings"
	"testing"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
)

// onePixel is a PNG of 1 x 1.
const onePixel = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89"

func picture(data string) *genwayv1.Part {
	return &genwayv1.Part{Kind: &genwayv1.Part_Image{Image: &genwayv1.Media{
		MimeType: "image/png", Source: &genwayv1.Media_Data{Data: []byte(data)}}}}
}

func TestPlainReplyIsShort(t *testing.T) {
	resp := generate(t, ask("Say hello."))
	if got, want := answerText(resp), `You said: "Say hello."`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	c := resp.Candidates[0]
	if c.StopReason != genwayv1.StopReason_STOP_REASON_END_TURN || c.Parts[0].ThoughtSignature == nil {
		t.Errorf("candidate %v", c)
	}
	if u := resp.Usage; u.InputTokens != 3 || u.OutputTokens != 7 || u.TotalTokens != 10 || u.ThinkingTokens != nil {
		t.Errorf("usage %v", u)
	}
}

// TestReplyShowsAll sends a bit of everything and looks for it in the reply.
func TestReplyShowsAll(t *testing.T) {
	assistant, user := genwayv1.Role_ROLE_ASSISTANT, genwayv1.Role_ROLE_USER
	call := &genwayv1.Part{Kind: &genwayv1.Part_ToolCall{ToolCall: &genwayv1.ToolCall{Id: "c1", Name: "lookup", Arguments: &genwayv1.ToolCall_ArgumentsJson{ArgumentsJson: `{"q":1}`}}}}
	result := &genwayv1.Part{Kind: &genwayv1.Part_ToolResult{ToolResult: &genwayv1.ToolResult{ToolCallId: "c1", Parts: []*genwayv1.Part{textPart("found it")}}}}
	req := conversed([]*genwayv1.Message{
		say(genwayv1.Role_ROLE_SYSTEM, "Be brief."),
		{Role: user, Name: "ada", Parts: []*genwayv1.Part{textPart("My name is Ada."), picture(onePixel)}},
		{Role: assistant, Parts: []*genwayv1.Part{textPart("Hello Ada."), call}},
		{Role: genwayv1.Role_ROLE_TOOL, Parts: []*genwayv1.Part{result}},
		say(assistant, "Done."),
		say(genwayv1.Role_ROLE_DEVELOPER, "Metric units."),
		{Role: user, Parts: []*genwayv1.Part{
			textPart("<system-reminder>\nmind the gap\n</system-reminder>"),
			textPart("What is my name?"), picture(onePixel),
			{Kind: &genwayv1.Part_Image{Image: &genwayv1.Media{Source: &genwayv1.Media_Url{Url: "https://example.com/a.png"}, Detail: "low"}}},
			{Kind: &genwayv1.Part_File{File: &genwayv1.Media{Source: &genwayv1.Media_FileId{FileId: "file-7"}, Filename: "a.pdf"}}},
			{Kind: &genwayv1.Part_File{File: &genwayv1.Media{MimeType: "text/csv", Source: &genwayv1.Media_Data{Data: []byte("a,b\n1,2\n")}}}},
			{Kind: &genwayv1.Part_Opaque{Opaque: &genwayv1.OpaquePart{Type: "hologram", Protocol: genwayv1.Protocol_PROTOCOL_MESSAGES}}},
		}, NativeFields: []*genwayv1.NativeField{{Name: "mood", Json: []byte("1")}}},
	}, func(r *genwayv1.GenerateTextRequest) {
		r.Tools = []*genwayv1.Tool{
			function("lookup", "Looks things up.", ""),
			{Kind: &genwayv1.Tool_Custom{Custom: &genwayv1.CustomTool{Name: "grammar"}}},
			{Kind: &genwayv1.Tool_Hosted{Hosted: &genwayv1.HostedTool{Type: "web_search"}}, CacheControl: &genwayv1.CacheControl{}},
		}
		r.ToolChoice = &genwayv1.ToolChoice{Mode: genwayv1.ToolChoice_MODE_NONE}
		r.Sampling = &genwayv1.Sampling{Temperature: new(0.5), TopK: new(int32(7)), Seed: new(int64(0))}
		r.StopSequences = []string{"ZZZ"}
		r.MaxOutputTokens = new(int64(5000))
		r.Metadata = map[string]string{"trace": "7", "a": "b"}
		r.NativeFields = []*genwayv1.NativeField{{Name: "logit_bias", Json: []byte("{}"), Binding: true}}
		r.User = "Ada-1"
		r.Thinking = &genwayv1.ThinkingConfig{Effort: "none"}
	})
	resp := generate(t, req)
	want := `You said: "What is my name?"
image: image/png, 33 bytes, 1x1 pixels
image: at https://example.com/a.png, not fetched, detail low
file: file id file-7, not looked up, named a.pdf
file: text/csv, 8 bytes, 2 lines, "a,b 1,2"
hologram part of messages, not read
Context: 1 block: "<system-reminder> mind the gap </system-reminder>"
system: "Be brief."
developer: "Metric units."
Earlier turns: 4
- user (ada): "My name is Ada." | image: image/png, 33 bytes, 1x1 pixels
- assistant: "Hello Ada." | called lookup with "{"q":1}"
- tool: "The tool c1 returned: "found it""
- assistant: "Done."
Tools offered: lookup, grammar (custom), web_search (hosted, not called)
Tool choice: none
Thinking: effort none
Options: max_output_tokens 5000, temperature 0.5, top_k 7, seed 0, stop_sequences 1 (3 characters), user Ada-1
Metadata: a=b, trace=7
Cache marks: 1
Also given: logit_bias, messages[6].mood`
	if got := answerText(resp); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if len(resp.Losses) != 2 || resp.Losses[0].Member != "logit_bias" || resp.Losses[1].Member != "tools[2]" {
		t.Errorf("losses %v", resp.Losses)
	}
	if u := resp.Usage; u.GetInputImageTokens() == 0 || u.CacheReadInputTokens == nil || len(u.CacheWrites) != 2 {
		t.Errorf("usage %v", u)
	}
}

func TestLongTextsAreElided(t *testing.T) {
	long := strings.Repeat("päth ", 20_000)
	got := answerText(generate(t, conversed([]*genwayv1.Message{say(genwayv1.Role_ROLE_SYSTEM, long), say(genwayv1.Role_ROLE_USER, long)})))
	if n := len([]rune(got)); n > longestPrompt+2*longestExcerpt || !strings.Contains(got, "(100000 characters)") {
		t.Errorf("%d characters", n)
	}
	exact := strings.Repeat("a b", 4000)
	if got := answerText(generate(t, ask(exact))); !strings.Contains(got, exact) {
		t.Error("a prompt of 12,000 characters is not repeated whole")
	}
}

func TestReplyWithoutWords(t *testing.T) {
	for name, c := range map[string]struct {
		messages []*genwayv1.Message
		want     string
	}{
		"nothing":  {nil, `You said nothing in words.`},
		"an image": {[]*genwayv1.Message{{Role: genwayv1.Role_ROLE_USER, Parts: []*genwayv1.Part{picture(onePixel)}}}, "You said nothing in words.\nimage: image/png, 33 bytes, 1x1 pixels"},
		"prefill": {[]*genwayv1.Message{say(genwayv1.Role_ROLE_USER, "Name?"), say(genwayv1.Role_ROLE_ASSISTANT, "It is")},
			"You said: \"Name?\"\nAnswer begun: \"It is\""},
		"a lone tag": {[]*genwayv1.Message{say(genwayv1.Role_ROLE_USER, "<b>hi</b>")}, `You said: "<b>hi</b>"`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := answerText(generate(t, conversed(c.messages))); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestSeedsAndCandidates(t *testing.T) {
	sampled := func(seed int64, n int32) *genwayv1.GenerateTextResponse {
		return generate(t, ask("Hi.", func(r *genwayv1.GenerateTextRequest) {
			r.Sampling = &genwayv1.Sampling{Seed: &seed, CandidateCount: &n}
		}))
	}
	if a, b := answerText(sampled(1, 1)), answerText(sampled(2, 1)); a == b {
		t.Errorf("seeds 1 and 2 both give %q", a)
	}
	if a, b := answerText(sampled(3, 1)), answerText(sampled(3, 1)); a != b {
		t.Errorf("seed 3 gives %q and %q", a, b)
	}
	three := sampled(0, 3)
	texts := map[string]bool{}
	for i, c := range three.Candidates {
		texts[textOf(c.Parts)] = true
		if int(c.Index) != i {
			t.Errorf("candidate %d has index %d", i, c.Index)
		}
	}
	if len(texts) != 3 {
		t.Errorf("candidates %v", texts)
	}
	for _, n := range []int32{0, -1, 17} {
		_, err := newSandbox(t).GenerateText(t.Context(), deferred.New(ask("Hi.", func(r *genwayv1.GenerateTextRequest) {
			r.Sampling = &genwayv1.Sampling{CandidateCount: &n}
		})))
		refused(t, err, fault.InvalidRequest, "sampling.candidate_count")
	}
}

func TestSeals(t *testing.T) {
	first := generate(t, ask("Hi.", wire(genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT)))
	signature := first.Candidates[0].Parts[0].ThoughtSignature
	if signature.GetProtocol() != genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT || len(signature.GetValue()) != 40 {
		t.Fatalf("signature %v", signature)
	}
	again := func(value string) *genwayv1.GenerateTextRequest {
		return conversed([]*genwayv1.Message{
			say(genwayv1.Role_ROLE_USER, "Hi."),
			{Role: genwayv1.Role_ROLE_ASSISTANT, Parts: []*genwayv1.Part{{
				Kind:             &genwayv1.Part_Text{Text: &genwayv1.Text{Text: "Hello."}},
				ThoughtSignature: &genwayv1.Seal{Value: []byte(value)}}}},
			say(genwayv1.Role_ROLE_USER, "Bye."),
		})
	}
	if got := answerText(generate(t, again(string(signature.Value)))); !strings.HasSuffix(got, "Signatures: 1 of the sandbox accepted") {
		t.Errorf("own: %q", got)
	}
	if got := answerText(generate(t, again("EpQC1234"))); !strings.HasSuffix(got, "Signatures: 1 foreign") {
		t.Errorf("foreign: %q", got)
	}
	for _, damaged := range []string{
		string(signature.Value[:30]) + "AAAAAAAAAA", string(signature.Value[:20]), string(signature.Value) + "AAAA", sealBegins + "!",
	} {
		_, err := newSandbox(t).GenerateText(t.Context(), deferred.New(again(damaged)))
		refused(t, err, fault.InvalidRequest, "messages[1].parts[0].thought_signature")
	}
}
