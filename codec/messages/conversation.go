package messages

import (
	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

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

// unplaced names the members of a message that becomes no turn of its own: those of this
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
