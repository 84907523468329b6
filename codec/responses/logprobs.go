package responses

import genwayv1 "github.com/genway/genway/gen/genway/v1"

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
func encodeLogprobs(w *writer, name string, list []*genwayv1.TokenLogprob) {
	w.key(name)
	w.begin('[')
	for _, p := range list {
		w.begin('{')
		encodeToken(w, p)
		encodeTop(w, p.Top)
		w.end('}')
	}
	w.end(']')
}

func encodeTop(w *writer, list []*genwayv1.TokenLogprob) {
	w.key("top_logprobs")
	w.begin('[')
	for _, p := range list {
		w.begin('{')
		encodeToken(w, p)
		w.end('}')
	}
	w.end(']')
}

func encodeToken(w *writer, p *genwayv1.TokenLogprob) {
	w.str("token", p.Token)
	w.float("logprob", p.Logprob)
	utf8 := p.Utf8
	if utf8 == nil {
		utf8 = []byte(p.Token)
	}
	w.key("bytes")
	w.begin('[')
	for _, b := range utf8 {
		w.element(int64(b))
	}
	w.end(']')
}
