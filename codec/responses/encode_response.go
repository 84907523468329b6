package responses

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// EncodeResponse writes the body of a unary answer.
func (Codec) EncodeResponse(resp *genwayv1.GenerateTextResponse, to codec.Answer) ([]byte, error) {
	if compacting(to) {
		var err error
		if resp, err = compactedAnswer(resp); err != nil {
			return nil, err
		}
		if to.Request.Compact {
			return encodeCompacted(resp, to.Losses)
		}
	}
	fit.UnplacedInAnswer(resp, protocol, to.Losses)
	end, cut := ending{status: statusCompleted}, false
	if len(resp.Candidates) > 0 {
		c := resp.Candidates[0]
		end = encodeStop(c.StopReason, c.NativeStopReason, c.NativeFields, refused(c.Parts))
		cut = len(c.Parts) > 0 && codec.Cut(c.StopReason) && unfinishedCall(c.Parts[len(c.Parts)-1])
	}
	h := head{
		id: responseID(resp.Id), model: resp.Model, created: resp.CreateTime.GetSeconds(),
		tier: resp.ServiceTier, echo: echo(to.Request), natives: resp.NativeFields, now: to.Now,
	}
	w := member.NewWriter(member.SizeOfResponse(resp) + len(h.echo))
	if resp.PromptFeedback != nil {
		h.begin(w, ending{status: statusIncomplete, reason: reasonContentFilter})
	} else {
		h.begin(w, end)
	}
	out := output{w: w, response: h.id, created: h.created, losses: to.Losses, spaces: spacesOf(to.Tools()), summarizes: summarizes(to)}
	for i, c := range resp.Candidates {
		if i > 0 {
			to.Losses.Add(member.Index("candidates", i), "the target protocol has one answer")
			continue
		}
		for at, part := range c.Parts {
			if err := out.add(part, at); err != nil {
				return nil, err
			}
		}
		loseEnd(c.StopSequence != nil, c.StopMessage, c.NativeFields, to.Losses)
	}
	status := itemStatus(end)
	if cut {
		status = statusIncomplete
	}
	if err := out.flush(status); err != nil {
		return nil, err
	}
	h.end(w, resp.Usage, to.Losses)
	return w.Finish()
}

// loseEnd names what of a candidate's end has no place here.
func loseEnd(sequence bool, message string, natives []*genwayv1.NativeField, losses *codec.Losses) {
	if sequence {
		losses.Add("candidates[0].stop_sequence", noPlace)
	}
	if message != "" {
		losses.Add("candidates[0].stop_message", noPlace)
	}
	for _, f := range natives {
		if !member.IsMark(f) {
			losses.Add("candidates[0]."+f.Name, noPlace)
		}
	}
}

// unfinishedCall reports whether a part is a call whose arguments have not come, or not to their end.
func unfinishedCall(p *genwayv1.Part) bool {
	return codec.WithoutArguments(p) || codec.BrokenOff(p.GetToolCall().GetArgumentsJson())
}

// itemStatus is the status of the last item of an answer with this ending.
func itemStatus(end ending) string {
	if end.status == statusCompleted {
		return statusCompleted
	}
	return statusIncomplete
}

func responseID(id string) string {
	if id == "" {
		return syntheticID(prefixResponse, "", 0, 0)
	}
	return id
}

// output gathers the items of a unary answer.
type output struct {
	w        *member.Writer
	response string
	created  int64
	losses   *codec.Losses
	spaces   spaces
	// summarizes says that the caller asked for a summary of the reasoning.
	summarizes bool
	open       *outputItem
	count      int
}

func (o *output) add(part *genwayv1.Part, at int) error {
	p := answerable(part, at, o.losses)
	if p == nil {
		return nil
	}
	if p.ThoughtSignature != nil {
		if err := o.start(carrier(sealedThought, p.ThoughtSignature), at); err != nil {
			return err
		}
	}
	if o.open != nil && joins(o.open.parts[len(o.open.parts)-1], p) {
		o.open.parts, o.open.at = append(o.open.parts, p), append(o.open.at, at)
		return nil
	}
	return o.start(p, at)
}

func (o *output) start(p *genwayv1.Part, at int) error {
	err := o.flush(statusCompleted)
	o.open = &outputItem{parts: []*genwayv1.Part{p}, at: []int{at}, index: o.count, response: o.response, created: o.created, losses: o.losses, spaces: o.spaces}
	if t := p.GetThinking(); o.summarizes && thoughtElsewhere(p) && t.Text != "" && len(t.Summary) == 0 {
		o.open.summary = true
	}
	o.count++
	return err
}

func (o *output) flush(status string) error {
	if o.open == nil {
		return nil
	}
	err := o.open.encode(o.w, status)
	o.open = nil
	return err
}
