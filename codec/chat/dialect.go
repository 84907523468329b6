package chat

import (
	"slices"
	"strconv"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// untaken is why a member is left out that the upstream's dialect does not have.
const untaken = "the upstream is not known to take it"

// lose notes a field of the contract that the dialect has no member for.
func (e *encoder) lose(field string) { e.losses.Add(field, untaken) }

// settingMember is a parameter of a request: its member, and its field of the contract.
type settingMember struct {
	member, field string
	// cut takes it out of the request, and reports whether anything is lost by that.
	cut func(*request) bool
}

// otherSettings have a shape of their own. The default of a setting says nothing, so that it
// is left out unnoted.
var otherSettings = []settingMember{
	{"parallel_tool_calls", "tool_choice.parallel", func(r *request) bool { return cutBut(&r.ParallelToolCalls, true) }},
	{"reasoning_effort", "thinking", func(r *request) bool { return cut(&r.ReasoningEffort) }},
	{"audio", "audio_output", func(r *request) bool { return cut(&r.Audio) }},
	{"stream_options", "stream_options", func(r *request) bool {
		had := r.StreamOptions != nil && len(r.StreamOptions.Extra) > 0
		r.StreamOptions = nil
		return had
	}},
	{"tool_choice", "tool_choice", cutToolChoice},
}

func cut[T comparable](value *T) bool {
	var zero T
	had := *value != zero
	*value = zero
	return had
}

// cutBut is cut for a parameter with a default.
func cutBut[T comparable](value **T, byDefault T) bool {
	lost := *value != nil && **value != byDefault
	*value = nil
	return lost
}

// cutToolChoice has no tools offered in place of the word that none be called.
func cutToolChoice(r *request) bool {
	word := string(r.ToolChoice)
	r.ToolChoice = nil
	if word == `"none"` {
		r.Tools = nil
	}
	return word != "" && word != `"auto"` && word != `"none"`
}

// spokenOtherwise are unknown members of a request that OpenAI has and the others mostly
// have not.
var spokenOtherwise = []string{"logit_bias", "prediction", "web_search_options", "prompt_cache_retention"}

// settings has the parameters be those that the dialect takes.
func (e *encoder) settings(r *request) error {
	takes := e.dialect.Takes
	var change []member.Member
	if r.MaxCompletionTokens != nil && !takes("max_completion_tokens") {
		r.MaxTokens, r.MaxCompletionTokens = r.MaxCompletionTokens, nil
	}
	if r.MaxTokens != nil && !takes("max_tokens") {
		r.MaxTokens, r.MaxCompletionTokens = nil, r.MaxTokens
	}
	if r.Seed != nil && !takes("seed") && takes("random_seed") {
		change = append(change, member.Member{Name: "random_seed", Value: strconv.AppendInt(nil, *r.Seed, 10)})
		r.Seed = nil
	}
	if word := e.dialect.Effort(r.ReasoningEffort); word != r.ReasoningEffort {
		e.losses.Add("thinking.effort", "the upstream has no such effort")
		r.ReasoningEffort = word
	}
	if r.ReasoningEffort != "" && !takes("reasoning_effort") && takes("reasoning") {
		effort := append(member.AppendQuote([]byte(`{"effort":`), r.ReasoningEffort), '}')
		change = append(change, member.Member{Name: "reasoning", Value: effort})
		r.ReasoningEffort = ""
	}
	for _, s := range slices.Concat(settingMembers, otherSettings) {
		if !takes(s.member) && s.cut(r) {
			e.lose(s.field)
		}
	}
	for _, name := range spokenOtherwise {
		if !takes(name) && len(r.Extra) > 0 && len(member.Value(r.Extra, name)) > 0 {
			change = append(change, member.Member{Name: name})
			e.lose(name)
		}
	}
	if len(change) == 0 {
		return nil
	}
	if len(r.Extra) == 0 {
		r.Extra = jsontext.Value("{}")
	}
	var err error
	if r.Extra, err = member.Patch(r.Extra, change...); err == nil && len(r.Extra) == len("{}") {
		r.Extra = nil
	}
	return err
}

// format returns a response format in the form that the dialect has, or as close to it as it
// comes.
func (e *encoder) format(f *responseFormat) *responseFormat {
	switch {
	case e.dialect.Takes("response_format.json_schema"):
		return f
	case e.dialect.Takes("response_format.value"):
		schema := jsontext.Value(`{"type":"object"}`)
		if f.JSONSchema != nil {
			schema = f.JSONSchema.Schema
		}
		if f.Type == "text" {
			return nil
		}
		return &responseFormat{Type: "json", Extra: jsontext.Value(`{"value":` + string(schema) + `}`)}
	case f.Type == "json_schema":
		e.lose("response_format.schema_json")
		return &responseFormat{Type: "json_object"}
	}
	return f
}

// name is the participant of a message.
func (e *encoder) name(m *genwayv1.Message, path string) string {
	if m.Name != "" && !e.dialect.Takes("messages.name") {
		e.lose(path + ".name")
		return ""
	}
	return m.Name
}

// placed refuses content that the dialect does not have, for it bears on the answer, and
// takes what says no more than how to read it out of others.
func (e *encoder) placed(p *part, path string) error {
	if p.Type == "text" || p.verbatim.raw != nil || e.dialect == nil {
		return nil
	}
	if p.Type == "refusal" && !e.dialect.Takes("messages.content.refusal") {
		if !e.dialect.Takes("messages.refusal") {
			e.lose(path + ".refusal")
		}
		p.Type, p.Text, p.Refusal = "text", p.Refusal, nil
		return nil
	}
	if !e.dialect.Takes("messages.content." + p.Type) {
		return fault.Unsupported(path, "%s: the upstream this model is routed to is not known to take content of type %q", path, p.Type)
	}
	if l := p.ImageURL; l != nil && l.Detail != "" && !e.dialect.Takes("messages.content.image_url.detail") {
		if l.Detail = ""; codec.Detail(l.media) != "" {
			e.lose(path + ".image.detail")
		}
	}
	return nil
}

// contentOf is contentOf for the dialect: texts are one string where an array is not known to be
// taken.
func (e *encoder) contentOf(parts []part, between string) content {
	if len(parts) == 0 || e.dialect.Takes("messages.content.array") {
		return contentOf(parts)
	}
	texts := make([]string, 0, len(parts))
	for i := range parts {
		if !parts[i].plainText() {
			return contentOf(parts)
		}
		texts = append(texts, *parts[i].Text)
	}
	return content{is: isText, s: strings.Join(texts, between)}
}

// breakpoint is cacheControl for the dialect.
func (e *encoder) breakpoint(c *genwayv1.CacheControl, path string) (control, breakpoint *cacheControl, err error) {
	control, breakpoint, err = e.cacheControl(c, path)
	if !e.dialect.Takes("messages.content."+cacheControlName) && cut(&control) || !e.dialect.Takes("messages.content."+cacheBreakpointName) && cut(&breakpoint) {
		e.lose(path + ".cache_control")
	}
	return control, breakpoint, err
}

// extraContent is encodeExtraContent for the dialect: nothing, noted under the field, where
// it has no such member.
func (e *encoder) extraContent(p *genwayv1.Part, path string) jsontext.Value {
	written := encodeExtraContent(e.seal(p.ThoughtSignature), p.NativeFields)
	if len(written) > 0 && !e.dialect.Takes("messages.extra_content") {
		e.lose(path + ".thought_signature")
		return nil
	}
	return written
}
