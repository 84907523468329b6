package generatecontent

import "github.com/genway/genway/codec/member"

func (w *response) write(to *member.Writer) {
	to.Begin()
	writeList(to, "candidates", w.Candidates, (*candidate).write)
	if w.PromptFeedback != nil {
		to.Key("promptFeedback")
		w.PromptFeedback.write(to)
	}
	if w.UsageMetadata != nil {
		to.Key("usageMetadata")
		w.UsageMetadata.write(to)
	}
	to.StrOpt("modelVersion", w.ModelVersion)
	to.StrOpt("createTime", w.CreateTime)
	to.StrOpt("responseId", w.ResponseID)
	to.Members(w.Extra)
	to.End()
}

func (w *candidate) write(to *member.Writer) {
	to.Begin()
	if w.Content != nil {
		to.Key("content")
		w.Content.write(to)
	}
	to.StrOpt("finishReason", w.FinishReason)
	to.StrOpt("finishMessage", w.FinishMessage)
	to.Int("index", int64(w.Index))
	to.CompactOpt("logprobsResult", w.LogprobsResult)
	to.Members(w.Extra)
	to.End()
}

func (w *promptFeedback) write(to *member.Writer) {
	to.Begin()
	to.StrOpt("blockReason", w.BlockReason)
	to.StrOpt("blockReasonMessage", w.BlockReasonMessage)
	to.Members(w.Extra)
	to.End()
}

func (w *usage) write(to *member.Writer) {
	to.Begin()
	to.Int("promptTokenCount", int64(w.PromptTokenCount))
	to.Int("candidatesTokenCount", int64(w.CandidatesTokenCount))
	to.Int("totalTokenCount", int64(w.TotalTokenCount))
	member.IntOpt(to, "cachedContentTokenCount", w.CachedContentTokenCount)
	member.IntOpt(to, "thoughtsTokenCount", w.ThoughtsTokenCount)
	member.IntOpt(to, "toolUsePromptTokenCount", w.ToolUsePromptTokenCount)
	to.CompactOpt(promptDetails, w.PromptTokensDetails)
	to.CompactOpt(candidateDetails, w.CandidatesTokensDetails)
	to.StrOpt("serviceTier", w.ServiceTier)
	to.Members(w.Extra)
	to.End()
}

func (w *countResponse) write(to *member.Writer) {
	to.Begin()
	to.Int("totalTokens", int64(w.TotalTokens))
	member.IntOpt(to, "cachedContentTokenCount", w.CachedContentTokenCount)
	to.CompactOpt(promptDetails, w.PromptTokensDetails)
	to.Members(w.Extra)
	to.End()
}

func (w *logprobsResult) write(to *member.Writer) {
	to.Begin()
	writeList(to, "chosenCandidates", w.ChosenCandidates, (*logprob).write)
	writeList(to, "topCandidates", w.TopCandidates, func(t *topLogprobs, to *member.Writer) {
		to.Begin()
		writeList(to, "candidates", t.Candidates, (*logprob).write)
		to.End()
	})
	to.Members(w.Extra)
	to.End()
}

func (w *logprob) write(to *member.Writer) {
	to.Begin()
	to.Str("token", w.Token)
	member.IntOpt(to, "tokenId", w.TokenID)
	to.Float("logProbability", w.LogProbability)
	to.End()
}

func (w *groundingMetadata) write(to *member.Writer) {
	to.Begin()
	writeList(to, "groundingChunks", w.GroundingChunks, func(c *groundingChunk, to *member.Writer) {
		to.Begin()
		c.Web.write(to, "web")
		c.RetrievedContext.write(to, "retrievedContext")
		c.Maps.write(to, "maps")
		to.End()
	})
	writeList(to, "groundingSupports", w.GroundingSupports, (*groundingSupport).write)
	to.End()
}

func (w *groundingSource) write(to *member.Writer, name string) {
	if w == nil {
		return
	}
	to.Object(name)
	to.StrOpt("uri", w.URI)
	to.StrOpt("title", w.Title)
	to.StrOpt("text", w.Text)
	to.End()
}

func (w *groundingSupport) write(to *member.Writer) {
	to.Begin()
	if s := w.Segment; s != (groundingSegment{}) {
		to.Object("segment")
		for _, m := range []struct {
			name string
			n    int
		}{{"partIndex", s.PartIndex}, {"startIndex", s.StartIndex}, {"endIndex", s.EndIndex}} {
			if m.n != 0 {
				to.Int(m.name, int64(m.n))
			}
		}
		to.StrOpt("text", s.Text)
		to.End()
	}
	if len(w.GroundingChunkIndices) > 0 {
		to.List("groundingChunkIndices")
		for _, i := range w.GroundingChunkIndices {
			to.Element(int64(i))
		}
		to.EndList()
	}
	to.End()
}
