package sandbox

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/tokens"
	"github.com/genway/genway/internal/tokens/content"
	"github.com/genway/genway/protocol"
	"github.com/genway/genway/sandbox/schema"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// answer is one complete answer in the making.
type answer struct {
	req          *genwayv1.GenerateTextRequest
	conversation *conversation
	model        model
	traits       traits
	resp         *genwayv1.GenerateTextResponse
	// lines are the reply as a report, the candidate's own lines left aside.
	lines []string
	// thinking counts the tokens of thinking, hidden ones included.
	thinking int64
	output   int64
}

// answer returns what both forms of a call have in common. key identifies the caller's key.
func (s *Sandbox) answer(key string, req *genwayv1.GenerateTextRequest, m model) (*genwayv1.GenerateTextResponse, error) {
	if err := checkLimits(req); err != nil {
		return nil, err
	}
	if err := checkOutput(req); err != nil {
		return nil, err
	}
	req = withoutLifted(req)
	asked := req
	req, err := s.memory.recall(key, req)
	if err != nil {
		return nil, err
	}
	var sealed seals
	if err := sealed.check(asked.GetMessages()); err != nil {
		return nil, err
	}
	a := &answer{req: req, conversation: read(req.GetMessages()), model: m}
	a.resp = &genwayv1.GenerateTextResponse{
		Id:         s.config.NewID(idPrefix(req)),
		Model:      req.GetModel(),
		CreateTime: timestamppb.New(s.config.Clock()),
		Losses:     losses(req, forgotten(asked, req)),
	}
	a.traits = traitsOf(req.GetWire().GetProtocol())
	a.resp.SystemFingerprint = a.traits.fingerprint
	if forgotten(asked, req) {
		a.lines = []string{"Previous response: not remembered"}
	}
	a.report(sealed)
	for i := range max(1, int(req.GetSampling().GetCandidateCount())) {
		c, err := a.candidate(i)
		if err != nil {
			return nil, err
		}
		a.resp.Candidates = append(a.resp.Candidates, c)
	}
	if m.demand.shape != nil {
		m.demand.shape(a)
	}
	a.finish()
	s.memory.keep(key, req, a.resp)
	return a.resp, nil
}

func (a *answer) report(sealed seals) {
	var r report
	r.past(a.conversation)
	r.settings(a.req)
	find(a.req).report(&r, sealed)
	a.lines = append(a.lines, r.lines...)
}

// openings are the wordings a seed, or the place of a candidate, chooses from.
var openings = []string{"You said", "You wrote", "Your message was", "The prompt was"}

func (a *answer) candidate(i int) (*genwayv1.Candidate, error) {
	seed := uint64(a.req.GetSampling().GetSeed()) + uint64(i)
	var r report
	r.turn(a.conversation, openings[seed%uint64(len(openings))])
	r.lines = append(r.lines, a.lines...)
	if n := a.req.GetSampling().GetCandidateCount(); n > 1 && i > 0 {
		r.addf("Candidate %d of %d.", i+1, n)
	}
	calls, err := plan(a.req, a.conversation, seed)
	if err != nil {
		return nil, err
	}
	c := &genwayv1.Candidate{Index: int32(i), StopReason: genwayv1.StopReason_STOP_REASON_END_TURN}
	thinking, cost := think(a.req, a.conversation, calls)
	a.thinking += int64(cost)
	a.output += int64(cost)
	// Results are repeated in words even when another call follows.
	if len(calls) == 0 || len(a.conversation.results) > 0 {
		if err := a.say(c, &r, seed, len(calls) > 0); err != nil {
			return nil, err
		}
	}
	for n, call := range calls {
		call.Id = callID(a.req, a.resp.Id, i, n)
		c.Parts = append(c.Parts, &genwayv1.Part{Kind: &genwayv1.Part_ToolCall{ToolCall: call}})
		c.StopReason = genwayv1.StopReason_STOP_REASON_TOOL_CALL
	}
	stop(c, a.req.GetStopSequences())
	if a.req.MaxOutputTokens != nil {
		truncate(c, int(min(a.req.GetMaxOutputTokens(), outputTokenLimit))-cost)
	}
	if thinking != nil {
		c.Parts = append([]*genwayv1.Part{thinking}, c.Parts...)
	}
	return c, nil
}

// say adds the content of the candidate: text, structured output, speech, a drawing.
func (a *answer) say(c *genwayv1.Candidate, r *report, seed uint64, andCalls bool) error {
	if !andCalls {
		text, ok, err := structured(a.req, a.conversation.prompt(), seed, r.lines)
		if err != nil {
			return err
		}
		if ok {
			c.Parts = append(c.Parts, textPart(text))
			return nil
		}
	}
	return a.express(c, strings.ToValidUTF8(r.String(), "\uFFFD"))
}

func textPart(text string) *genwayv1.Part {
	return &genwayv1.Part{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{Text: text}}}
}

// finish adds what depends on the final parts: log probabilities, signatures, usage.
func (a *answer) finish() {
	for _, c := range a.resp.Candidates {
		addLogprobs(c, a.req.GetSampling())
		for _, p := range c.Parts {
			if p.GetThinking() == nil {
				a.output += int64(content.Part(p))
			}
		}
		if a.traits.signsText {
			sign(a.req, c)
		}
	}
	in := countInput(a.req)
	u := &genwayv1.Usage{InputTokens: in.Total(), OutputTokens: a.output, TotalTokens: in.Total() + a.output}
	if a.thinking > 0 {
		u.ThinkingTokens = &a.thinking
	}
	in.details(u, a.req, a.traits.breakdown)
	a.outputDetails(u)
	a.resp.Usage = u
}

// sign puts a thought signature on the first part with content or a call, where
// generateContent has it.
func sign(req *genwayv1.GenerateTextRequest, c *genwayv1.Candidate) {
	for _, p := range c.Parts {
		if p.GetText() != nil || p.GetToolCall() != nil {
			p.ThoughtSignature = seal(req, p.GetText().GetText()+p.GetToolCall().GetName()+p.GetToolCall().GetArgumentsJson())
			return
		}
	}
}

// idPrefix is how the caller's protocol begins the identifiers of its answers.
func idPrefix(req *genwayv1.GenerateTextRequest) string {
	return cmp.Or(protocol.Of(req.GetWire().GetProtocol()).IDs.Answer, "gen-")
}

// lengthen appends a sentence to a text until there are at least n tokens.
func lengthen(text string, n int) string {
	const sentence = "\nThe sandbox goes on, since the model's name asks for a long answer."
	each := tokens.Count(sentence)
	// Tokens may join at the seams, so the estimate is checked.
	for have := tokens.Count(text); have < n; have = tokens.Count(text) {
		text += strings.Repeat(sentence, (n-have)/each+1)
	}
	return text
}

func (a *answer) empty() {
	for _, c := range a.resp.Candidates {
		c.Parts, c.StopReason, c.StopSequence = nil, genwayv1.StopReason_STOP_REASON_END_TURN, nil
	}
}

func (a *answer) refuse() {
	for _, c := range a.resp.Candidates {
		c.Parts = []*genwayv1.Part{{Kind: &genwayv1.Part_Refusal{Refusal: &genwayv1.Refusal{
			Text: "The sandbox declines to answer, since the model's name asks it to."}}}}
		c.StopReason, c.StopSequence = genwayv1.StopReason_STOP_REASON_REFUSAL, nil
	}
}

func (a *answer) filter() {
	for _, c := range a.resp.Candidates {
		for i, p := range c.Parts {
			if t := p.GetText(); t != nil {
				cutText(c, i, head(t.Text, utf8.RuneCountInString(t.Text)/2))
				break
			}
		}
		c.StopReason, c.StopSequence = genwayv1.StopReason_STOP_REASON_CONTENT_FILTER, nil
	}
}

func (a *answer) block() {
	a.resp.Candidates = nil
	a.output, a.thinking = 0, 0
	a.resp.PromptFeedback = &genwayv1.PromptFeedback{
		BlockReason: "OTHER",
		Message:     "The sandbox blocks the prompt, since the model's name asks it to.",
	}
}

func (a *answer) redact() {
	for _, c := range a.resp.Candidates {
		c.Parts = append([]*genwayv1.Part{redacted(a.req)}, c.Parts...)
	}
}

// pause ends the turn as one to be sent back; one that was sent back has its end, as
// callers wait for it.
func (a *answer) pause() {
	if a.conversation.resumed {
		return
	}
	for _, c := range a.resp.Candidates {
		c.StopReason, c.StopSequence = genwayv1.StopReason_STOP_REASON_PAUSE, nil
	}
}

// cite lets the whole of each text be supported by a page that does not exist and,
// where the turn has one, by its first file.
func (a *answer) cite() {
	file := a.firstFile()
	for _, c := range a.resp.Candidates {
		for _, p := range c.Parts {
			t := p.GetText()
			if t == nil {
				continue
			}
			start, end := int32(0), int32(utf8.RuneCountInString(t.Text))
			t.Citations = append(t.Citations, &genwayv1.Citation{
				Title: "A page for examples", Url: "https://example.com/sandbox",
				CitedText: "An example.", StartIndex: &start, EndIndex: &end,
			})
			if file != nil {
				t.Citations = append(t.Citations, &genwayv1.Citation{
					Title: file.GetFilename(), Filename: file.GetFilename(), FileId: file.GetFileId(),
					DocumentIndex: new(int32(0)), StartIndex: &start, EndIndex: &end,
				})
			}
		}
	}
}

func (a *answer) firstFile() *genwayv1.Media {
	for _, m := range a.conversation.turn {
		for _, p := range m.GetParts() {
			if p.GetFile() != nil {
				return p.GetFile()
			}
		}
	}
	return nil
}

// thinks reports whether a request asks for thinking: by a mode, a budget or an
// effort that is not zero, none or disabled.
func thinks(t *genwayv1.ThinkingConfig) bool {
	switch {
	case t == nil, t.GetMode() == genwayv1.ThinkingConfig_MODE_DISABLED, t.GetEffort() == "none":
		return false
	case t.BudgetTokens != nil:
		return t.GetBudgetTokens() != 0
	}
	return t.GetMode() != genwayv1.ThinkingConfig_MODE_UNSPECIFIED || t.GetEffort() != ""
}

// think returns the thinking part of a candidate, or nil, and the tokens it cost.
// It takes at most half of a limit on the answer's tokens, and no more than its budget.
//
//	include_thoughts  true: shown; false: counted, not shown
//	absent            shown, but on generateContent, which shows thoughts only when
//	                  asked, and on responses, which shows summaries only when asked
//	summary           in place of the text, once the protocol knows summaries
func think(req *genwayv1.GenerateTextRequest, c *conversation, calls []*genwayv1.ToolCall) (part *genwayv1.Part, cost int) {
	config := req.GetThinking()
	if !thinks(config) {
		return nil, 0
	}
	text := thoughts(c, calls)
	if req.MaxOutputTokens != nil {
		text, _ = tokens.Cut(text, int(min(req.GetMaxOutputTokens()/2, maxThoughts)))
	}
	if budget := config.GetBudgetTokens(); budget > 0 {
		text, _ = tokens.Cut(text, int(budget))
	}
	cost = tokens.Count(text)
	thinking, own := &genwayv1.Thinking{}, traitsOf(req.GetWire().GetProtocol())
	switch {
	case config.GetSummary() != "":
		thinking.Summary = []string{text}
	case config.IncludeThoughts != nil && !config.GetIncludeThoughts():
	case config.IncludeThoughts == nil && own.hidesThoughts:
	case own.encryptsThoughts:
	default:
		thinking.Text = text
	}
	switch {
	case own.encryptsThoughts:
		if includes(req, "reasoning.encrypted_content") {
			thinking.EncryptedContent = seal(req, text)
		}
	case thinking.Text != "":
		thinking.Signature = seal(req, text)
	}
	if thinking.Text == "" && thinking.Summary == nil && thinking.EncryptedContent == nil {
		return nil, cost
	}
	return &genwayv1.Part{Kind: &genwayv1.Part_Thinking{Thinking: thinking}}, cost
}

// maxThoughts is more tokens than thoughts ever has.
const maxThoughts = 1 << 10

// thoughts takes the place of a model's reasoning, and says that it is none.
func thoughts(c *conversation, calls []*genwayv1.ToolCall) string {
	prompt := strings.Join(strings.Fields(c.prompt()), " ")
	text := "This stands in place of a model's reasoning. The turn has " + count(len(c.prompts), "text")
	if n := len(c.results); n > 0 {
		text += " and " + count(n, "tool result")
	}
	if prompt != "" {
		text += ": " + quote(prompt, 80)
	}
	text += ". Before it came " + count(len(c.earlier), "turn") + ". "
	if len(calls) == 0 {
		return text + "The answer needs no tool."
	}
	var names []string
	for _, call := range calls {
		names = append(names, clip(call.GetName(), 60))
	}
	return text + "The answer calls " + strings.Join(names, ", ") + "."
}

// includes reports whether a responses request asks for more of the answer.
func includes(req *genwayv1.GenerateTextRequest, what string) bool {
	for _, n := range req.GetNativeFields() {
		if n.GetName() == "include" && strings.Contains(string(n.GetJson()), `"`+what+`"`) {
			return true
		}
	}
	return false
}

// redacted is thinking that only its maker can read.
func redacted(req *genwayv1.GenerateTextRequest) *genwayv1.Part {
	return &genwayv1.Part{Kind: &genwayv1.Part_Thinking{Thinking: &genwayv1.Thinking{
		EncryptedContent: seal(req, "redacted thinking"),
	}}}
}

// structured returns the text of an answer whose format the request constrains:
//
//	KIND_JSON_SCHEMA  an instance of the schema, with values from the prompt
//	KIND_JSON_OBJECT  the same where a schema is given; else the report of a plain
//	                  reply as {"reply": first line, "given": [the other lines]}
//	KIND_ENUM         one of the values as plain text, the one the prompt names if any
//
// ok is false for plain text.
func structured(req *genwayv1.GenerateTextRequest, prompt string, seed uint64, lines []string) (answer string, ok bool, err error) {
	format := req.GetResponseFormat()
	if format.GetNative() != nil {
		return "", false, fault.Unsupported("response_format", "the sandbox cannot write in the format %s", clip(format.GetNative().GetName(), 60))
	}
	kind := format.GetKind()
	switch kind {
	case genwayv1.ResponseFormat_KIND_JSON_SCHEMA, genwayv1.ResponseFormat_KIND_JSON_OBJECT, genwayv1.ResponseFormat_KIND_ENUM:
	default:
		return "", false, nil
	}
	if format.GetSchemaJson() == "" && kind == genwayv1.ResponseFormat_KIND_JSON_OBJECT {
		raw, err := json.Marshal(struct {
			Reply string   `json:"reply"`
			Given []string `json:"given"`
		}{lines[0], lines[1:]})
		return string(raw), true, err
	}
	if format.GetSchemaJson() == "" {
		return "", false, fault.Missing("response_format.schema_json")
	}
	instance, err := schema.Options{Seed: seed, Hints: hints(prompt)}.Instance([]byte(format.GetSchemaJson()))
	if err != nil {
		return "", false, fault.Invalid("response_format.schema_json", "response_format.schema_json: nothing satisfies the schema: %s", clip(err.Error(), 400))
	}
	if kind == genwayv1.ResponseFormat_KIND_ENUM {
		if text, ok := unquoted(string(instance)); ok {
			return text, true, nil
		}
	}
	return string(instance), true, nil
}

// unquoted is the text of a JSON string.
func unquoted(raw string) (string, bool) {
	if !strings.HasPrefix(raw, `"`) {
		return "", false
	}
	text, err := jsontext.AppendUnquote(nil, []byte(raw))
	return strings.ToValidUTF8(string(text), "\uFFFD"), err == nil
}
