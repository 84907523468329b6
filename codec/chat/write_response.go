package chat

import "github.com/genway/genway/codec/member"

func (a *answer) write(w *member.Writer) {
	w.Begin()
	a.writeHead(w)
	writeList(w, "choices", a.Choices, (*choice).write)
	a.writeTail(w)
	w.End()
}

// writeHead writes the members ahead of the choices.
func (a *answer) writeHead(w *member.Writer) {
	w.Str("id", a.ID)
	w.Str("object", a.Object)
	w.Int("created", int64(a.Created))
	w.Str("model", a.Model)
}

// writeTail writes the members behind the choices.
func (a *answer) writeTail(w *member.Writer) {
	if a.Usage != nil {
		a.Usage.write(w)
	}
	w.StrOpt("service_tier", a.ServiceTier)
	w.StrOpt("system_fingerprint", a.SystemFingerprint)
	w.Members(a.Extra)
}

func (c *choice) write(w *member.Writer) {
	w.Begin()
	w.Int("index", int64(*c.Index))
	if c.Message != nil {
		w.Key("message")
		c.Message.write(w)
	}
	if c.Delta != nil {
		w.Key("delta")
		c.Delta.write(w)
	}
	if l := c.Logprobs; l != nil {
		w.Object("logprobs")
		writeList(w, "content", l.Content, (*tokenLogprob).write)
		writeList(w, "refusal", l.Refusal, (*tokenLogprob).write)
		w.Members(l.Extra)
		w.End()
	} else {
		w.Null("logprobs")
	}
	c.FinishReason.write(w, finishReasonName)
	c.NativeFinishReason.writeOpt(w, "native_finish_reason")
	c.StopReason.writeOpt(w, "stop_reason")
	w.Members(c.Extra)
	w.End()
}

func (t *tokenLogprob) write(w *member.Writer) {
	w.Begin()
	w.Str("token", t.Token)
	w.Float("logprob", t.Logprob)
	if t.Bytes == nil {
		w.Null("bytes")
	} else {
		w.List("bytes")
		for _, b := range t.Bytes {
			w.Element(int64(b))
		}
		w.EndList()
	}
	if t.TopLogprobs != nil {
		writeList(w, "top_logprobs", *t.TopLogprobs, (*tokenLogprob).write)
	}
	w.End()
}

func (u *usage) write(w *member.Writer) {
	w.Object("usage")
	w.Int("prompt_tokens", u.PromptTokens)
	w.Int("completion_tokens", u.CompletionTokens)
	w.Int("total_tokens", u.TotalTokens)
	if d := u.PromptTokensDetails; d != nil {
		w.Object("prompt_tokens_details")
		member.IntOpt(w, "cached_tokens", d.CachedTokens)
		member.IntOpt(w, "cache_write_tokens", d.CacheWriteTokens)
		member.IntOpt(w, "text_tokens", d.TextTokens)
		member.IntOpt(w, "image_tokens", d.ImageTokens)
		member.IntOpt(w, "audio_tokens", d.AudioTokens)
		w.Members(d.Extra)
		w.End()
	}
	if d := u.CompletionTokensDetails; d != nil {
		w.Object("completion_tokens_details")
		member.IntOpt(w, "reasoning_tokens", d.ReasoningTokens)
		member.IntOpt(w, "text_tokens", d.TextTokens)
		member.IntOpt(w, "image_tokens", d.ImageTokens)
		member.IntOpt(w, "audio_tokens", d.AudioTokens)
		member.IntOpt(w, "accepted_prediction_tokens", d.AcceptedPredictionTokens)
		member.IntOpt(w, "rejected_prediction_tokens", d.RejectedPredictionTokens)
		w.Members(d.Extra)
		w.End()
	}
	w.Members(u.Extra)
	w.End()
}
