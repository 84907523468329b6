package sandbox

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
	"github.com/go-json-experiment/json"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// conversation is a request's messages, sorted by what they are to the answer.
type conversation struct {
	// system are the texts of system and developer messages.
	system []*genwayv1.Message
	// earlier is the conversation up to and including the last answer.
	earlier []*genwayv1.Message
	// turn is what is to be answered: all that follows earlier.
	turn []*genwayv1.Message
	// resumed says that the last message is the assistant's, so that the answer goes
	// on from it.
	resumed bool
	// prefill is the text of that message.
	prefill string
	// prompts are the turn's texts, context blocks left aside.
	prompts []text
	// contexts are those blocks: texts inside a tag or between fences, as agents
	// add them (see isContext and fence).
	contexts []string
	// results are the turn's tool results.
	results []*genwayv1.ToolResult
	// calls are the tool calls of earlier turns by identifier.
	calls map[string]*genwayv1.ToolCall
}

// text is one text of the turn.
type text struct {
	string
	// message is the place of its message in the turn.
	message int
	// afterResult reports that a tool result precedes it in the turn.
	afterResult bool
}

// joined are texts as one.
func joined(texts []text) string {
	var lines []string
	for _, t := range texts {
		lines = append(lines, t.string)
	}
	return strings.Join(lines, "\n")
}

func read(messages []*genwayv1.Message) *conversation {
	c := &conversation{calls: map[string]*genwayv1.ToolCall{}}
	var turns []*genwayv1.Message
	for _, m := range messages {
		switch m.GetRole() {
		case genwayv1.Role_ROLE_SYSTEM, genwayv1.Role_ROLE_DEVELOPER:
			c.system = append(c.system, m)
		default:
			turns = append(turns, m)
		}
	}
	if n := len(turns); n > 0 && turns[n-1].GetRole() == genwayv1.Role_ROLE_ASSISTANT {
		c.resumed = true
		if begun := textOf(turns[n-1].GetParts()); begun != "" {
			c.prefill, turns = begun, turns[:n-1]
		}
	}
	from := len(turns)
	for from > 0 && turns[from-1].GetRole() != genwayv1.Role_ROLE_ASSISTANT {
		from--
	}
	c.earlier, c.turn = turns[:from], turns[from:]
	for _, m := range c.earlier {
		for _, p := range m.GetParts() {
			if call := p.GetToolCall(); call != nil {
				c.calls[call.GetId()] = call
			}
		}
	}
	for i, m := range c.turn {
		c.readTurn(i, m)
	}
	if n := len(c.contexts); n > 0 && len(c.prompts) == 0 && len(c.results) == 0 && !isFence(c.contexts[n-1]) {
		c.prompts, c.contexts = []text{{string: c.contexts[n-1]}}, c.contexts[:n-1]
	}
	return c
}

func (c *conversation) readTurn(i int, m *genwayv1.Message) {
	first, last := fenced(m.GetParts())
	for at, p := range m.GetParts() {
		if r := p.GetToolResult(); r != nil {
			c.results = append(c.results, r)
		}
		t := p.GetText().GetText()
		switch {
		case strings.TrimSpace(t) == "":
		case isContext(t) || first <= at && at <= last:
			c.contexts = append(c.contexts, t)
		default:
			c.prompts = append(c.prompts, text{t, i, len(c.results) > 0})
		}
	}
}

// prompt is all the turn asks in words.
func (c *conversation) prompt() string { return joined(c.prompts) }

// toolName names the tool a result belongs to.
func (c *conversation) toolName(r *genwayv1.ToolResult) string {
	if r.GetName() != "" {
		return r.GetName()
	}
	if call, ok := c.calls[r.GetToolCallId()]; ok {
		return call.GetName()
	}
	return r.GetToolCallId()
}

// isContext reports whether a text is one element by the looks of its first and last
// tag (<environment>…</environment>), or begins with a tag no markup has
// (<system-reminder>, <user_info>).
func isContext(t string) bool {
	t = strings.TrimSpace(t)
	rest, ok := strings.CutPrefix(t, "<")
	end := strings.IndexAny(rest, " >\n")
	if !ok || end <= 0 || rest[0] == '/' || rest[0] == '!' || rest[0] == '?' {
		return false
	}
	name := rest[:end]
	return strings.ContainsAny(name, "-_") || strings.HasSuffix(rest, "</"+name+">")
}

// fenced returns the places of the first and the last fence among parts, between which
// agents put what a prompt refers to; none is in reverse order.
func fenced(parts []*genwayv1.Part) (first, last int) {
	first, last = len(parts), -1
	for i, p := range parts {
		if isFence(p.GetText().GetText()) {
			first, last = min(first, i), i
		}
	}
	return first, last
}

// isFence reports whether a text is one line of the form
//
//	--- End of content ---
func isFence(t string) bool {
	t = strings.TrimSpace(t)
	const mark = "---"
	return len(t) > 2*len(mark) && strings.HasPrefix(t, mark) && strings.HasSuffix(t, mark) &&
		!strings.Contains(t, "\n") && strings.Trim(t, "- ") != ""
}

// textOf joins the texts and refusals among parts.
func textOf(parts []*genwayv1.Part) string {
	var texts []string
	for _, p := range parts {
		if t := p.GetText().GetText() + p.GetRefusal().GetText(); t != "" {
			texts = append(texts, t)
		}
	}
	return strings.Join(texts, "\n")
}

// memory keeps the last conversations of each key of the responses protocol, in which a client
// may go on from an earlier answer by only its identifier. It lasts as long as the
// process. The zero memory is ready for use.
type memory struct {
	mu            sync.Mutex
	conversations map[answered][]*genwayv1.Message
	// ids are the keys of conversations, oldest first.
	ids []answered
}

// answered is an answer, by its identifier, and the caller's key that it was given to.
type answered struct{ key, id string }

const (
	maxRemembered     = 128
	largestRemembered = 256 << 10 // bytes of one conversation
	previousResponse  = "previous_response_id"
)

// keep remembers an answered conversation, if the caller's protocol has a use for it
// and the caller did not decline (store: false).
func (m *memory) keep(key string, req *genwayv1.GenerateTextRequest, resp *genwayv1.GenerateTextResponse) {
	if !protocol.Of(req.GetWire().GetProtocol()).Upstream.StoresItems || req.Store != nil && !req.GetStore() {
		return
	}
	size := proto.Size(resp)
	var turns []*genwayv1.Message
	for _, message := range req.GetMessages() {
		// The protocol's instructions hold for one answer.
		if message.GetRole() == genwayv1.Role_ROLE_SYSTEM {
			continue
		}
		if size += proto.Size(message); size > largestRemembered {
			return
		}
		turns = append(turns, proto.CloneOf(message))
	}
	for _, c := range resp.GetCandidates() {
		answer := &genwayv1.Message{Role: genwayv1.Role_ROLE_ASSISTANT}
		for _, p := range c.GetParts() {
			answer.Parts = append(answer.Parts, proto.CloneOf(p))
		}
		turns = append(turns, answer)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.conversations == nil {
		m.conversations = map[answered][]*genwayv1.Message{}
	}
	if len(m.ids) == maxRemembered {
		delete(m.conversations, m.ids[0])
		m.ids = append(m.ids[:0], m.ids[1:]...)
	}
	m.conversations[answered{key, resp.GetId()}] = turns
	m.ids = append(m.ids, answered{key, resp.GetId()})
}

// recall returns the request with the conversation it goes on from, or as it is where
// it refers to none. An answer that may have been forgotten, by the form of its
// identifier, is no error, since nothing here is kept for long: the reply and the losses
// then say so (see forgotten), and so they do of an answer to another key. An identifier no
// answer ever had, or that Genway stores no response of, is refused in the protocol's own words.
func (m *memory) recall(key string, req *genwayv1.GenerateTextRequest) (*genwayv1.GenerateTextRequest, error) {
	for _, n := range req.GetNativeFields() {
		if n.GetName() == "thread" && n.GetProtocol() == genwayv1.Protocol_PROTOCOL_MESSAGES {
			if err := refuseThread(n.GetJson()); err != nil {
				return nil, err
			}
		}
	}
	id := previous(req)
	turns, ok := m.find(answered{key, id})
	switch {
	case id == "":
		return req, nil
	case !ok && (!answerID().MatchString(id) || storedID().MatchString(id)):
		err := fault.Invalid(previousResponse, "Previous response with id '%s' not found.", clip(id, 100))
		err.NativeCode = "previous_response_not_found"
		return nil, err
	case !ok:
		return req, nil
	}
	full := shallow(req, &genwayv1.GenerateTextRequest{})
	full.Messages = append(append([]*genwayv1.Message{}, turns...), req.GetMessages()...)
	return full, nil
}

func (m *memory) find(id answered) ([]*genwayv1.Message, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	turns, ok := m.conversations[id]
	return turns, ok
}

// answerID is the form of the identifiers of answers, the vendor's included.
var answerID = lazily(`^resp_[0-9A-Za-z]{16,}$`)

// storedID is the form of the identifiers of responses that Genway stores: where it has one of them, it sends the conversation
// itself.
var storedID = lazily(`^resp_gw[0-9a-f]{32}$`)

// previous is the identifier of the answer a request goes on from; empty for none.
func previous(req *genwayv1.GenerateTextRequest) string {
	for _, n := range req.GetNativeFields() {
		var id string
		if n.GetName() == previousResponse && json.Unmarshal(n.GetJson(), &id) == nil {
			return id
		}
	}
	return ""
}

// forgotten reports whether the request goes on from what is not remembered.
func forgotten(asked, recalled *genwayv1.GenerateTextRequest) bool {
	return asked == recalled && previous(asked) != ""
}

// refuseThread refuses to go on with a thread, which the messages protocol's own
// client answers by sending the whole conversation again.
func refuseThread(raw []byte) error {
	var thread struct {
		Type string `json:"type"`
	}
	err := json.Unmarshal(raw, &thread)
	if err == nil && thread.Type != "continue" {
		return nil
	}
	const message = "Thread not found."
	refusal := fault.Wrap(err, fault.NotFound, "THREAD_NOT_FOUND", message)
	refusal.Param = "thread"
	refusal.Wire = &genwayv1.WireMessage{
		Protocol: genwayv1.Protocol_PROTOCOL_MESSAGES,
		Json: []byte(`{"type":"error","error":{"type":"not_found_error","message":"` + message +
			`","details":{"error_code":"thread_not_found"}}}`),
	}
	return refusal
}

// findings are what the sandbox carries without acting on it: members that only a
// vendor's protocol has, and cache marks.
type findings struct {
	// natives are the members by path, as in messages[0].parts[1].foo.
	natives []string
	marks   int
}

// maxNatives is how many members a reply names.
const maxNatives = 40

func find(req *genwayv1.GenerateTextRequest) *findings {
	f := &findings{}
	f.fields("", req.GetNativeFields())
	f.mark(req.GetCacheControl())
	for i, m := range req.GetMessages() {
		where := fmt.Sprintf("messages[%d].", i)
		f.fields(where, m.GetNativeFields())
		f.parts(where, m.GetParts())
	}
	for i, t := range req.GetTools() {
		f.fields(fmt.Sprintf("tools[%d].", i), t.GetNativeFields())
		f.mark(t.GetCacheControl())
	}
	f.fields("thinking.", req.GetThinking().GetNativeFields())
	f.fields("audio_output.", req.GetAudioOutput().GetNativeFields())
	return f
}

func (f *findings) parts(where string, parts []*genwayv1.Part) {
	for i, p := range parts {
		here := fmt.Sprintf("%sparts[%d].", where, i)
		f.fields(here, p.GetNativeFields())
		f.mark(p.GetCacheControl())
		f.parts(here+"tool_result.", p.GetToolResult().GetParts())
	}
}

func (f *findings) fields(where string, fields []*genwayv1.NativeField) {
	for _, n := range fields {
		if member.IsMark(n) {
			continue // the canonical fields have it
		}
		f.natives = append(f.natives, where+clip(n.GetName(), 60))
	}
}

func (f *findings) mark(c *genwayv1.CacheControl) {
	if c != nil {
		f.marks++
	}
}

func (f *findings) report(r *report, s seals) {
	if f.marks > 0 {
		r.addf("Cache marks: %d", f.marks)
	}
	var o options
	if s.own > 0 {
		o.addf("%d of the sandbox accepted", s.own)
	}
	if s.foreign > 0 {
		o.addf("%d foreign", s.foreign)
	}
	o.line(r, "Signatures")
	if n := len(f.natives); n > 0 {
		list := strings.Join(f.natives[:min(n, maxNatives)], ", ")
		if n > maxNatives {
			list += fmt.Sprintf(", … (%d)", n)
		}
		r.addf("Also given: %s", list)
	}
}

// losses names settings that bear on the answer but need a service that the sandbox lacks.
func losses(req *genwayv1.GenerateTextRequest, forgot bool) []*genwayv1.Loss {
	var list []*genwayv1.Loss
	if forgot {
		list = append(list, &genwayv1.Loss{Member: previousResponse, Reason: "the sandbox does not remember that response"})
	}
	for _, n := range req.GetNativeFields() {
		if n.GetBinding() && n.GetName() != previousResponse {
			list = append(list, &genwayv1.Loss{Member: n.GetName(), Reason: "the sandbox has nothing that could act on it"})
		}
	}
	for i, t := range req.GetTools() {
		if t.GetHosted() != nil {
			list = append(list, &genwayv1.Loss{Member: fmt.Sprintf("tools[%d]", i), Reason: "the sandbox runs no hosted tools"})
		}
	}
	return list
}

// withoutLifted returns the request without parts that repeat what other fields have as
// well (an item that brought tools, which are among the tools).
func withoutLifted(req *genwayv1.GenerateTextRequest) *genwayv1.GenerateTextRequest {
	if !slices.ContainsFunc(req.GetMessages(), func(m *genwayv1.Message) bool { return slices.ContainsFunc(m.GetParts(), member.Lifted) }) {
		return req
	}
	out := shallow(req, &genwayv1.GenerateTextRequest{})
	out.Messages = nil
	for _, m := range req.GetMessages() {
		if member.AllLifted(m) {
			continue
		}
		if slices.ContainsFunc(m.GetParts(), member.Lifted) {
			m = shallow(m, &genwayv1.Message{})
			m.Parts = slices.DeleteFunc(slices.Clone(m.Parts), member.Lifted)
		}
		out.Messages = append(out.Messages, m)
	}
	return out
}

// shallow returns the empty message the fields of m.
func shallow[T protoreflect.ProtoMessage](m, empty T) T {
	m.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		empty.ProtoReflect().Set(f, v)
		return true
	})
	return empty
}
