package chat

import (
	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

func decodeLogprobs(list []tokenLogprob) []*genwayv1.TokenLogprob {
	if len(list) == 0 {
		return nil
	}
	out := make([]*genwayv1.TokenLogprob, len(list))
	for i, l := range list {
		out[i] = &genwayv1.TokenLogprob{Token: l.Token, Logprob: l.Logprob, Utf8: l.Bytes}
		if l.TopLogprobs != nil {
			out[i].Top = decodeLogprobs(*l.TopLogprobs)
		}
	}
	return out
}

// encodeLogprobs writes tokens with their alternatives, which the SDK demands
// even when there are none, and alternatives without.
func encodeLogprobs(list []*genwayv1.TokenLogprob, withTop bool) []tokenLogprob {
	if len(list) == 0 {
		return nil
	}
	out := make([]tokenLogprob, len(list))
	for i, l := range list {
		out[i] = tokenLogprob{Token: l.Token, Logprob: codec.Logprob(l.Logprob), Bytes: l.Utf8}
		if withTop {
			top := encodeLogprobs(l.Top, false)
			if top == nil {
				top = []tokenLogprob{}
			}
			out[i].TopLogprobs = &top
		}
	}
	return out
}

// logprobsOf gathers the log probabilities of a candidate's parts; nil when there
// are none.
func logprobsOf(parts []*genwayv1.Part) *logprobs {
	var text, refusal []*genwayv1.TokenLogprob
	for _, p := range parts {
		text = append(text, p.GetText().GetLogprobs()...)
		refusal = append(refusal, p.GetRefusal().GetLogprobs()...)
	}
	return newLogprobs(text, refusal)
}

func newLogprobs(text, refusal []*genwayv1.TokenLogprob) *logprobs {
	if len(text) == 0 && len(refusal) == 0 {
		return nil
	}
	return &logprobs{Content: encodeLogprobs(text, true), Refusal: encodeLogprobs(refusal, true)}
}
