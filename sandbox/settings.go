package sandbox

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/genway/genway/codec/setting"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// settings reports what the request asks for besides its messages.
func (r *report) settings(req *genwayv1.GenerateTextRequest) {
	r.tools(req)
	thinking, others := &options{}, &options{}
	for _, k := range setting.Texts() {
		line := others
		if strings.HasPrefix(k.Field, "thinking.") {
			line = thinking
		}
		if value, ok := saidOf(req, &k); ok {
			line.addf("%s %s", k.Name(), value)
		}
	}
	if f := req.GetResponseFormat(); f.GetKind() != genwayv1.ResponseFormat_KIND_UNSPECIFIED && f.GetKind() != genwayv1.ResponseFormat_KIND_TEXT {
		others.addf("response_format %s %s", enumWord(f.GetKind().String(), "KIND_"), f.GetName())
	}
	others.word("voice", req.GetAudioOutput().GetVoice(), "")
	others.word("extra_json", req.GetExtraJson(), "")
	thinking.line(r, "Thinking")
	others.line(r, "Options")

	m := &options{}
	for _, key := range slices.Sorted(maps.Keys(req.GetMetadata())) {
		m.addf("%s=%s", clip(key, 64), clip(req.GetMetadata()[key], longestExcerpt))
	}
	m.line(r, "Metadata")
}

// saidOf is what a request says of a setting that is a value or a list of words; false where it says
// nothing, or what is so without it. Tools, formats and the members of vendors have lines of their own.
func saidOf(req *genwayv1.GenerateTextRequest, k *setting.Setting) (string, bool) {
	path := k.Path(req)
	of, field := req.ProtoReflect(), path[len(path)-1]
	for _, group := range path[:len(path)-1] {
		of = of.Get(group).Message()
	}
	if k.May == 0 && !strings.HasPrefix(k.Field, "thinking.") || !of.Has(field) {
		return "", false
	}
	switch value := of.Get(field); {
	case field.IsMap(), field.Message() != nil:
		return "", false
	case field.IsList():
		var words []string
		for i := range value.List().Len() {
			words = append(words, value.List().Get(i).String())
		}
		if k.Field == "stop_sequences" { // they may be blank
			return fmt.Sprintf("%d (%s)", len(words), count(len([]rune(strings.Join(words, ""))), "character")), true
		}
		said := strings.Join(words, "+")
		return clip(said, longestExcerpt), k.Neutral != `["`+said+`"]`
	case field.Enum() != nil:
		name := string(field.Enum().Values().ByNumber(value.Enum()).Name())
		return enumWord(name, "MODE_"), value.Enum() != 0
	default:
		return clip(fmt.Sprint(value.Interface()), longestExcerpt), true
	}
}

func (r *report) tools(req *genwayv1.GenerateTextRequest) {
	o := &options{}
	for _, t := range req.GetTools() {
		switch k := t.GetKind().(type) {
		case *genwayv1.Tool_Function:
			o.addf("%s", clip(k.Function.GetName(), 200))
		case *genwayv1.Tool_Custom:
			o.addf("%s (custom)", clip(k.Custom.GetName(), 200))
		case *genwayv1.Tool_Hosted:
			o.addf("%s (hosted, not called)", clip(k.Hosted.GetType(), 200))
		}
	}
	o.line(r, "Tools offered")
	choice := req.GetToolChoice()
	if choice == nil {
		return
	}
	c := &options{}
	c.word("", enumWord(choice.GetMode().String(), "MODE_"), "unspecified")
	c.word("", choice.GetNativeMode(), "")
	for _, n := range choice.GetNames() {
		c.addf("%s", clip(n, 200))
	}
	if choice.Parallel != nil {
		c.addf("parallel %t", choice.GetParallel())
	}
	c.line(r, "Tool choice")
}

// options is a line of settings in the making.
type options struct{ list []string }

func (o *options) addf(format string, args ...any) {
	o.list = append(o.list, strings.TrimSpace(fmt.Sprintf(format, args...)))
}

// word adds a setting, unless it has the value that says nothing.
func (o *options) word(name, value, nothing string) {
	if value != nothing && value != "" {
		o.addf("%s %s", name, clip(value, longestExcerpt))
	}
}

// enumWord is the plain word of an enum value.
func enumWord(name, prefix string) string {
	return strings.ToLower(strings.TrimPrefix(name, prefix))
}

func (o *options) line(r *report, label string) {
	if len(o.list) > 0 {
		r.addf("%s: %s", label, strings.Join(o.list, ", "))
	}
}
