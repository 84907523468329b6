package sandbox

import (
	"cmp"
	"strings"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/tokens/content"
	"github.com/genway/genway/protocol"
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
