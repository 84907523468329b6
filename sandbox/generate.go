package sandbox

import (
	"context"
	"hash/fnv"
	"strings"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/upstream"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/tokens"
	"github.com/genway/genway/internal/tokens/content"
	"github.com/genway/genway/protocol/deferred"
)

// GenerateText returns one complete answer.
func (s *Sandbox) GenerateText(ctx context.Context, asked *deferred.Request) (*genwayv1.GenerateTextResponse, error) {
	req, err := asked.Whole()
	if err != nil {
		return nil, err
	}
	call.Of(ctx).Calls++
	m, err := s.find(req.GetModel(), false)
	if err != nil {
		return nil, err
	}
	if err := m.before(ctx); err != nil {
		return nil, err
	}
	if m.demand.fault != nil {
		return nil, m.demand.fault()
	}
	if err := codec.CheckRanges(req.GetSampling()); err != nil {
		return nil, err
	}
	resp, err := s.answer(call.Of(ctx).Caller.KeyID, req, m) //nolint:contextcheck // it takes a moment
	if err != nil {
		return nil, err
	}
	if m.demand.pace == beforeFirst {
		if err := wait(ctx, m.amount.wait); err != nil {
			return nil, err
		}
	}
	return resp, nil
}

// StreamGenerateText returns the same answer as events: texts in pieces of a token, the
// opening event before anything that takes time.
func (s *Sandbox) StreamGenerateText(ctx context.Context, asked *deferred.Request, send upstream.Send) error {
	req, err := asked.Whole()
	if err != nil {
		return err
	}
	call.Of(ctx).Calls++
	m, err := s.find(req.GetModel(), false)
	if err != nil {
		return err
	}
	if err := m.before(ctx); err != nil {
		return err
	}
	if err := codec.CheckRanges(req.GetSampling()); err != nil {
		return err
	}
	resp, err := s.answer(call.Of(ctx).Caller.KeyID, req, m) //nolint:contextcheck // it takes a moment
	if err != nil {
		return err
	}
	events := codec.Events(resp, pieces)
	for i, event := range events {
		if m.demand.halfway && i == (len(events)+1)/2 {
			return m.demand.fault()
		}
		if err := m.pause(ctx, i, func() error { return send(codec.Event(&genwayv1.Ping{})) }); err != nil {
			return err
		}
		if err := send(event); err != nil {
			return err
		}
	}
	return nil
}

func pieces(text string) []string {
	var list []string
	for _, p := range tokens.Pieces(text) {
		list = append(list, p.Text)
	}
	return list
}

// before is what a model does before it looks at the request.
func (m model) before(ctx context.Context) error {
	if m.demand.fault != nil && !m.demand.halfway {
		return m.demand.fault()
	}
	if m.demand.pace == forever {
		<-ctx.Done()
	}
	return left(ctx)
}

// left returns the fault of a call that its caller has left, or whose time is over; nil for one that goes
// on. What it used counts.
func left(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	call.Of(ctx).Accepted = true
	return upstream.Interrupted(ctx)
}

// pingEvery is how often a slow model shows that it is alive.
const pingEvery = time.Second

// pause waits before the i-th event, as the model's name asks. In a long wait it calls
// ping.
func (m model) pause(ctx context.Context, i int, ping func() error) error {
	switch {
	case m.demand.pace == beforeEach && i > 0:
		return wait(ctx, m.amount.wait)
	case m.demand.pace == beforeFirst && i == 1:
		for left := m.amount.wait; ; left -= pingEvery {
			if left <= pingEvery {
				return wait(ctx, left)
			}
			if err := wait(ctx, pingEvery); err != nil {
				return err
			}
			if err := ping(); err != nil {
				return err
			}
		}
	}
	return wait(ctx, 0)
}

// wait takes its time unless the context ends first.
func wait(ctx context.Context, d time.Duration) error {
	if d > 0 {
		defer call.Of(ctx).Await(time.Now())
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return left(ctx)
}

// The largest values that are taken; what is above is refused.
const (
	maxCandidates    = 16
	maxTopLogprobs   = 20
	maxStopSequences = 64
)

// checkLimits refuses settings that no vendor takes, and more than the sandbox makes.
func checkLimits(req *genwayv1.GenerateTextRequest) error {
	if m := req.MaxOutputTokens; m != nil && *m < 1 {
		return fault.Invalid("max_output_tokens", "max_output_tokens must be at least 1, not %d", *m)
	}
	if len(req.GetStopSequences()) > maxStopSequences {
		return fault.Invalid("stop_sequences", "stop_sequences: at most %d are taken", maxStopSequences)
	}
	s := req.GetSampling()
	if s == nil {
		return nil
	}
	if n := s.CandidateCount; n != nil && (*n < 1 || *n > maxCandidates) {
		return fault.Invalid("sampling.candidate_count", "sampling.candidate_count must be between 1 and %d, not %d", maxCandidates, *n)
	}
	if n := s.TopLogprobs; n != nil && (*n < 0 || *n > maxTopLogprobs) {
		return fault.Invalid("sampling.top_logprobs", "sampling.top_logprobs must be between 0 and %d, not %d", maxTopLogprobs, *n)
	}
	return nil
}

// stop ends the candidate before the first stop sequence in its text. What begins
// earliest wins, and the longer one of two that begin at the same place. Only text
// the caller reads is looked at: not thinking, not arguments.
func stop(c *genwayv1.Candidate, sequences []string) {
	for i, p := range c.Parts {
		t := p.GetText()
		if t == nil {
			continue
		}
		at, found := -1, ""
		for _, s := range sequences {
			j := -1
			if s != "" {
				j = strings.Index(t.GetText(), s)
			}
			if j >= 0 && (at < 0 || j < at || j == at && len(s) > len(found)) {
				at, found = j, s
			}
		}
		if at < 0 {
			continue
		}
		cutText(c, i, t.GetText()[:at])
		c.StopReason = genwayv1.StopReason_STOP_REASON_STOP_SEQUENCE
		c.StopSequence = &found
		return
	}
}

// truncate ends the candidate after limit tokens, between two tokens and never
// within a character. A tool call keeps the arguments it has got; one that is cut
// within its name is left out.
func truncate(c *genwayv1.Candidate, limit int) {
	for i, p := range c.Parts {
		cost := content.Part(p)
		if cost <= limit {
			limit -= cost
			continue
		}
		c.StopReason, c.StopSequence = genwayv1.StopReason_STOP_REASON_MAX_TOKENS, nil
		switch k := p.GetKind().(type) {
		case *genwayv1.Part_Text:
			text, _ := tokens.Cut(k.Text.GetText(), limit)
			cutText(c, i, text)
		case *genwayv1.Part_Refusal:
			k.Refusal.Text, _ = tokens.Cut(k.Refusal.GetText(), limit)
			c.Parts = c.Parts[:i+1]
		case *genwayv1.Part_ToolCall:
			cutCall(c, i, limit-tokens.Count(k.ToolCall.GetName()))
		default:
			c.Parts = c.Parts[:i]
		}
		return
	}
}

// cutText makes a shorter text the last part; an empty one is no part at all.
func cutText(c *genwayv1.Candidate, i int, text string) {
	t := c.Parts[i].GetText()
	t.Text = text
	var kept []*genwayv1.Citation
	for _, x := range t.GetCitations() {
		if int(x.GetEndIndex()) <= len([]rune(text)) {
			kept = append(kept, x)
		}
	}
	t.Citations = kept
	c.Parts = c.Parts[:i+1]
	if text == "" {
		c.Parts = c.Parts[:i]
	}
}

func cutCall(c *genwayv1.Candidate, i, limit int) {
	call := c.Parts[i].GetToolCall()
	arguments, _ := tokens.Cut(call.GetArgumentsJson()+call.GetInput(), limit)
	if codec.IsCustom(call) {
		call.Arguments = &genwayv1.ToolCall_Input{Input: arguments}
	} else {
		codec.SetArguments(call, arguments)
	}
	c.Parts = c.Parts[:i+1]
	if arguments == "" {
		c.Parts = c.Parts[:i]
	}
}

// input is the tokens of a request, as internal/tokens/content counts them.
type input struct{ content.Input }

func countInput(req *genwayv1.GenerateTextRequest) *input { return &input{content.Of(req)} }

// CountTokens counts what GenerateText would report as usage.input_tokens. Models
// that fail at once fail here as well.
func (s *Sandbox) CountTokens(ctx context.Context, req *genwayv1.CountTokensRequest) (*genwayv1.CountTokensResponse, error) {
	call.Of(ctx).Calls++
	m, err := s.find(req.GetRequest().GetModel(), false)
	if err != nil {
		return nil, err
	}
	if err := m.before(ctx); err != nil {
		return nil, err
	}
	full, err := s.memory.recall(call.Of(ctx).Caller.KeyID, withoutLifted(req.GetRequest()))
	if err != nil {
		return nil, err
	}
	in := countInput(full)
	usage := &genwayv1.Usage{InputTokens: in.Total(), TotalTokens: in.Total()}
	in.details(usage, full, traitsOf(req.GetWire().GetProtocol()).breakdown)
	return &genwayv1.CountTokensResponse{InputTokens: in.Total(), Usage: usage}, nil
}

// details fills what the caller's protocol breaks down: modalities once there are
// several, and a cache that was marked, though the sandbox has none.
func (in *input) details(u *genwayv1.Usage, req *genwayv1.GenerateTextRequest, shows modalities) {
	if in.Image+in.Audio > 0 && shows.all {
		u.InputTextTokens, u.InputImageTokens = new(int64(in.Text)), new(int64(in.Image))
	}
	if in.Audio > 0 && shows.audio {
		u.InputAudioTokens = new(int64(in.Audio))
	}
	if find(req).marks > 0 {
		u.CacheReadInputTokens, u.CacheWriteInputTokens = new(int64(0)), new(int64(0))
		u.CacheWrites = []*genwayv1.CacheWrite{{Ttl: "5m"}, {Ttl: "1h"}}
	}
}

// addLogprobs adds a log probability to each token of the candidate's texts. The values
// are made up of the token and its place, between -1 and 0; the token itself is the
// first of the likeliest, whose values fall from there.
func addLogprobs(c *genwayv1.Candidate, s *genwayv1.Sampling) {
	if !s.GetLogprobs() && s.GetTopLogprobs() == 0 {
		return
	}
	for _, p := range c.Parts {
		if t := p.GetText(); t != nil {
			t.Logprobs = logprobs(t.GetText(), int(s.GetTopLogprobs()))
		}
		if r := p.GetRefusal(); r != nil {
			r.Logprobs = logprobs(r.GetText(), int(s.GetTopLogprobs()))
		}
	}
}

func logprobs(text string, top int) []*genwayv1.TokenLogprob {
	var list []*genwayv1.TokenLogprob
	for i, token := range tokens.Split(text) {
		first := logprob(token, -roll(token, i)/2)
		for _, other := range alternatives(token, top) {
			first.Top = append(first.Top, logprob(other, first.Logprob-0.5*float64(len(first.Top))))
		}
		list = append(list, first)
	}
	return list
}

func logprob(token string, value float64) *genwayv1.TokenLogprob {
	return &genwayv1.TokenLogprob{Token: strings.ToValidUTF8(token, "\uFFFD"), Logprob: value, Utf8: []byte(token)}
}

// roll returns a number in (0, 1) with three digits.
func roll(token string, place int) float64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte{byte(place), byte(place >> 8)})
	_, _ = h.Write([]byte(token))
	return float64(1+h.Sum32()%999) / 1000
}

// alternatives are n different tokens, the given one first.
func alternatives(token string, n int) []string {
	others := strings.Split("\n| the| a| and| of| to| in|.|,| is| it| for| that| on| with| as| this| at| by| or| an", "|")
	list := []string{token}
	for _, o := range others {
		if o != token {
			list = append(list, o)
		}
	}
	return list[:min(n, len(list))]
}
