package responses

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// logprobs reads log probabilities. The bytes of a token are numbers here.
func logprobs(wire []wireLogprob) []*genwayv1.TokenLogprob {
	if len(wire) == 0 {
		return nil
	}
	out := make([]*genwayv1.TokenLogprob, len(wire))
	for i, l := range wire {
		p := &genwayv1.TokenLogprob{Token: l.Token, Logprob: l.Logprob, Top: logprobs(l.TopLogprobs)}
		if l.Bytes != nil {
			p.Utf8 = make([]byte, len(l.Bytes))
			for j, b := range l.Bytes {
				p.Utf8[j] = byte(b)
			}
		}
		out[i] = p
	}
	return out
}

// encodeLogprobs writes log probabilities; bytes the upstream did not give are
// those of the token's text.
func encodeLogprobs(w *member.Writer, name string, list []*genwayv1.TokenLogprob) {
	w.Key(name)
	w.BeginList()
	for _, p := range list {
		w.Begin()
		encodeToken(w, p)
		encodeTop(w, p.Top)
		w.End()
	}
	w.EndList()
}

func encodeTop(w *member.Writer, list []*genwayv1.TokenLogprob) {
	w.List("top_logprobs")
	for _, p := range list {
		w.Begin()
		encodeToken(w, p)
		w.End()
	}
	w.EndList()
}

func encodeToken(w *member.Writer, p *genwayv1.TokenLogprob) {
	w.Str("token", p.Token)
	w.ShortFloat("logprob", codec.Logprob(p.Logprob))
	utf8 := p.Utf8
	if utf8 == nil {
		utf8 = []byte(p.Token)
	}
	w.List("bytes")
	for _, b := range utf8 {
		w.Element(int64(b))
	}
	w.EndList()
}
