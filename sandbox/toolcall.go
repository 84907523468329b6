package sandbox

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
	"github.com/genway/genway/sandbox/schema"
	"github.com/go-json-experiment/json/jsontext"
)

// Which tools an answer calls, the first rule that returns any:
//
//  1. "Call the tool NAME with {JSON}." is exactly that call, each such sentence
//     its own, in order. It counts only after the turn's tool results, if there are any.
//  2. Tools whose names are in the turn's last message (see mentioned), in the order
//     of the message.
//  3. The tool the turn's last text fits best (see fit), unless there are tool results.
//  4. The first tool, where the tool choice demands a call.
//
// Only tools the tool choice allows are called, none where it is none, one where it
// forbids parallel calls, and all that are asked for otherwise. Hosted tools are never
// called. Arguments that the prompt does not give are an instance of the tool's
// schema, with values taken from the prompt where they fit.

// plan returns the calls of a candidate, without identifiers.
func plan(req *genwayv1.GenerateTextRequest, c *conversation, seed uint64) ([]*genwayv1.ToolCall, error) {
	tools, err := callable(req)
	if err != nil || len(tools) == 0 {
		return nil, err
	}
	choice := req.GetToolChoice()
	fresh := c.freshPrompt()
	demanded := choice.GetMode() == genwayv1.ToolChoice_MODE_REQUIRED

	var calls []*genwayv1.ToolCall
	for _, d := range directives(joined(fresh)) {
		if t := meant(tools, d.name); t != nil {
			calls = append(calls, exact(t, d.argument))
		}
	}
	if calls == nil {
		chosen := mentionedTools(tools, joined(ofLastMessage(fresh)))
		if n := len(c.prompts); chosen == nil && n > 0 && (len(c.results) == 0 || demanded) {
			chosen = fitting(tools, c.prompts[n-1].string)
		}
		if chosen == nil && demanded {
			chosen = tools[:1]
		}
		options := schema.Options{Seed: seed}
		if len(chosen) > 0 {
			options.Hints = hints(c.prompt())
		}
		for _, t := range chosen {
			call, err := filled(req, t, options)
			if err != nil {
				return nil, err
			}
			calls = append(calls, call)
		}
	}
	if len(calls) > 1 && choice != nil && choice.Parallel != nil && !choice.GetParallel() {
		calls = calls[:1]
	}
	return calls, nil
}

// freshPrompt is what the turn asks after its tool results.
func (c *conversation) freshPrompt() []text {
	var fresh []text
	for _, t := range c.prompts {
		if t.afterResult || len(c.results) == 0 {
			fresh = append(fresh, t)
		}
	}
	return fresh
}

// ofLastMessage are the texts of the last message.
// Agents put what their user did not write into messages before it.
func ofLastMessage(texts []text) []text {
	for i := len(texts) - 1; i > 0; i-- {
		if texts[i-1].message != texts[i].message {
			return texts[i:]
		}
	}
	return texts
}

// callable are the tools an answer may call.
func callable(req *genwayv1.GenerateTextRequest) ([]*genwayv1.Tool, error) {
	choice := req.GetToolChoice()
	if choice.GetNative() != nil {
		return nil, fault.Unsupported("tool_choice", "the sandbox cannot call the chosen tool")
	}
	if choice.GetMode() == genwayv1.ToolChoice_MODE_NONE {
		return nil, nil
	}
	var own []*genwayv1.Tool
	for _, t := range req.GetTools() {
		if toolName(t) != "" {
			own = append(own, t)
		}
	}
	tools := own
	if names := choice.GetNames(); len(names) > 0 {
		tools = nil
		for i, n := range names {
			t := named(own, n)
			if t == nil {
				return nil, fault.Invalid(fmt.Sprintf("tool_choice.names[%d]", i), "there is no tool %q among the tools", clip(n, 200))
			}
			tools = append(tools, t)
		}
	}
	if choice.GetMode() == genwayv1.ToolChoice_MODE_REQUIRED && len(tools) == 0 {
		return nil, fault.Invalid("tool_choice", "a tool call is demanded, but there is no tool the sandbox could call")
	}
	return tools, nil
}

// toolName is the name a tool is called by; empty for a hosted one.
func toolName(t *genwayv1.Tool) string {
	return t.GetFunction().GetName() + t.GetCustom().GetName()
}

func named(tools []*genwayv1.Tool, name string) *genwayv1.Tool {
	for _, t := range tools {
		if toolName(t) == name {
			return t
		}
	}
	return nil
}

// meant finds a tool by its name, else by the part of it after the name of a namespace
// (exec for functions__exec), if no other's ends so.
func meant(tools []*genwayv1.Tool, name string) *genwayv1.Tool {
	if t := named(tools, name); t != nil {
		return t
	}
	var found *genwayv1.Tool
	for _, t := range tools {
		if strings.HasSuffix(toolName(t), "__"+name) {
			if found != nil {
				return nil
			}
			found = t
		}
	}
	return found
}

func mentionedTools(tools []*genwayv1.Tool, prompt string) []*genwayv1.Tool {
	at := map[*genwayv1.Tool]int{}
	var found []*genwayv1.Tool
	for _, t := range tools {
		if i := mentioned(prompt, toolName(t)); i >= 0 {
			at[t] = i
			found = append(found, t)
		}
	}
	slices.SortStableFunc(found, func(a, b *genwayv1.Tool) int { return cmp.Compare(at[a], at[b]) })
	return found
}

func fitting(tools []*genwayv1.Tool, prompt string) []*genwayv1.Tool {
	var best *genwayv1.Tool
	most := 0
	for _, t := range tools {
		if score := fit(prompt, t); score > most {
			best, most = t, score
		}
	}
	if best == nil {
		return nil
	}
	return []*genwayv1.Tool{best}
}

// exact is the call a directive asks for.
func exact(t *genwayv1.Tool, argument string) *genwayv1.ToolCall {
	if t.GetCustom() == nil {
		return &genwayv1.ToolCall{Name: toolName(t), Arguments: &genwayv1.ToolCall_ArgumentsJson{ArgumentsJson: argument}}
	}
	if text, ok := unquoted(argument); ok {
		argument = text
	}
	return &genwayv1.ToolCall{Name: toolName(t), Arguments: &genwayv1.ToolCall_Input{Input: argument}}
}

// filled is a call whose arguments satisfy the tool's schema. A custom tool gets the
// prompt.
func filled(req *genwayv1.GenerateTextRequest, t *genwayv1.Tool, o schema.Options) (*genwayv1.ToolCall, error) {
	if t.GetCustom() != nil {
		return &genwayv1.ToolCall{Name: toolName(t), Arguments: &genwayv1.ToolCall_Input{Input: o.Hints.Prompt}}, nil
	}
	parameters := t.GetFunction().GetParametersJson()
	if parameters == "" {
		return &genwayv1.ToolCall{Name: toolName(t), Arguments: &genwayv1.ToolCall_ArgumentsJson{ArgumentsJson: "{}"}}, nil
	}
	arguments, err := o.Instance([]byte(parameters))
	if err != nil {
		param := fmt.Sprintf("tools[%d].function.parameters_json", slices.Index(req.GetTools(), t))
		return nil, fault.Invalid(param, "no arguments satisfy the schema: %s", clip(err.Error(), 400))
	}
	if arguments[0] != '{' {
		arguments = []byte("{}")
	}
	return &genwayv1.ToolCall{Name: toolName(t), Arguments: &genwayv1.ToolCall_ArgumentsJson{ArgumentsJson: string(arguments)}}, nil
}

// callID names the n-th call of a candidate: the same for the same answer.
func callID(req *genwayv1.GenerateTextRequest, responseID string, candidate, n int) string {
	prefix := cmp.Or(protocol.Of(req.GetWire().GetProtocol()).IDs.Call, "call_")
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d/%d", responseID, candidate, n))
	return prefix + hex.EncodeToString(sum[:12])
}

// directive is the request for one exact call, in a sentence of the form
//
//	Call the tool NAME with {JSON}.
//
// For a custom tool a JSON string is the input itself ("Call the tool run with
// "ls"."), anything else is the input as it is written.
type directive struct {
	name string
	// argument is the JSON value, byte for byte.
	argument string
	// at is where the sentence begins in the prompt.
	at int
}

var directiveForm = lazily("(?i)\\bcall the tool [`'\"]?([\\pL\\pN_.:/-]+?)[`'\"]? with\\s+([{\"])")

// maxDirectives bounds what one prompt can ask for.
const maxDirectives = 64

// directives finds the sentences of that form whose argument is valid JSON.
func directives(prompt string) []directive {
	var list []directive
	for from := 0; len(list) < maxDirectives; {
		m := directiveForm().FindStringSubmatchIndex(prompt[from:])
		if m == nil {
			break
		}
		begin := from + m[4]
		value, ok := firstValue(prompt[begin:])
		if ok {
			list = append(list, directive{name: prompt[from+m[2] : from+m[3]], argument: value, at: from + m[0]})
			begin += len(value)
		}
		from = max(begin, from+m[1])
	}
	return list
}

// firstValue cuts the JSON value that a text begins with.
func firstValue(text string) (string, bool) {
	dec := jsontext.NewDecoder(bytes.NewReader([]byte(text)), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	value, err := dec.ReadValue()
	if err != nil {
		return "", false
	}
	return strings.TrimSpace(string(value)), true
}

// fit says how well a question fits a tool by the words they share; 0 is not at all.
//
// Of the question count the words that are neither common words (see commonWords)
// nor names of people and places, by their capital. A tool fits when one of them is in
// its name, or when at least half of them are in the first sentence of its
// description: "What's the weather like in San Francisco?" leaves "weather", which
// is both in get_weather and in "Get the current weather". Of two tools with as many of
// them the one that says less besides fits better. Long prompts fit nothing: some of
// their words fit everything; nor do long sentences of a description.
func fit(question string, t *genwayv1.Tool) int {
	const longest, inName, inDescription = 400, 100_000, 1000
	if utf8.RuneCountInString(question) > longest {
		return 0
	}
	words := contentWords(question)
	if len(words) == 0 {
		return 0
	}
	name, description := toolWords(t)
	score, described := 0, 0
	for w := range words {
		if name[w] {
			score += inName
		}
		if description[w] {
			described++
		}
	}
	if 2*described >= len(words) {
		score += inDescription*described - len(description)
	}
	return score
}

func toolWords(t *genwayv1.Tool) (name, description map[string]bool) {
	sentence := firstSentence(t.GetFunction().GetDescription() + t.GetCustom().GetDescription())
	return contentWords(spaced(toolName(t))), contentWords(strings.ToLower(sentence))
}

// maxOfDescription is how many characters of a description are looked at.
const maxOfDescription = 2000

// firstSentence is what a description begins with, up to a full stop or the end of the
// line; blank lines and headings do not count. One longer than an excerpt is none, as
// it has words of everything.
func firstSentence(description string) string {
	for line := range strings.Lines(head(description, maxOfDescription)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if i := strings.IndexByte(line, '.'); i >= 0 {
			line = line[:i]
		}
		if utf8.RuneCountInString(line) > longestExcerpt {
			return ""
		}
		return line
	}
	return ""
}

// spaced writes a name in words: getWeather and get_weather are "get weather".
func spaced(name string) string {
	var b strings.Builder
	lower := false
	for _, r := range name {
		if unicode.IsUpper(r) && lower {
			b.WriteByte(' ')
		}
		lower = unicode.IsLower(r)
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

func contentWords(sentence string) map[string]bool {
	words := map[string]bool{}
	first := true
	for w := range strings.FieldsFuncSeq(sentence, func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' && r != '’' }) {
		w, _, _ = strings.Cut(strings.ReplaceAll(w, "’", "'"), "'")
		initial, _ := utf8.DecodeRuneInString(w)
		named := unicode.IsUpper(initial) && !first
		first = false
		w = stem(strings.ToLower(w))
		if !named && utf8.RuneCountInString(w) > 2 && !commonWords[w] {
			words[w] = true
		}
	}
	return words
}

// stem takes the plural and the like off an English word, as far as two forms of one
// word come out the same more often than not.
func stem(w string) string {
	for _, suffix := range []string{"ing", "es", "s", "ed"} {
		if rest, ok := strings.CutSuffix(w, suffix); ok && len(rest) > 3 {
			return strings.TrimSuffix(rest, "e")
		}
	}
	if len(w) > 4 {
		return strings.TrimSuffix(w, "e")
	}
	return w
}

// commonWords do not show what a question is about. They are stemmed.
var commonWords = wordSet(`
	the and for not but you your yours his her hers its our ours their them they this that these those there here
	what who whom whose which when where why how with from into onto about above below between over under out off
	are was were been being have has had does did doing can could will would shall should may might must let
	like just also only very more most much many some any all each every both few other another such than then too
	please thanks thank hello hey bye yes okay sorry good great well now today still again ever never always
	say tell give get set make want need know think see look show find help ask answer reply respond explain describe
	write read list run use call try put take go come keep start stop do work name new one two first last next
	question thing something anything nothing everything everyone someone anyone way part kind lot bit test
	tool function current given result based using used user return
`)

func wordSet(list string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		set[stem(w)] = true
		set[w] = true
	}
	return set
}

// mentioned returns where a tool's name is in a prompt, or -1. A name that cannot
// be anything else (get_weather, readFile, lookup2) counts wherever it is a
// word of its own; a name that is a plain word counts where the prompt speaks of a
// tool: "the tool read", "read tool", "use read", "`read`".
func mentioned(prompt, name string) int {
	if name == "" {
		return -1
	}
	plain := isPlainWord(name)
	for from := 0; ; {
		i := strings.Index(prompt[from:], name)
		if i < 0 {
			return -1
		}
		i += from
		before, after := prompt[:i], prompt[i+len(name):]
		if separate(before, after) && (!plain || spokenOf(before, after)) {
			return i
		}
		from = i + len(name)
	}
}

func isPlainWord(name string) bool {
	for i, r := range name {
		if !unicode.IsLetter(r) || i > 0 && unicode.IsUpper(r) {
			return false
		}
	}
	return true
}

// separate reports whether a name between two texts is a word of its own. A full stop
// may follow it, but not a dot within a longer name.
func separate(before, after string) bool {
	tail, front := []rune(last(before, 1)), []rune(head(after, 2))
	if len(tail) > 0 && (inName(tail[0]) || tail[0] == '.') {
		return false
	}
	if len(front) == 0 || !inName(front[0]) {
		return len(front) < 2 || front[0] != '.' || !inName(front[1])
	}
	return false
}

func inName(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-'
}

var (
	spokenBefore = lazily("(?i)(?:\\b(?:tools?|functions?|use|using|call|run|invoke)(?: the)?:?\\s+[`'\"]?|`)$")
	spokenAfter  = lazily("(?i)^(?:[`'\"]?\\s+(?:tool|function)\\b|`)")
)

func spokenOf(before, after string) bool {
	return spokenBefore().MatchString(last(before, 40)) || spokenAfter().MatchString(head(after, 40))
}

// lazily compiles a pattern when it is used first: a start needs none.
func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// nameForm is a run of capitalised words within a sentence.
var nameForm = lazily(`[\pL\pN,;:]\s+(\p{Lu}[\pL\pM'’-]+(?:\s+\p{Lu}[\pL\pM'’-]+){0,5})`)

// hints are the values a prompt offers for arguments and structured answers. Where no
// name follows a preposition, any name in the prompt is one, and does for members of
// any kind as quoted words would: "Describe Paris."
func hints(prompt string) schema.Hints {
	h := schema.FromPrompt(prompt)
	if h.Phrases != nil {
		return h
	}
	quoted := h.Quoted != nil
	for _, match := range nameForm().FindAllStringSubmatch(h.Prompt, maxDirectives) {
		name := strings.TrimSuffix(strings.TrimSuffix(match[1], "'s"), "’s")
		h.Phrases = append(h.Phrases, schema.Phrase{Text: name})
		if !quoted {
			h.Quoted = append(h.Quoted, name)
		}
	}
	return h
}
