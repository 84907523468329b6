package generatecontent

import "github.com/genway/genway/codec/member"

// The members of a body stand in the order of the structs. JSON of others is checked and
// loses its white space.

func (w *request) write(to *member.Writer) {
	to.Begin()
	to.StrOpt("model", w.Model)
	writeList(to, "contents", w.Contents, (*content).write)
	if w.SystemInstruction != nil {
		to.Key("systemInstruction")
		w.SystemInstruction.write(to)
	}
	writeList(to, "tools", w.Tools, (*tool).write)
	if c := w.ToolConfig; c != nil {
		to.Object("toolConfig")
		if f := c.FunctionCallingConfig; f != nil {
			to.Object("functionCallingConfig")
			to.StrOpt("mode", f.Mode)
			to.StrsOpt("allowedFunctionNames", f.AllowedFunctionNames)
			to.Members(f.Extra)
			to.End()
		}
		to.Members(c.Extra)
		to.End()
	}
	if w.GenerationConfig != nil {
		to.Key("generationConfig")
		w.GenerationConfig.write(to)
	}
	to.StrOpt("serviceTier", w.ServiceTier)
	to.BoolOpt("store", w.Store)
	to.Members(w.Extra)
	to.End()
}

func (w *tool) write(to *member.Writer) {
	if w.raw != nil {
		to.CompactValue(w.raw)
		return
	}
	to.Begin()
	writeList(to, "functionDeclarations", w.FunctionDeclarations, func(f *functionDeclaration, to *member.Writer) {
		to.Begin()
		to.Str("name", f.Name)
		to.StrOpt("description", f.Description)
		to.CompactOpt("parameters", f.Parameters)
		to.CompactOpt("parametersJsonSchema", f.ParametersJSONSchema)
		to.Members(f.Extra)
		to.End()
	})
	to.Members(w.Extra)
	to.End()
}

func (w *generationConfig) write(to *member.Writer) {
	to.Begin()
	to.FloatOpt("temperature", w.Temperature)
	to.FloatOpt("topP", w.TopP)
	member.IntOpt(to, "topK", w.TopK)
	member.IntOpt(to, "maxOutputTokens", w.MaxOutputTokens)
	member.IntOpt(to, "candidateCount", w.CandidateCount)
	member.IntOpt(to, "seed", w.Seed)
	to.StrsOpt("stopSequences", w.StopSequences)
	to.FloatOpt("presencePenalty", w.PresencePenalty)
	to.FloatOpt("frequencyPenalty", w.FrequencyPenalty)
	to.BoolOpt("responseLogprobs", w.ResponseLogprobs)
	member.IntOpt(to, "logprobs", w.Logprobs)
	to.StrOpt("responseMimeType", w.ResponseMIMEType)
	to.CompactOpt("responseSchema", w.ResponseSchema)
	to.CompactOpt("responseJsonSchema", w.ResponseJSONSchema)
	to.StrsOpt("responseModalities", w.ResponseModalities)
	if s := w.SpeechConfig; s != nil {
		to.Object("speechConfig")
		if s.VoiceConfig != nil {
			to.Key("voiceConfig")
			s.VoiceConfig.write(to)
		}
		to.Members(s.Extra)
		to.End()
	}
	if t := w.ThinkingConfig; t != nil {
		to.Object("thinkingConfig")
		to.BoolOpt("includeThoughts", t.IncludeThoughts)
		member.IntOpt(to, "thinkingBudget", t.ThinkingBudget)
		to.StrOpt("thinkingLevel", t.ThinkingLevel)
		to.Members(t.Extra)
		to.End()
	}
	to.Members(w.Extra)
	to.End()
}

func (w *voiceConfig) write(to *member.Writer) {
	to.Begin()
	if p := w.PrebuiltVoiceConfig; p != nil {
		to.Object("prebuiltVoiceConfig")
		to.StrOpt("voiceName", p.VoiceName)
		to.Members(p.Extra)
		to.End()
	}
	to.Members(w.Extra)
	to.End()
}

func (w *countRequest) write(to *member.Writer) {
	to.Begin()
	to.Key("generateContentRequest")
	w.GenerateContentRequest.write(to)
	to.End()
}

// writeList writes an array of objects unless it is empty.
func writeList[T any](to *member.Writer, name string, list []T, write func(*T, *member.Writer)) {
	if len(list) == 0 {
		return
	}
	to.List(name)
	for i := range list {
		write(&list[i], to)
	}
	to.EndList()
}
