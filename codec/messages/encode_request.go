package messages

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// EncodeRequest writes a body of /v1/messages. Errors and losses name members of
// the canonical message.
func (Codec) EncodeRequest(req *codec.Request, losses *codec.Losses) ([]byte, error) {
	if err := reserves(req.GenerateTextRequest); err != nil {
		return nil, err
	}
	r, err := fit.Request(req.GenerateTextRequest, protocol, losses)
	if err != nil {
		return nil, err
	}
	w := requestWriter(member.SizeOfRequest(r))
	limit := r.GetMaxOutputTokens()
	if r.MaxOutputTokens == nil {
		limit = MaxTokens(r.GetModel())
	}
	w.Begin()
	w.Str("model", r.GetModel())
	w.Int("max_tokens", limit)
	w.conversation(r, losses)
	if req.Stream {
		w.Bool("stream", true)
	}
	var s settings
	s.encode(r, losses)
	s.writeMembers(w.Writer)
	if err := omitSettings(r, losses); err != nil {
		return nil, err
	}
	w.tools(r, losses)
	w.thinking(r.GetThinking(), limit, losses)
	w.outputConfig(r, losses)
	w.delivery(r, losses)
	w.natives(r.GetNativeFields(), "", losses, "metadata", "output_config")
	w.End()
	return patched(w, r.GetExtraJson())
}

// delivery writes what is about the call rather than the answer.
func (w *writer) delivery(r *genwayv1.GenerateTextRequest, losses *codec.Losses) {
	if r.GetUser() != "" || native(r.GetNativeFields(), "metadata") != nil {
		w.Object("metadata")
		w.StrOpt("user_id", r.GetUser())
		w.merge(r.GetNativeFields(), "metadata", "")
		w.End()
	}
	w.cacheControl(r.GetCacheControl(), "", losses)
}

// reserved are the members of a body that fields of the contract are written to.
var reserved = member.ReservedBy[wireRequest]()

// reserves refuses native fields that say what the contract has a field for. The type and
// the display of thinking are words that the contract may not know.
func reserves(r *genwayv1.GenerateTextRequest) error {
	if err := reserved.Fields(protocol, r.GetNativeFields(), "", "thread"); err != nil {
		return err
	}
	return reserved.In("thinking").Fields(protocol, r.GetThinking().GetNativeFields(), "thinking", "type", "display")
}

// patched merges the members of an extra_json object into the top level of body.
func patched(w *writer, extra string) ([]byte, error) {
	body, err := w.Finish()
	if err != nil {
		return nil, err
	}
	return member.Merge(body, extra, "extra_json", reserved)
}

// turn is one message of the body: a canonical one, or several of them where this
// protocol wants one.
type turn struct {
	role  string
	parts []placedPart
	// behind is set for a turn that several messages have joined: its parts are the results of
	// tools, and behind are the others, which stand behind them.
	behind []placedPart
	joined bool
	// source is the message of a turn that is that message alone.
	source *genwayv1.Message
	path   string
}

// placedPart is a part, its path in the canonical message, and the identifier of
// its tool call.
type placedPart struct {
	*genwayv1.Part
	path   string
	callID string
}

// conversation writes system and messages. System text goes to the system member, wherever it is in
// the conversation (case F13), except for turns of this protocol's own system role, which only its
// newest models take.
func (w *writer) conversation(r *genwayv1.GenerateTextRequest, losses *codec.Losses) {
	var system []placedPart
	var turns []turn
	for i, m := range codec.Pair(r.GetMessages(), nil) {
		if member.AllLifted(m) {
			continue
		}
		path := member.Index("messages", i)
		if m.GetName() != "" {
			losses.Add(path+".name", "participants have no names in the messages protocol")
		}
		parts := placed(m, path)
		switch m.GetRole() {
		case genwayv1.Role_ROLE_SYSTEM, genwayv1.Role_ROLE_DEVELOPER:
			if m.GetNativeRole() == "system" {
				turns = append(turns, turn{role: "system", parts: parts, source: m, path: path})
				continue
			}
			if len(turns) > 0 {
				losses.Add(path+".role", "system text stands ahead of all turns in the messages protocol")
			}
			system = append(system, parts...)
			w.unplaced(m, path, losses)
		case genwayv1.Role_ROLE_ASSISTANT:
			turns = append(turns, turn{role: "assistant", parts: parts, source: m, path: path})
		case genwayv1.Role_ROLE_TOOL:
			turns = w.joinResults(turns, parts, path, true, losses)
			w.unplaced(m, path, losses)
		case genwayv1.Role_ROLE_USER:
			turns = w.joinResults(turns, parts, path, false, losses)
			if last := &turns[len(turns)-1]; last.path == path {
				last.source = m
			} else {
				w.unplaced(m, path, losses)
			}
		default:
			w.Fail(fault.Unsupported(path+".role", "%s.role is not known to the messages protocol", path))
		}
	}
	w.system(system, losses)
	w.List("messages")
	hasMessages := false
	for _, t := range turns {
		hasMessages = w.turn(t, losses) || hasMessages
	}
	w.EndList()
	if !hasMessages {
		w.Fail(fault.Unsupported("messages", "messages: the messages protocol demands one that is not system text"))
	}
}

// joinResults adds a turn of the user. Results of tools follow the calls in one
// turn, ahead of all else (case T17), so that a turn of results takes in the turns
// of the user around it.
func (w *writer) joinResults(turns []turn, parts []placedPart, path string, results bool, losses *codec.Losses) []turn {
	last := len(turns) - 1
	if last < 0 || turns[last].role != "user" || turns[last].source != nil && !results {
		t := turn{role: "user", parts: parts, path: path}
		return append(turns, t)
	}
	to := &turns[last]
	if !to.joined {
		first := to.parts
		w.unplaced(to.source, to.path, losses)
		to.parts, to.source, to.joined = nil, nil, true
		to.join(first)
	}
	to.join(parts)
	return turns
}

// unplaced names the members of a message that becomes no turn of its own: the members of this
// protocol have no place there either.
func (w *writer) unplaced(m *genwayv1.Message, path string, losses *codec.Losses) {
	for _, f := range m.GetNativeFields() {
		at := member.Join(path, f.Name)
		switch {
		case member.IsMark(f):
		case f.Protocol != protocol && f.Binding:
			w.Fail(fault.Unsupported(at, "%s cannot be carried to the messages protocol", at))
		default:
			losses.Add(at, "the message becomes a part of another")
		}
	}
}

// join adds parts to a turn that several messages join.
func (t *turn) join(parts []placedPart) {
	for _, p := range parts {
		if p.GetToolResult() != nil {
			t.parts = append(t.parts, p)
		} else {
			t.behind = append(t.behind, p)
		}
	}
}

// system writes the system member: a string for one plain text.
func (w *writer) system(parts []placedPart, losses *codec.Losses) {
	parts = sendable(parts, losses)
	if len(parts) == 0 {
		return
	}
	w.Key("system")
	w.content(parts, losses)
}

// turn writes a turn, and reports whether there was anything to write.
func (w *writer) turn(t turn, losses *codec.Losses) bool {
	parts := sendable(append(t.parts, t.behind...), losses)
	if len(parts) == 0 && (t.source == nil || len(t.source.NativeFields) == 0) {
		return false // an empty turn is refused (case F12) and says nothing
	}
	w.Begin()
	w.Str("role", t.role)
	switch {
	case len(parts) > 0:
		w.Key("content")
		w.content(parts, losses)
	case member.Native(protocol, t.source.GetNativeFields(), "content") == nil:
		w.Str("content", "") // a turn is one only with content, be it empty
	}
	if t.source != nil {
		w.natives(t.source.NativeFields, t.path, losses)
	}
	w.End()
	return true
}

// content writes the string form of one plain text, else an array of blocks.
func (w *writer) content(parts []placedPart, losses *codec.Losses) {
	if len(parts) == 1 && plainText(parts[0].Part) {
		w.String(parts[0].GetText().GetText())
		return
	}
	w.BeginList()
	for _, p := range parts {
		w.block(p, losses)
	}
	w.EndList()
}

func plainText(p *genwayv1.Part) bool {
	return p.GetText() != nil && len(p.GetText().Citations) == 0 && p.CacheControl == nil && len(p.NativeFields) == 0
}

// sendable leaves out of a turn what the upstream would refuse or cannot use:
// empty texts (case F12), and thinking that it did not sign itself (case R7). What is kept
// takes the places of parts.
func sendable(parts []placedPart, losses *codec.Losses) []placedPart {
	kept := parts[:0]
	for _, p := range parts {
		if p.ThoughtSignature != nil {
			losses.Add(p.path+".thought_signature", "the signature was made by another vendor")
		}
		switch {
		case member.Lifted(p.Part):
			continue
		case p.GetText() != nil && p.GetText().GetText() == "":
			continue
		case p.GetRefusal() != nil && p.GetRefusal().GetText() == "":
			continue
		case p.GetThinking() != nil && !verified(p.GetThinking()):
			if t := p.GetThinking(); t.Text != "" || len(t.Summary) > 0 || t.Signature != nil || t.EncryptedContent != nil {
				losses.Add(p.path+".thinking", "the upstream takes only thinking that it signed itself")
			}
			continue
		}
		kept = append(kept, p)
	}
	return kept
}

func verified(t *genwayv1.Thinking) bool {
	return t.GetSignature().GetProtocol() == protocol || t.GetEncryptedContent().GetProtocol() == protocol
}

// block writes a part of a request as a block.
func (w *writer) block(p placedPart, losses *codec.Losses) {
	path := p.path
	if o := p.GetOpaque(); o != nil {
		w.opaque(o, path)
		return
	}
	w.Begin()
	switch k := p.GetKind().(type) {
	case *genwayv1.Part_Text:
		w.Str("type", "text")
		w.Str("text", k.Text.GetText())
		if cited := verifiable(k.Text.GetCitations(), path+".text", losses); len(cited) > 0 {
			w.citations(cited, path+".text", losses)
		}
	case *genwayv1.Part_Refusal:
		w.Str("type", "text")
		w.Str("text", k.Refusal.GetText())
	case *genwayv1.Part_Image, *genwayv1.Part_File:
		w.media(p.Part, path, losses)
	case *genwayv1.Part_Thinking:
		w.thinkingBlock(k.Thinking)
	case *genwayv1.Part_ToolCall:
		w.Str("type", "tool_use")
		w.Str("id", codec.EncodeToolID(p.callID))
		w.Str("name", k.ToolCall.GetName())
		if !w.input(k.ToolCall) {
			w.ValueText(codec.TextArguments(k.ToolCall.GetArgumentsJson()))
			losses.Add(path+".tool_call.arguments_json", codec.WrappedArguments)
		}
	case *genwayv1.Part_ToolResult:
		w.toolResult(k.ToolResult, p.callID, path+".tool_result", losses)
	default:
		w.Fail(fault.Unsupported(path, "%s: the messages protocol takes text, images, documents and tools only", path))
	}
	w.cacheControl(p.CacheControl, path, losses)
	w.natives(p.NativeFields, path, losses, "source")
	w.End()
}

func (w *writer) opaque(o *genwayv1.OpaquePart, path string) {
	if o.GetProtocol() != protocol {
		w.Fail(fault.Unsupported(path+".opaque", "%s is content of another vendor (%s)", path, o.GetType()))
		return
	}
	w.value(o.Json, path+".opaque")
}

// thinkingBlock writes the members of a block that is signed or encrypted by an
// upstream of this protocol.
func (w *writer) thinkingBlock(t *genwayv1.Thinking) {
	if t.GetSignature() == nil {
		w.Str("type", "redacted_thinking")
		w.Str("data", string(t.EncryptedContent.Value))
		return
	}
	w.Str("type", "thinking")
	w.Str("thinking", t.Text)
	w.Str("signature", string(t.Signature.Value))
}

// input writes the input of a call; its name alone, and false, when the arguments are not
// one object.
func (w *writer) input(call *genwayv1.ToolCall) bool {
	w.Key("input")
	switch arguments := call.GetArgumentsJson(); {
	case codec.IsCustom(call):
		w.ValueText(codec.FreeFormArguments(call.GetInput()))
	case codec.AreNone(arguments):
		w.ValueText("{}")
	case !codec.AreObject(arguments):
		return false
	default:
		w.ValueText(arguments)
	}
	return true
}

func (w *writer) toolResult(r *genwayv1.ToolResult, id, path string, losses *codec.Losses) {
	if id == "" {
		w.Fail(fault.Missing(path + ".tool_call_id"))
	}
	w.Str("type", "tool_result")
	w.Str("tool_use_id", codec.EncodeToolID(id))
	var parts []placedPart
	if r.ResultJson != nil {
		parts = append(parts, placedPart{Part: textPart(*r.ResultJson), path: path + ".result_json"})
	}
	for i, p := range r.GetParts() {
		at := member.Within(path, ".parts", i)
		if p.GetToolResult() != nil {
			at += ".tool_result"
			w.Fail(fault.Unsupported(at, "%s: a tool result cannot stand in another one", at))
			return
		}
		parts = append(parts, placedPart{Part: p, path: at})
	}
	if parts = sendable(parts, losses); len(parts) > 0 {
		w.Key("content")
		w.content(parts, losses)
	}
	if r.GetIsError() {
		w.Bool("is_error", true)
	}
}

// DefaultMaxTokens is what MaxTokens gives for a model of which nothing is known. All
// models that are served by this protocol today take it.
const DefaultMaxTokens = 8192

// familyMaxTokens is what it returns for a model of the vendor whose name has no version:
// the least of those since version 4.
const familyMaxTokens = 32000

// maxima are the most tokens that the vendor's models produce in one answer, by the first
// version with that maximum (docs.claude.com, models overview). Opus had less than its
// siblings in 4.0 and 4.1.
var maxima = []struct {
	from       version
	most, opus int64
}{
	{version{4, 6}, 128000, 128000},
	{version{4, 2}, 64000, 64000},
	{version{4, 0}, 64000, 32000},
	{version{3, 6}, 64000, 64000},
	{version{3, 5}, 8192, 8192},
	{version{0, 0}, 4096, 4096},
}

type version struct{ major, minor int }

func (v version) before(other version) bool {
	return v.major < other.major || v.major == other.major && v.minor < other.minor
}

// versioned finds the version in a name: claude-opus-4-1-20250805, claude-3-5-haiku,
// anthropic.claude-sonnet-4-20250514-v1:0, claude-sonnet-4.5, claude-opus-4@20250514. A
// date is no minor version.
var versioned = regexp.MustCompile(`claude-(?:[a-z]+-)?([0-9]{1,2})(?:[-.]([0-9]{1,2}))?(?:[^0-9]|$)`)

// MaxTokens returns the max_tokens of a request whose caller names no limit, which this
// protocol requires (case F17): the most that the model takes, as far as that is known by
// its name. A target's configuration can say another figure (default: max_output_tokens).
func MaxTokens(model string) int64 {
	model = strings.ToLower(model)
	m := versioned.FindStringSubmatch(model)
	if m == nil {
		if strings.Contains(model, "claude-") {
			return familyMaxTokens
		}
		return DefaultMaxTokens
	}
	var v version
	v.major, _ = strconv.Atoi(m[1])
	v.minor, _ = strconv.Atoi(m[2]) // absent is 0
	for _, known := range maxima {
		if v.before(known.from) {
			continue
		}
		if strings.Contains(model, "opus") {
			return known.opus
		}
		return known.most
	}
	return DefaultMaxTokens
}
