package sandbox

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/setting"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/sandbox/media"
)

// report collects the lines of a reply. The first repeats the turn's texts (or the
// tool results, one line each), and each further one only when there is
// something to report:
//
//	You said: "What is my name?"
//	Answer begun: "Your name"
//	image: image/png, 68 bytes, 1x1 pixels, detail low
//	Context: 2 blocks: "<system-reminder>…" | "<environment>…"
//	system: "Be brief."
//	Earlier turns: 2
//	- user (ada): "My name is Ada."
//	- assistant: "Hello Ada."
//	Tools offered: get_weather, grammar (custom), web_search (hosted, not called)
//	Tool choice: none
//	Thinking: effort high, budget_tokens 1024
//	Options: temperature 0.5, max_output_tokens 100, stop_sequences 1 (4 characters)
//	Metadata: trace=7
//	Cache marks: 2
//	Signatures: 1 of the sandbox accepted, 1 foreign
//	Also given: logit_bias, messages[1].parts[0].foo
//	Candidate 2 of 3.
//
// Stop sequences are counted, not repeated, since the report itself would be cut.
type report struct{ lines []string }

func (r *report) addf(format string, args ...any) {
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

func (r *report) String() string { return strings.Join(r.lines, "\n") }

// turn lists what the turn consists of.
func (r *report) turn(c *conversation, opening string) {
	for _, result := range c.results {
		r.result(c.toolName(result), result)
	}
	if prompt := c.prompt(); prompt != "" {
		r.addf("%s: %s", opening, quote(prompt, longestPrompt))
	}
	if len(r.lines) == 0 {
		r.addf("%s nothing in words.", opening)
	}
	if c.prefill != "" {
		r.addf("Answer begun: %s", excerpt(c.prefill))
	}
	for _, m := range c.turn {
		for _, p := range m.GetParts() {
			switch p.GetKind().(type) {
			case *genwayv1.Part_Text, *genwayv1.Part_ToolResult:
			default:
				r.addf("%s", describe(p))
			}
		}
	}
}

func (r *report) result(name string, result *genwayv1.ToolResult) {
	verb := "returned"
	if result.GetIsError() {
		verb = "failed"
	}
	var given []string
	if result.ResultJson != nil {
		given = append(given, quote(result.GetResultJson(), longestResult))
	}
	for _, p := range result.GetParts() {
		if t := p.GetText(); t != nil {
			given = append(given, quote(t.GetText(), longestResult))
			continue
		}
		given = append(given, describe(p))
	}
	if given == nil {
		given = []string{"nothing"}
	}
	r.addf("The tool %s %s: %s", clip(name, 200), verb, strings.Join(given, " | "))
}

// past lists what the conversation has before the turn.
func (r *report) past(c *conversation) {
	if len(c.contexts) > 0 {
		var blocks []string
		for _, b := range c.contexts {
			blocks = append(blocks, excerpt(b))
		}
		r.addf("Context: %s: %s", count(len(blocks), "block"), strings.Join(blocks, " | "))
	}
	for _, m := range c.system {
		r.addf("%s: %s", speaker(m), summary(m))
	}
	if len(c.earlier) == 0 {
		return
	}
	r.addf("Earlier turns: %d", len(c.earlier))
	from := max(0, len(c.earlier)-maxTurns)
	if from > 0 {
		r.addf("- … %s", count(from, "turn"))
	}
	for _, m := range c.earlier[from:] {
		r.addf("- %s: %s", speaker(m), summary(m))
	}
}

// maxTurns is how many earlier turns are listed one by one.
const maxTurns = 20

func speaker(m *genwayv1.Message) string {
	word := enumWord(m.GetRole().String(), "ROLE_")
	if m.GetNativeRole() != "" {
		word = clip(m.GetNativeRole(), 60)
	}
	if m.GetName() != "" {
		word += " (" + clip(m.GetName(), 60) + ")"
	}
	return word
}

func summary(m *genwayv1.Message) string {
	var parts []string
	for _, p := range m.GetParts() {
		parts = append(parts, describe(p))
	}
	if parts == nil {
		return "nothing"
	}
	return strings.Join(parts, " | ")
}

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

// describe shows a part on one line.
func describe(p *genwayv1.Part) string {
	switch k := p.GetKind().(type) {
	case *genwayv1.Part_Text:
		if n := len(k.Text.GetCitations()); n > 0 {
			return excerpt(k.Text.GetText()) + ", " + count(n, "citation")
		}
		return excerpt(k.Text.GetText())
	case *genwayv1.Part_Image:
		return describeMedia("image", k.Image)
	case *genwayv1.Part_Audio:
		return describeMedia("audio", k.Audio)
	case *genwayv1.Part_File:
		return describeMedia("file", k.File)
	case *genwayv1.Part_Video:
		return describeMedia("video", k.Video)
	case *genwayv1.Part_Thinking:
		return describeThinking(k.Thinking)
	case *genwayv1.Part_ToolCall:
		if codec.IsCustom(k.ToolCall) {
			return fmt.Sprintf("called %s with %s", clip(k.ToolCall.GetName(), 200), excerpt(k.ToolCall.GetInput()))
		}
		return fmt.Sprintf("called %s with %s", clip(k.ToolCall.GetName(), 200), excerpt(k.ToolCall.GetArgumentsJson()))
	case *genwayv1.Part_ToolResult:
		var r report
		r.result(k.ToolResult.GetToolCallId(), k.ToolResult)
		return excerpt(r.String())
	case *genwayv1.Part_Refusal:
		return "refusal " + excerpt(k.Refusal.GetText())
	case *genwayv1.Part_Opaque:
		return fmt.Sprintf("%s part of %s, not read", clip(k.Opaque.GetType(), 60), enumWord(k.Opaque.GetProtocol().String(), "PROTOCOL_"))
	default:
		return "an empty part"
	}
}

func describeThinking(t *genwayv1.Thinking) string {
	if t.GetText() == "" && len(t.GetSummary()) == 0 {
		return "sealed thinking"
	}
	return "thinking " + excerpt(strings.Join(append([]string{t.GetText()}, t.GetSummary()...), " "))
}

func describeMedia(kind string, m *genwayv1.Media) string {
	var line strings.Builder
	line.WriteString(kind + ": ")
	switch source := m.GetSource().(type) {
	case *genwayv1.Media_Data:
		line.WriteString(media.Describe(m.GetMimeType(), source.Data).String())
	case *genwayv1.Media_Url:
		fmt.Fprintf(&line, "at %s, not fetched", clip(source.Url, longestExcerpt))
	case *genwayv1.Media_FileId:
		fmt.Fprintf(&line, "file id %s, not looked up", clip(source.FileId, longestExcerpt))
	default:
		line.WriteString("no data")
	}
	for _, x := range []struct{ label, value string }{
		{"named", m.GetFilename()}, {"detail", m.GetDetail()}, {"transcript", m.GetTranscript()},
	} {
		if x.value != "" {
			fmt.Fprintf(&line, ", %s %s", x.label, clip(x.value, longestExcerpt))
		}
	}
	if media.Describe(m.GetMimeType(), m.GetData()).Lines > 0 {
		line.WriteString(", " + excerpt(string(m.GetData()[:min(len(m.GetData()), 4*longestExcerpt)])))
	}
	return line.String()
}

// How much of a text a reply repeats, in characters.
const (
	longestPrompt  = 16 << 10 // of the turn that is answered
	longestResult  = 16 << 10 // of one tool result
	longestExcerpt = 240      // of anything else
)

// quote shows a text, whole where it has at most limit characters.
func quote(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	n := utf8.RuneCountInString(text)
	if n <= limit {
		return `"` + text + `"`
	}
	tail := limit / 4
	return fmt.Sprintf(`"%s…%s" (%d characters)`, head(text, limit-tail), last(text, tail), n)
}

// excerpt is quote for what is not the point of the reply, on one line.
func excerpt(text string) string {
	return quote(strings.Join(strings.Fields(text), " "), longestExcerpt)
}

// clip bounds a name that a message repeats.
func clip(name string, limit int) string {
	name = strings.ToValidUTF8(name, "\uFFFD")
	if utf8.RuneCountInString(name) <= limit {
		return name
	}
	return head(name, limit) + "…"
}

// head is the first n characters of a longer text.
func head(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}

// last is the last n characters of a longer text.
func last(text string, n int) string {
	i := len(text)
	for ; n > 0 && i > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(text[:i])
		i -= size
	}
	return text[i:]
}

// count spells a number of things.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
