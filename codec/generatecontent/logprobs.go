package generatecontent

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// logprobsResult has how likely the tokens of a candidate were (SDK type
// LogprobsResult).
//
//wire:read,write
type logprobsResult struct {
	ChosenCandidates []logprob      `json:"chosenCandidates"`
	TopCandidates    []topLogprobs  `json:"topCandidates"`
	Extra            jsontext.Value `json:",embed"`
}

type topLogprobs struct {
	Candidates []logprob      `json:"candidates"`
	Extra      jsontext.Value `json:",embed"`
}

type logprob struct {
	Token          string         `json:"token" wire:"always"`
	TokenID        *integer       `json:"tokenId"`
	LogProbability float64        `json:"logProbability" wire:"always"`
	Extra          jsontext.Value `json:",embed"`
}

// decodeLogprobs reads a result; ok is false when it says more than the contract
// can hold of the tokens. What it says of the whole is in extra.
func decodeLogprobs(raw jsontext.Value) (tokens []*genwayv1.TokenLogprob, extra jsontext.Value, ok bool) {
	var w logprobsResult
	if json.Unmarshal(raw, &w, member.Options()) != nil || len(w.ChosenCandidates) == 0 && len(w.Extra) == 0 {
		return nil, nil, false
	}
	if len(w.TopCandidates) != 0 && len(w.TopCandidates) != len(w.ChosenCandidates) {
		return nil, nil, false
	}
	for i := range w.ChosenCandidates {
		token := w.ChosenCandidates[i].canonical()
		if token == nil {
			return nil, nil, false
		}
		if len(w.TopCandidates) > 0 {
			if len(w.TopCandidates[i].Extra) > 0 {
				return nil, nil, false
			}
			for j := range w.TopCandidates[i].Candidates {
				top := w.TopCandidates[i].Candidates[j].canonical()
				if top == nil {
					return nil, nil, false
				}
				token.Top = append(token.Top, top)
			}
		}
		tokens = append(tokens, token)
	}
	return tokens, w.Extra, true
}

// canonical returns the token, or nil when it has other members or its number is
// out of range.
func (w *logprob) canonical() *genwayv1.TokenLogprob {
	id, err := int32Of(w.TokenID, "", "")
	if err != nil || len(w.Extra) > 0 {
		return nil
	}
	return &genwayv1.TokenLogprob{Token: w.Token, Logprob: w.LogProbability, TokenId: id}
}

// encodeLogprobs writes a result; nil when there is nothing in it.
func encodeLogprobs(tokens []*genwayv1.TokenLogprob, extra jsontext.Value) (jsontext.Value, error) {
	if len(tokens) == 0 && len(extra) == 0 {
		return nil, nil
	}
	w := logprobsResult{Extra: extra}
	tops := false
	for _, t := range tokens {
		w.ChosenCandidates = append(w.ChosenCandidates, wireLogprob(t))
		top := topLogprobs{}
		for _, other := range t.Top {
			tops = true
			top.Candidates = append(top.Candidates, wireLogprob(other))
		}
		w.TopCandidates = append(w.TopCandidates, top)
	}
	if !tops {
		w.TopCandidates = nil
	}
	return spelled(&w)
}

func wireLogprob(t *genwayv1.TokenLogprob) logprob {
	return logprob{Token: t.Token, TokenID: integerOf(t.TokenId), LogProbability: codec.Logprob(t.Logprob)}
}
