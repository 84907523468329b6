package sandbox

import (
	"hash/fnv"
	"strings"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/tokens"
)

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
