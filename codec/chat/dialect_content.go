package chat

import (
	"strings"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

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
		l.Detail = ""
		e.lose(path + ".image.detail")
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
