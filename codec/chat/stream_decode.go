package chat

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// streamDecoder reads chunks. It returns usage and the ends of the choices when the
// answer is complete: with [DONE], or at the end of the upstream's bytes when every
// choice has its finish_reason (U3, S3, S5).
type streamDecoder struct {
	choices []*choiceDecoder
	events  []*genwayv1.StreamGenerateTextResponse
	usage   *genwayv1.Usage
	fields  []*genwayv1.NativeField
	tier    string
	// fingerprint is the first that a chunk has, and late says that the stream had been started
	// without it by then.
	fingerprint string
	late        bool
	started     bool
	done        bool
	// completed says that the answer was given to its end.
	completed bool
	// failure is set if the stream ended before the answer was complete.
	failure *fault.Error
	// room and chunk are used again for each chunk.
	room  *member.Room
	chunk answer
}

// NewStreamDecoder implements codec.Codec.
func (Codec) NewStreamDecoder() codec.StreamDecoder { return &streamDecoder{room: newChunkRoom()} }

// Decode implements codec.StreamDecoder.
func (s *streamDecoder) Decode(f codec.Frame) ([]*genwayv1.StreamGenerateTextResponse, error) {
	data := bytes.TrimSpace(f.Data)
	if s.done || len(data) == 0 {
		return nil, nil
	}
	s.events = nil
	if bytes.Equal(data, doneData) {
		return s.end()
	}
	if f.Event == "error" {
		return nil, s.fail(decodeError(0, data))
	}
	a := &s.chunk
	if *a = (answer{}); !member.ReadIn(s.room, data, a) {
		if err := member.DecodeLoose(data, a, "usage", "created"); err != nil {
			return nil, s.fail(err)
		}
	}
	if given(a.Error) {
		return nil, s.fail(decodeError(0, data))
	}
	if s.fingerprint == "" {
		s.fingerprint, s.late = a.SystemFingerprint, s.started && a.SystemFingerprint != ""
	}
	s.start(a)
	s.report(a.Usage, a.ServiceTier)
	s.fields = kept(s.fields, a.Extra)
	d := decoder{body: data}
	for i := range a.Choices {
		c := &a.Choices[i]
		if err := s.choice(c, int32(i)).read(d, c); err != nil {
			return s.events, s.fail(fault.MalformedAnswer(err))
		}
	}
	return s.events, nil
}

// Close implements codec.StreamDecoder.
func (s *streamDecoder) Close() ([]*genwayv1.StreamGenerateTextResponse, error) {
	if s.done {
		return nil, nil
	}
	s.events = nil
	if !s.Finished() {
		return nil, s.fail(fault.New(fault.BadUpstream, fault.ReasonStreamCut, "the upstream's stream ended before the answer was complete"))
	}
	events, err := s.end()
	if s.failure != nil {
		return nil, s.fail(s.failure)
	}
	return events, err
}

// Finished reports that every choice has its finish_reason, so that only usage can
// follow: some upstreams leave [DONE] out and the connection open (S3). A stream that ended with
// no answer has ended, too; Close returns the failure, since callers of this protocol have the end.
func (s *streamDecoder) Finished() bool {
	whole := len(s.choices) > 0
	for _, cd := range s.choices {
		whole = whole && cd.finished
	}
	return whole || s.failure != nil
}

// Reported is the usage so far; nil if no chunk has reported any.
func (s *streamDecoder) Reported() *genwayv1.Usage { return s.usage }

func (s *streamDecoder) fail(err error) error {
	s.done = true
	return err
}

// start opens the stream with the first chunk that belongs to the answer: Azure
// sends one of its own ahead of it, without an id.
func (s *streamDecoder) start(a *answer) {
	if s.started || a.ID == "" && len(a.Choices) == 0 {
		return
	}
	s.started = true
	s.emit(codec.Event(&genwayv1.TextStarted{
		Id: a.ID, Model: a.Model, CreateTime: a.Created.time(),
		ServiceTier: a.ServiceTier, SystemFingerprint: s.fingerprint,
	}))
}

func (s *streamDecoder) emit(ev *genwayv1.StreamGenerateTextResponse) {
	s.events = append(s.events, ev)
}

func (s *streamDecoder) choice(c *choice, place int32) *choiceDecoder {
	if c.Index != nil {
		place = *c.Index
	}
	for _, cd := range s.choices {
		if cd.index == place {
			return cd
		}
	}
	cd := &choiceDecoder{queue: queue{Emitter: codec.NewEmitter(place, &s.events), index: place}}
	s.choices = append(s.choices, cd)
	return cd
}

// unanswered reports whether the answer has no choices, one that says nothing, or a call that has no
// function, or one without a name, or a last call without arguments and without a reason to stop. That is a
// failure, as of a unary answer.
func (s *streamDecoder) unanswered() bool {
	if len(s.choices) == 0 {
		s.failure = noChoices(s.usage)
	}
	for _, cd := range s.choices {
		if !cd.began && !cd.finished {
			s.failure = voidChoice(s.usage)
		}
		for i, st := range cd.list {
			missing := ""
			switch {
			case st.kind != kindCall:
			case !st.defined:
				missing = "choices.delta.tool_calls.function"
			case st.opening.GetToolCall().GetName() == "":
				missing = "choices.delta.tool_calls.function.name"
			case cd.word == "" && i == len(cd.list)-1 && codec.AreNone(st.text.String()):
				missing = "choices.delta.tool_calls.function.arguments"
			}
			if missing != "" {
				s.failure = fault.MalformedAnswer(fault.Missing(missing))
				s.failure.Usage = s.usage
			}
		}
	}
	return s.failure != nil
}

// report takes over the usage and the tier that a chunk reports, if it does.
func (s *streamDecoder) report(u *usage, tier string) {
	s.tier = cmp.Or(tier, s.tier)
	if u != nil {
		s.usage = mergeUsage(s.usage, u.decode(s.tier))
	}
	if s.usage != nil {
		s.usage.ServiceTier = s.tier
	}
}

// kept returns the unknown members of a stream so far, with the unknown members of another of its objects.
func kept(fields []*genwayv1.NativeField, extra jsontext.Value) []*genwayv1.NativeField {
	if len(extra) == 0 {
		return fields
	}
	return replaceNatives(fields, natives(extra))
}

// end closes every part and the stream.
func (s *streamDecoder) end() ([]*genwayv1.StreamGenerateTextResponse, error) {
	if !s.started {
		return nil, s.fail(fault.New(fault.BadUpstream, fault.ReasonStreamCut, "the upstream's stream ended without an answer"))
	}
	if s.usage != nil {
		codec.Completed(s.usage)
	}
	if s.unanswered() {
		return nil, nil
	}
	s.done, s.completed = true, true
	completed := &genwayv1.TextCompleted{Usage: s.usage, ServiceTier: s.tier, NativeFields: s.fields}
	var losses codec.Losses
	for _, cd := range s.choices {
		completed.Candidates = append(completed.Candidates, cd.end())
		loseLogprobs(cd.index, cd.tokens, cd.refused, &losses)
	}
	if s.late {
		// As vLLM sends it, with the usage. The contract has it in the event that starts a stream.
		losses.Add("system_fingerprint", "it came after the stream had begun")
	}
	completed.Losses = losses.List()
	s.emit(codec.Event(completed))
	return s.events, nil
}

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
	// group distinguishes the details of one thinking part from the next one's.
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

// add adds a delta to a streamedPart, which sends it when it is the open part.
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
	if !cut && head.kind == kindCall && !codec.IsCustom(head.opening.GetToolCall()) && head.text.Len() == 0 {
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
	return st.kind != kindCall || call.Name != "" && !codec.IsCustom(call) && wholeJSON(st.text.String())
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
	if name == "" || call.Name == "" || codec.IsCustom(call) || !wholeJSON(st.text.String()) {
		return false
	}
	if c.Function == nil || name != call.Name {
		return name != call.Name
	}
	arguments := c.Function.Arguments.spelled()
	return arguments != st.text.String() && wholeJSON(arguments)
}

// newChunkRoom returns the memory of the chunks that streams are made of, hundreds in a row: a
// piece of text, of thinking or of a call's arguments, or the end of a choice.
func newChunkRoom() *member.Room {
	return member.NewRoom(new(member.Slot[choice]), new(member.Slot[message]), new(member.Slot[toolCall]), new(member.Slot[functionCall]))
}

// watched is what is read of an answer or a chunk that passes by unchanged.
type watched struct {
	ID          string          `json:"id"`
	Model       string          `json:"model"`
	Choices     []watchedChoice `json:"choices"`
	Usage       *usage          `json:"usage"`
	ServiceTier string          `json:"service_tier"`
	Error       jsontext.Value  `json:"error"`
}

// watchedChoice is a choice as far as its end. A finish_reason of any type but null ends it.
type watchedChoice struct {
	Index        *int32         `json:"index"`
	FinishReason jsontext.Value `json:"finish_reason"`
}

// Watch implements codec.StreamWatcher.
func (s *streamDecoder) Watch(f codec.Frame) (events []*genwayv1.StreamGenerateTextResponse, content bool, err error) {
	data := bytes.TrimSpace(f.Data)
	if s.completed || len(data) == 0 {
		return nil, false, nil
	}
	s.events, s.done = nil, false
	if bytes.Equal(data, doneData) {
		s.started = true // [DONE] ends any answer
		events, err = s.end()
		return events, true, err
	}
	var w watched
	member.Fit(data, &w)
	if f.Event == "error" || given(w.Error) {
		return nil, false, s.fail(decodeError(0, data))
	}
	s.start(&answer{ID: w.ID, Model: w.Model, ServiceTier: w.ServiceTier, Choices: make([]choice, len(w.Choices))})
	s.report(w.Usage, w.ServiceTier)
	for i, c := range w.Choices {
		l := s.choice(&choice{Index: c.Index}, int32(i))
		l.began = true // the caller gets the choice as it is
		l.finished = l.finished || given(c.FinishReason) && string(c.FinishReason) != `""`
	}
	return s.events, len(w.Choices) > 0, nil
}

// WatchResponse implements codec.ResponseWatcher.
func (Codec) WatchResponse(body []byte) (*genwayv1.GenerateTextResponse, bool) {
	var w watched
	member.Fit(body, &w)
	if given(w.Error) {
		return nil, false
	}
	return &genwayv1.GenerateTextResponse{Id: w.ID, Model: w.Model, ServiceTier: w.ServiceTier, Usage: w.Usage.whole(w.ServiceTier)}, true
}
