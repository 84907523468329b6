package codec

import (
	"encoding/base64"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/proto"
)

// Models write the arguments of a tool call as text, and chat and responses carry the text.
// The input of messages and the args of generateContent are objects: there is no place for
// text that is not one JSON object, and an empty object in its place is another call.

// IsCustom reports whether a call is of a custom tool: it has free-form input, which may be empty. It is false for nil.
func IsCustom(call *genwayv1.ToolCall) bool {
	_, custom := call.GetArguments().(*genwayv1.ToolCall_Input)
	return custom
}

// SetArguments sets the arguments of a call, in the memory of those that it has. Empty ones are absent.
func SetArguments(call *genwayv1.ToolCall, arguments string) {
	before, ok := call.GetArguments().(*genwayv1.ToolCall_ArgumentsJson)
	switch {
	case arguments == "":
		call.Arguments = nil
	case ok:
		before.ArgumentsJson = arguments
	default:
		call.Arguments = &genwayv1.ToolCall_ArgumentsJson{ArgumentsJson: arguments}
	}
}

// AreObject reports whether arguments are one JSON object in which no name occurs twice.
func AreObject(arguments string) bool {
	v := jsontext.Value(arguments)
	return v.Kind() == '{' && v.IsValid(jsontext.AllowInvalidUTF8(true))
}

// AreNone reports whether a call has no arguments, which is an empty object (case T10).
func AreNone(arguments string) bool {
	for i := range len(arguments) {
		switch arguments[i] {
		case ' ', '\t', '\r', '\n':
		default:
			return false
		}
	}
	return true
}

// WithoutArguments reports whether a part is a call of a function that has no arguments: not even an empty
// object. As the last part of a cut answer it is a call whose arguments never came.
func WithoutArguments(p *genwayv1.Part) bool {
	call := p.GetToolCall()
	return call != nil && !IsCustom(call) && AreNone(call.GetArgumentsJson())
}

// IsBroken reports whether the arguments of a call are not one JSON object, so that protocols of objects have no place for
// them. It is false for nil, for custom tools and without arguments.
func IsBroken(call *genwayv1.ToolCall) bool {
	return call != nil && !IsCustom(call) && !AreNone(call.GetArgumentsJson()) && !AreObject(call.GetArgumentsJson())
}

// BrokenOff reports whether arguments are an incomplete JSON object or array. Arguments that are invalid
// JSON for another reason are not broken off.
func BrokenOff(arguments string) bool {
	arguments = strings.TrimLeft(arguments, " \t\r\n")
	if arguments == "" || arguments[0] != '{' && arguments[0] != '[' || balanced(arguments) {
		return false
	}
	d := jsontext.NewDecoder(strings.NewReader(arguments), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	return errors.Is(d.SkipValue(), io.ErrUnexpectedEOF)
}

// balanced reports whether each string, object and array that begins in a JSON text ends in it. It allocates
// nothing: almost all arguments are whole.
func balanced(text string) bool {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case quoted:
		case c == '{', c == '[':
			depth++
		case c == '}', c == ']':
			depth--
		}
	}
	return depth == 0 && !quoted
}

// Cut reports whether a reason says that the answer is not whole, or may not be. The last call of such an
// answer may have arguments that were cut short, without the answer being wrong (case T12). It has no
// arguments if none had come.
func Cut(reason genwayv1.StopReason) bool {
	switch reason { //nolint:exhaustive // all others end a whole answer, or may
	case genwayv1.StopReason_STOP_REASON_MAX_TOKENS, genwayv1.StopReason_STOP_REASON_CONTEXT_WINDOW,
		genwayv1.StopReason_STOP_REASON_CONTENT_FILTER, genwayv1.StopReason_STOP_REASON_REFUSAL, genwayv1.StopReason_STOP_REASON_ERROR,
		genwayv1.StopReason_STOP_REASON_OTHER:
		return true
	}
	return false
}

// CutCall is why the call of a cut answer is left out by a protocol of objects.
const CutCall = "the answer was cut within the arguments of this call"

// BrokenArguments is the failure of an answer with a call whose arguments are not one JSON
// object, for callers whose protocol has no place for them.
func BrokenArguments(tool string) *fault.Error {
	return fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer,
		"the model called the tool %q with arguments that are not one JSON object; this protocol cannot carry such a call; try again", tool)
}

// CheckCalls refuses an answer that claims to be complete and ends within the arguments of a call, with a
// BadUpstream error.
func CheckCalls(resp *genwayv1.GenerateTextResponse) error {
	for _, c := range resp.GetCandidates() {
		for _, p := range c.GetParts() {
			if call := p.GetToolCall(); call != nil && !IsCustom(call) && !Cut(c.GetStopReason()) && BrokenOff(call.GetArgumentsJson()) {
				return brokenOff(call.GetName(), resp.GetUsage())
			}
		}
	}
	return nil
}

func brokenOff(tool string, usage *genwayv1.Usage) error {
	err := fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer, "the upstream's answer ends within the arguments of its call of the tool %q; try again", tool)
	err.Usage = usage
	return err
}

// Calls is CheckCalls for the events of one stream. The zero value is ready for use.
type Calls struct{ candidates map[int32]*openCall }

// openCall is the call of a candidate that is streamed, if one is.
type openCall struct {
	call      *genwayv1.ToolCall
	arguments strings.Builder
	// brokenOff is the tool of a call that has ended within its arguments.
	brokenOff string
}

// Check looks at the next event.
func (c *Calls) Check(ev *genwayv1.StreamGenerateTextResponse) error {
	_, err := c.check(ev)
	return err
}

// Events checks a decoder's events. It returns those to send before the error, without the end of a
// call that broke off.
func (c *Calls) Events(events []*genwayv1.StreamGenerateTextResponse) ([]*genwayv1.StreamGenerateTextResponse, error) {
	sent := len(events)
	for i, ev := range events {
		broken, err := c.check(ev)
		if err != nil {
			return events[:min(sent, i)], err
		}
		if broken {
			sent = min(sent, i)
		}
	}
	return events, nil
}

// check reports whether the event ends a call that is broken off.
func (c *Calls) check(ev *genwayv1.StreamGenerateTextResponse) (broken bool, err error) {
	switch p := ev.GetPayload().(type) {
	case *genwayv1.StreamGenerateTextResponse_PartStarted:
		call := p.PartStarted.GetPart().GetToolCall()
		open := c.candidates[p.PartStarted.GetCandidate()]
		if call == nil && open == nil {
			return false, nil
		}
		if open == nil {
			if c.candidates == nil {
				c.candidates = map[int32]*openCall{}
			}
			open = &openCall{}
			c.candidates[p.PartStarted.GetCandidate()] = open
		}
		open.call = call
		open.arguments.Reset()
		open.arguments.WriteString(call.GetArgumentsJson())
	case *genwayv1.StreamGenerateTextResponse_PartDelta:
		if piece, ok := p.PartDelta.GetDelta().(*genwayv1.PartDelta_ArgumentsJson); ok {
			if open := c.candidates[p.PartDelta.GetCandidate()]; open != nil {
				open.arguments.WriteString(piece.ArgumentsJson)
			}
		}
	case *genwayv1.StreamGenerateTextResponse_PartCompleted:
		if open := c.candidates[p.PartCompleted.GetCandidate()]; open != nil && open.call != nil && BrokenOff(open.arguments.String()) {
			open.brokenOff = open.call.GetName()
			return true, nil
		}
	case *genwayv1.StreamGenerateTextResponse_Completed:
		for _, end := range p.Completed.GetCandidates() {
			if open := c.candidates[end.GetIndex()]; open != nil && open.brokenOff != "" && !Cut(end.GetStopReason()) {
				return false, brokenOff(open.brokenOff, p.Completed.GetUsage())
			}
		}
	}
	return false, nil
}

// TextArguments is an object that holds the text of such arguments, for the history of a
// conversation: a client replays the call that it got, and the model is to see what it
// wrote.
func TextArguments(arguments string) string {
	quoted, err := jsontext.AppendQuote(nil, arguments)
	if err != nil && quoted == nil {
		quoted = []byte(`""`)
	}
	return `{"arguments_text":` + string(quoted) + `}`
}

// WrappedArguments is why such arguments count as a loss.
const WrappedArguments = "arguments that are not one JSON object go as text, in the member arguments_text"

// Custom tools take text in place of arguments. For upstreams of protocols without
// them they are functions with one argument, freeFormArgument, and so are their
// calls; FreeForm turns what such an upstream calls back into a call with text.

const freeFormArgument = "input"

// FreeFormSchema is the schema of the function that stands for a custom tool. The
// format of the text, which no such upstream enforces, is its description.
func FreeFormSchema(c *genwayv1.CustomTool) string {
	description := "The input as plain text."
	if format := InputFormat(c); format != "" {
		description = "The input as plain text, of this format: " + format
	}
	quoted, _ := jsontext.AppendQuote(nil, strings.ToValidUTF8(description, "\uFFFD"))
	return `{"type":"object","properties":{"` + freeFormArgument + `":{"type":"string","description":` + string(quoted) +
		`}},"required":["` + freeFormArgument + `"],"additionalProperties":false}`
}

// InputFormat returns the format that the input of a custom tool must have, as JSON text; empty for plain text, also where
// the tool says so ({"type":"text"}).
func InputFormat(c *genwayv1.CustomTool) string {
	var format map[string]string
	if json.Unmarshal([]byte(c.GetFormatJson()), &format) == nil && len(format) == 1 && format["type"] == "text" {
		return ""
	}
	return c.GetFormatJson()
}

// FreeFormArguments are the arguments that stand for the text.
func FreeFormArguments(input string) string {
	quoted, _ := jsontext.AppendQuote(nil, strings.ToValidUTF8(input, "\uFFFD"))
	return `{"` + freeFormArgument + `":` + string(quoted) + `}`
}

// freeFormInput is the text that arguments stand for. Models also write the text as a
// bare JSON string; what is neither is the text itself.
func freeFormInput(arguments string) string {
	var object map[string]jsontext.Value
	var input string
	value := jsontext.Value(arguments)
	if json.Unmarshal(value, &object) == nil && object != nil {
		value = object[freeFormArgument]
	}
	if value.Kind() != '"' || json.Unmarshal(value, &input) != nil {
		return arguments
	}
	return input
}

// FreeForm restores the calls of custom tools in the answer to one request. Nil
// changes nothing. Not for concurrent use.
type FreeForm struct {
	custom map[string]bool
	// open has the arguments of the calls that are being streamed.
	open map[place]*strings.Builder
}

type place struct{ candidate, part int32 }

// NewFreeForm returns nil where none of the tools is a custom one.
func NewFreeForm(tools []*genwayv1.Tool) *FreeForm {
	var f *FreeForm
	for _, t := range tools {
		if name := t.GetCustom().GetName(); name != "" {
			if f == nil {
				f = &FreeForm{custom: map[string]bool{}, open: map[place]*strings.Builder{}}
			}
			f.custom[name] = true
		}
	}
	return f
}

// Response restores the calls of a unary answer, in place.
func (f *FreeForm) Response(resp *genwayv1.GenerateTextResponse) {
	if f == nil {
		return
	}
	for _, c := range resp.GetCandidates() {
		for _, p := range c.GetParts() {
			if call := p.GetToolCall(); f.stands(call) {
				call.Arguments = &genwayv1.ToolCall_Input{Input: freeFormInput(call.GetArgumentsJson())}
			}
		}
	}
}

// stands reports whether a call with arguments stands for one with text.
func (f *FreeForm) stands(call *genwayv1.ToolCall) bool {
	return call != nil && !IsCustom(call) && f.custom[call.Name]
}

// Events restores the calls of a stream. The text of a call comes in one piece, once
// its arguments are whole.
func (f *FreeForm) Events(events []*genwayv1.StreamGenerateTextResponse) []*genwayv1.StreamGenerateTextResponse {
	if f == nil {
		return events
	}
	out := make([]*genwayv1.StreamGenerateTextResponse, 0, len(events))
	for _, ev := range events {
		if started := ev.GetPartStarted(); started != nil {
			if call := started.GetPart().GetToolCall(); f.stands(call) {
				arguments := &strings.Builder{}
				arguments.WriteString(call.GetArgumentsJson())
				f.open[place{started.Candidate, started.Index}] = arguments
				ev = proto.CloneOf(ev) // its decoder may look at it again
				call = ev.GetPartStarted().Part.GetToolCall()
				call.Arguments = &genwayv1.ToolCall_Input{}
			}
		}
		if delta := ev.GetPartDelta(); delta != nil {
			if piece, ok := delta.Delta.(*genwayv1.PartDelta_ArgumentsJson); ok {
				if arguments := f.open[place{delta.Candidate, delta.Index}]; arguments != nil {
					arguments.WriteString(piece.ArgumentsJson)
					continue
				}
			}
		}
		if done := ev.GetPartCompleted(); done != nil {
			at := place{done.Candidate, done.Index}
			if arguments := f.open[at]; arguments != nil {
				delete(f.open, at)
				out = append(out, Event(&genwayv1.PartDelta{Candidate: at.candidate, Index: at.part,
					Delta: &genwayv1.PartDelta_Input{Input: freeFormInput(arguments.String())}}))
			}
		}
		out = append(out, ev)
	}
	return out
}

const (
	syntheticToolID = "call_gw"
	encodedToolID   = "gwid_"
)

// SyntheticToolID names a tool call whose upstream gave it no identifier, for
// protocols that require one: the same for the same answer and place, streamed
// or not.
func SyntheticToolID(responseID string, candidate, part int32) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%d/%d", responseID, candidate, part)
	return fmt.Sprintf("%s%016x", syntheticToolID, h.Sum64())
}

// IsSyntheticToolID reports whether the identifier is one of ours, which no
// upstream has ever seen.
func IsSyntheticToolID(id string) bool {
	return strings.HasPrefix(id, syntheticToolID) && len(id) == len(syntheticToolID)+16
}

// EncodeToolID spells an identifier in [a-zA-Z0-9_-], the only characters the
// messages protocol takes (case T18). DecodeToolID gives back the original.
func EncodeToolID(id string) string {
	if plainToolID(id) && !strings.HasPrefix(id, encodedToolID) {
		return id
	}
	return encodedToolID + base64.RawURLEncoding.EncodeToString([]byte(id))
}

// DecodeToolID is the inverse of EncodeToolID. What that cannot have made is left as it is: bytes
// that are no UTF-8 could not be sent in a message of the contract.
func DecodeToolID(id string) string {
	rest, ok := strings.CutPrefix(id, encodedToolID)
	if !ok {
		return id
	}
	raw, err := base64.RawURLEncoding.DecodeString(rest)
	if err != nil || !utf8.Valid(raw) {
		return id
	}
	return string(raw)
}

func plainToolID(id string) bool {
	for _, c := range []byte(id) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return id != ""
}

// LegibleName returns the name of a tool with what not every protocol takes replaced by _: letters
// and digits of ASCII, _ and - are left, and it begins with neither a digit nor a dash. It
// is never empty.
func LegibleName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
	if name == "" || name[0] == '-' || name[0] >= '0' && name[0] <= '9' {
		name = "_" + name
	}
	return name
}

// Pair adds identifiers to the tool calls and the results of a conversation, for protocols
// that link them by those. generateContent may leave them out on either side or on both
// (NewPartFromFunctionResponse of its SDK makes none), and links by the tool's name and the
// order then. A result without an identifier answers the first call of its name that waits,
// of the latest turn with calls before any other; a call without one gets that of the
// result which answers it, else one of ours. A result that answers no call stays as it is.
// The messages themselves are not changed. skip, if not nil, says which parts have no
// identifiers for good.
func Pair(list []*genwayv1.Message, skip func(*genwayv1.Message, *genwayv1.Part) bool) []*genwayv1.Message {
	if !slices.ContainsFunc(list, lacksID) {
		return list
	}
	p := pairing{list: list, skip: skip, ids: map[[2]int]string{}, byID: map[string][]int{}, byName: map[calledAs][]turnCalls{}}
	for i, m := range list {
		p.turn(i, m)
	}
	for _, c := range p.calls {
		if !c.answered {
			p.name(c)
		}
	}
	return p.written()
}

// lacksID reports whether a message has a call or a result without an identifier.
func lacksID(m *genwayv1.Message) bool {
	return slices.ContainsFunc(m.GetParts(), func(p *genwayv1.Part) bool {
		return p.GetToolCall() != nil && p.GetToolCall().GetId() == "" || p.GetToolResult() != nil && p.GetToolResult().GetToolCallId() == ""
	})
}

// pairing finds the identifiers of calls and results by their places. Its cost grows with their
// number alone: a list of calls is only ever taken from at one end.
type pairing struct {
	list  []*genwayv1.Message
	skip  func(*genwayv1.Message, *genwayv1.Part) bool
	ids   map[[2]int]string
	calls []pairedCall
	// byID and byName have the indices of the calls that wait, and of some that are answered.
	byID   map[string][]int
	byName map[calledAs][]turnCalls
}

// pairedCall is a call; answered means that a result has been found for it.
type pairedCall struct {
	place    [2]int
	id, name string
	answered bool
}

// calledAs finds calls of a name: all, or with nameless those without an identifier.
type calledAs struct {
	name     string
	nameless bool
}

// turnCalls are calls of one turn, in their order.
type turnCalls struct {
	turn  int
	calls []int
}

func (p *pairing) turn(i int, m *genwayv1.Message) {
	for j, part := range m.GetParts() {
		if p.skip != nil && p.skip(m, part) {
			continue
		}
		if call := part.GetToolCall(); call != nil {
			p.wait(pairedCall{place: [2]int{i, j}, id: call.GetId(), name: call.GetName()})
		}
		if r := part.GetToolResult(); r != nil {
			p.result([2]int{i, j}, r)
		}
	}
}

// wait adds a call that has no result yet.
func (p *pairing) wait(c pairedCall) {
	at := len(p.calls)
	p.calls = append(p.calls, c)
	all := []calledAs{{name: c.name}}
	if c.id == "" {
		all = append(all, calledAs{c.name, true})
	} else {
		p.byID[c.id] = append(p.byID[c.id], at)
	}
	for _, as := range all {
		turns := p.byName[as]
		if last := len(turns) - 1; last >= 0 && turns[last].turn == c.place[0] {
			turns[last].calls = append(turns[last].calls, at)
			continue
		}
		p.byName[as] = append(turns, turnCalls{c.place[0], []int{at}})
	}
}

func (p *pairing) result(place [2]int, r *genwayv1.ToolResult) {
	id := r.GetToolCallId()
	at := -1
	if id != "" {
		p.byID[id], at = p.first(p.byID[id])
	}
	if at < 0 {
		at = p.named(calledAs{r.GetName(), id != ""})
	}
	if at < 0 {
		return
	}
	p.calls[at].answered = true
	c := p.calls[at]
	if c.id == "" {
		c.id = id
	}
	p.ids[place] = p.name(c)
}

// first returns the first of some calls that waits, -1 if none does, and the calls from there on.
func (p *pairing) first(calls []int) (rest []int, at int) {
	for ; len(calls) > 0; calls = calls[1:] {
		if !p.calls[calls[0]].answered {
			return calls, calls[0]
		}
	}
	return nil, -1
}

// named finds a call of that name, of the latest turn first.
func (p *pairing) named(as calledAs) (at int) {
	turns := p.byName[as]
	for at = -1; at < 0 && len(turns) > 0; {
		last := &turns[len(turns)-1]
		if last.calls, at = p.first(last.calls); at < 0 {
			turns = turns[:len(turns)-1]
		}
	}
	p.byName[as] = turns
	return at
}

// name returns the identifier of a call.
func (p *pairing) name(c pairedCall) string {
	if c.id == "" {
		c.id = SyntheticToolID("", int32(c.place[0]), int32(c.place[1]))
	}
	p.ids[c.place] = c.id
	return c.id
}

// written returns the messages with the identifiers that were found.
func (p *pairing) written() []*genwayv1.Message {
	out := slices.Clone(p.list)
	for i, m := range p.list {
		for j, part := range m.GetParts() {
			id, ok := p.ids[[2]int{i, j}]
			if !ok || id == part.GetToolCall().GetId()+part.GetToolResult().GetToolCallId() {
				continue
			}
			if out[i] == m {
				out[i] = &genwayv1.Message{Role: m.Role, Name: m.Name, NativeRole: m.NativeRole, Parts: slices.Clone(m.Parts), NativeFields: m.NativeFields}
			}
			part = proto.CloneOf(part)
			if call := part.GetToolCall(); call != nil {
				call.Id = id
			} else {
				part.GetToolResult().ToolCallId = id
			}
			out[i].Parts[j] = part
		}
	}
	return out
}
