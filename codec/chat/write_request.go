package chat

import (
	"maps"
	"slices"

	"github.com/genway/genway/codec/member"
	"github.com/go-json-experiment/json/jsontext"
)

// The members of a body stand in the order of the structs. JSON of others is checked and
// loses its white space, but for schemas, which reach an upstream byte for byte (T16):
// models see them as they are written, and prompt caches compare them. A duplicate name is
// an error, so that a native field cannot stand in for a member that was admitted with
// another value.

func (r *request) write(w *member.Writer) {
	w.Begin()
	w.Str("model", r.Model)
	writeListOpt(w, "tools", r.Tools, (*tool).write)
	writeListOpt(w, "functions", r.Functions, (*function).write)
	if r.ResponseFormat != nil {
		w.Key("response_format")
		r.ResponseFormat.write(w)
	}
	writeList(w, "messages", r.Messages, (*message).write)
	w.CompactOpt("tool_choice", r.ToolChoice)
	w.BoolOpt("parallel_tool_calls", r.ParallelToolCalls)
	w.CompactOpt("function_call", r.FunctionCall)
	w.FloatOpt("temperature", r.Temperature)
	w.FloatOpt("top_p", r.TopP)
	member.IntOpt(w, "seed", r.Seed)
	w.FloatOpt("frequency_penalty", r.FrequencyPenalty)
	w.FloatOpt("presence_penalty", r.PresencePenalty)
	member.IntOpt(w, "n", r.N)
	w.BoolOpt("logprobs", r.Logprobs)
	member.IntOpt(w, "top_logprobs", r.TopLogprobs)
	member.IntOpt(w, "max_tokens", r.MaxTokens)
	member.IntOpt(w, "max_completion_tokens", r.MaxCompletionTokens)
	w.StrsOpt("stop", r.Stop)
	w.StrOpt("reasoning_effort", r.ReasoningEffort)
	w.StrOpt("verbosity", r.Verbosity)
	w.StrsOpt("modalities", r.Modalities)
	if r.Audio != nil {
		w.Object("audio")
		r.Audio.Voice.writeOpt(w, "voice")
		w.StrOpt("format", r.Audio.Format)
		w.Members(r.Audio.Extra)
		w.End()
	}
	w.StrOpt("service_tier", r.ServiceTier)
	w.BoolOpt("store", r.Store)
	writeMetadata(w, r.Metadata)
	w.StrOpt("user", r.User)
	w.StrOpt("safety_identifier", r.SafetyIdentifier)
	w.StrOpt("prompt_cache_key", r.PromptCacheKey)
	w.BoolOpt("stream", r.Stream)
	if o := r.StreamOptions; o != nil {
		w.Object("stream_options")
		if o.IncludeUsage {
			w.Bool("include_usage", true)
		}
		w.Members(o.Extra)
		w.End()
	}
	w.Members(r.Extra)
	w.End()
}

func writeMetadata(w *member.Writer, metadata map[string]string) {
	if len(metadata) == 0 {
		return
	}
	w.Object("metadata")
	for _, name := range slices.Sorted(maps.Keys(metadata)) {
		w.KeyOf(name)
		w.String(metadata[name])
	}
	w.End()
}

func (t *tool) write(w *member.Writer) {
	if t.verbatim.raw != nil {
		w.Value(t.verbatim.raw)
		return
	}
	w.Begin()
	w.Str("type", t.Type)
	if t.Function != nil {
		w.Key("function")
		t.Function.write(w)
	}
	if c := t.Custom; c != nil {
		w.Object("custom")
		w.Str("name", c.Name)
		w.StrOpt("description", c.Description)
		w.RawOpt("format", c.Format)
		w.Members(c.Extra)
		w.End()
	}
	t.CacheControl.write(w, cacheControlName)
	w.Members(t.Extra)
	w.End()
}

func (f *function) write(w *member.Writer) {
	w.Begin()
	w.Str("name", f.Name)
	w.StrOpt("description", f.Description)
	w.RawOpt("parameters", f.Parameters)
	w.BoolOpt("strict", f.Strict)
	w.Members(f.Extra)
	w.End()
}

func (f *responseFormat) write(w *member.Writer) {
	if f.verbatim.raw != nil {
		w.Value(f.verbatim.raw)
		return
	}
	w.Begin()
	w.Str("type", f.Type)
	if s := f.JSONSchema; s != nil {
		w.Object("json_schema")
		w.Str("name", s.Name)
		w.StrOpt("description", s.Description)
		w.RawOpt("schema", s.Schema)
		w.BoolOpt("strict", s.Strict)
		w.Members(s.Extra)
		w.End()
	}
	w.Members(f.Extra)
	w.End()
}

func (t *toolChoice) write(w *member.Writer) {
	w.Begin()
	w.Str("type", t.Type)
	t.Function.write(w, "function")
	t.Custom.write(w, "custom")
	if a := t.AllowedTools; a != nil {
		w.Object("allowed_tools")
		w.Str("mode", a.Mode)
		writeList(w, "tools", a.Tools, func(n *named, w *member.Writer) {
			w.Begin()
			w.StrOpt("type", n.Type)
			n.Function.write(w, "function")
			n.Custom.write(w, "custom")
			w.End()
		})
		w.End()
	}
	w.End()
}

func (c *callee) write(w *member.Writer, name string) {
	if c == nil {
		return
	}
	w.Object(name)
	w.Str("name", c.Name)
	w.End()
}

// spelled gives one value as JSON; nil when it cannot be written.
func spelled(v interface{ write(w *member.Writer) }) jsontext.Value {
	w := member.NewWriter(128)
	v.write(w)
	out, _ := w.Finish()
	return out
}

// writeList writes an array of objects, null for none.
func writeList[T any](w *member.Writer, name string, list []T, write func(*T, *member.Writer)) {
	if list == nil {
		w.Null(name)
		return
	}
	w.List(name)
	for i := range list {
		write(&list[i], w)
	}
	w.EndList()
}

// writeListOpt leaves out what is not there.
func writeListOpt[T any](w *member.Writer, name string, list []T, write func(*T, *member.Writer)) {
	if list != nil {
		writeList(w, name, list, write)
	}
}
