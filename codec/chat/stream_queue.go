package chat

import (
	"slices"
	"strings"

	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// kind is what a part of a stream is, as far as deltas differ by it.
type kind uint8

const (
	kindText kind = iota
	kindRefusal
	kindThinking
	kindAudio
	kindCall
	kindWhole // a part that does not stream
)

// streamedPart is a part of a choice while it streams. Canonical parts do not overlap,
// but calls may come interleaved: the first streamedPart of the queue is the open
// part, the deltas of those behind it wait.
type streamedPart struct {
	kind    kind
	opening *genwayv1.Part
	waiting []*genwayv1.PartDelta
	open    bool
	// ready says that the opening is known: a call waits for its name, its identifier and
	// the beginning of its arguments.
	ready bool
	// defined says that a call has come with its function or its custom tool.
	defined bool
	// key is the index of a call, and text what there is of its arguments, or of
	// thinking.
	key  int32
	text strings.Builder
	// group distinguishes the details of one thinking part from those of the next.
	group *group
	// names are the unknown members that have been passed on.
	names map[string]bool
}

// queue orders the parts of one choice.
type queue struct {
	codec.Emitter
	index  int32
	list   []*streamedPart
	closed []*streamedPart
}

// last is the streamedPart of the kind that goes on; nil when a part of another kind
// came behind it.
func (q *queue) last(k kind) *streamedPart {
	if n := len(q.list); n > 0 && q.list[n-1].kind == k {
		return q.list[n-1]
	}
	return nil
}

// ended is the latest streamedPart of the kind, whatever came behind it; nil for none.
func (q *queue) ended(k kind) *streamedPart {
	for _, list := range [][]*streamedPart{q.list, q.closed} {
		for _, st := range slices.Backward(list) {
			if st.kind == k {
				return st
			}
		}
	}
	return nil
}

func (q *queue) push(k kind, opening *genwayv1.Part, ready bool) *streamedPart {
	st := &streamedPart{kind: k, opening: opening, ready: ready}
	q.list = append(q.list, st)
	return st
}

// add returns a delta to a streamedPart, which passes it on when it is the open part.
func (q *queue) add(st *streamedPart, d *genwayv1.PartDelta) {
	if !st.open {
		st.waiting = append(st.waiting, d)
		return
	}
	q.Add(d)
}

// note passes on unknown members: in the opening while that waits, then as
// deltas, each name once.
func (q *queue) note(st *streamedPart, fields []*genwayv1.NativeField) {
	for _, f := range fields {
		if st.names[f.Name] {
			continue
		}
		if st.names == nil {
			st.names = map[string]bool{}
		}
		st.names[f.Name] = true
		if st.open {
			q.add(st, codec.NativeDelta(f))
		} else {
			st.opening.NativeFields = append(st.opening.NativeFields, f)
		}
	}
}

// advance opens the first streamedPart when it is ready and closes it when another
// waits behind it and it has all it will get.
func (q *queue) advance() {
	for len(q.list) > 0 {
		head := q.list[0]
		if head.ready {
			q.start(head)
		}
		if len(q.list) == 1 || !head.closable() {
			return
		}
		q.close(false)
	}
}

func (q *queue) start(st *streamedPart) {
	if st.open {
		return
	}
	st.open = true
	q.Open(st.opening)
	for _, d := range st.waiting {
		q.add(st, d)
	}
	st.waiting = nil
}

// close closes the first streamedPart. cut says that the answer was cut in it: a call without arguments
// is not known to have none.
func (q *queue) close(cut bool) {
	head := q.list[0]
	q.start(head)
	if !cut && head.kind == kindCall && head.opening.GetToolCall().Input == nil && head.text.Len() == 0 {
		q.add(head, codec.ArgumentsDelta("{}")) // T10
	}
	q.Complete()
	q.list = q.list[1:]
	q.closed = append(q.closed, head)
}

// closable reports whether the streamedPart has all it will get, given that another
// has begun. Only a call can go on behind another; one whose arguments are whole
// does not.
func (st *streamedPart) closable() bool {
	call := st.opening.GetToolCall()
	return st.kind != kindCall || call.Name != "" && call.Input == nil && wholeJSON(st.text.String())
}

// wholeJSON reports whether the text is an object that has its end.
func wholeJSON(s string) bool {
	s = strings.TrimRight(s, " \t\r\n")
	return strings.HasSuffix(s, "}") && jsontext.Value(s).IsValid(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
}

// call finds the streamedPart of a call; nil for a new one. Engines that number every call 0, or not
// at all, distinguish them by id, or only by their names and arguments.
func (q *queue) call(c *toolCall) *streamedPart {
	var byKey *streamedPart
	for _, list := range [][]*streamedPart{q.closed, q.list} {
		for _, st := range list {
			if st.kind != kindCall || st.key == functionKey {
				continue
			}
			if c.Index == nil && c.ID == "" || c.Index != nil && st.key == c.number() || c.Index == nil && st.opening.GetToolCall().Id == c.ID {
				byKey = st
			}
		}
	}
	if byKey == nil {
		return nil
	}
	if id := byKey.opening.GetToolCall().Id; c.ID != "" && id != "" && id != c.ID || byKey.precedes(c) {
		return nil
	}
	return byKey
}

// number is the index of a call that has one. The vendor's SDK reads a negative one as 0, which
// engines send for the only call.
func (c *toolCall) number() int32 { return max(0, *c.Index) }

// precedes reports whether a piece that would be of this call begins another: the arguments are
// whole, and the piece has another name, or other arguments that are whole.
func (st *streamedPart) precedes(c *toolCall) bool {
	call, name := st.opening.GetToolCall(), c.named()
	if name == "" || call.Name == "" || call.Input != nil || !wholeJSON(st.text.String()) {
		return false
	}
	if c.Function == nil || name != call.Name {
		return name != call.Name
	}
	arguments := c.Function.Arguments.spelled()
	return arguments != st.text.String() && wholeJSON(arguments)
}
