package codec

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/proto"
)

// Event wraps a payload of a stream.
func Event(payload proto.Message) *genwayv1.StreamGenerateTextResponse {
	switch p := payload.(type) {
	case *genwayv1.TextStarted:
		return &genwayv1.StreamGenerateTextResponse{Payload: &genwayv1.StreamGenerateTextResponse_Started{Started: p}}
	case *genwayv1.PartStarted:
		return &genwayv1.StreamGenerateTextResponse{Payload: &genwayv1.StreamGenerateTextResponse_PartStarted{PartStarted: p}}
	case *genwayv1.PartDelta:
		// Most events are deltas: they are made at once.
		ev := &struct {
			event   genwayv1.StreamGenerateTextResponse
			payload genwayv1.StreamGenerateTextResponse_PartDelta
		}{}
		ev.payload.PartDelta = p
		ev.event.Payload = &ev.payload
		return &ev.event
	case *genwayv1.PartCompleted:
		return &genwayv1.StreamGenerateTextResponse{Payload: &genwayv1.StreamGenerateTextResponse_PartCompleted{PartCompleted: p}}
	case *genwayv1.ImagePreview:
		return &genwayv1.StreamGenerateTextResponse{Payload: &genwayv1.StreamGenerateTextResponse_ImagePreview{ImagePreview: p}}
	case *genwayv1.TextCompleted:
		return &genwayv1.StreamGenerateTextResponse{Payload: &genwayv1.StreamGenerateTextResponse_Completed{Completed: p}}
	case *genwayv1.WireFrame:
		ev := &struct {
			event   genwayv1.StreamGenerateTextResponse
			payload genwayv1.StreamGenerateTextResponse_Wire
		}{}
		ev.payload.Wire = p
		ev.event.Payload = &ev.payload
		return &ev.event
	default:
		return &genwayv1.StreamGenerateTextResponse{Payload: &genwayv1.StreamGenerateTextResponse_Ping{Ping: &genwayv1.Ping{}}}
	}
}

// TextDelta is a delta of text, made in one allocation: most events of a stream are such.
func TextDelta(text string) *genwayv1.PartDelta {
	d := &struct {
		delta genwayv1.PartDelta
		text  genwayv1.PartDelta_Text
	}{}
	d.text.Text = text
	d.delta.Delta = &d.text
	return &d.delta
}

// RefusalDelta adds to a refusal.
func RefusalDelta(text string) *genwayv1.PartDelta {
	return &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Refusal{Refusal: text}}
}

// ThinkingDelta adds to the text of thinking.
func ThinkingDelta(text string) *genwayv1.PartDelta {
	return &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Thinking{Thinking: text}}
}

// SummaryDelta adds to one of the summaries of thinking.
func SummaryDelta(index int, text string) *genwayv1.PartDelta {
	return &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Summary{Summary: &genwayv1.SummaryDelta{Index: int32(index), Text: text}}}
}

// ArgumentsDelta adds to the JSON text of a call's arguments.
func ArgumentsDelta(text string) *genwayv1.PartDelta {
	return &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_ArgumentsJson{ArgumentsJson: text}}
}

// InputDelta adds to the input of a custom tool's call.
func InputDelta(text string) *genwayv1.PartDelta {
	return &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Input{Input: text}}
}

// CitationDelta adds a citation to a text.
func CitationDelta(c *genwayv1.Citation) *genwayv1.PartDelta {
	return &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Citation{Citation: c}}
}

// SignatureDelta sets the signature of thinking.
func SignatureDelta(s *genwayv1.Seal) *genwayv1.PartDelta {
	return &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Signature{Signature: s}}
}

// EncryptedDelta sets the encrypted content of thinking.
func EncryptedDelta(s *genwayv1.Seal) *genwayv1.PartDelta {
	return &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_EncryptedContent{EncryptedContent: s}}
}

// ThoughtSignatureDelta sets the thought signature of a part.
func ThoughtSignatureDelta(s *genwayv1.Seal) *genwayv1.PartDelta {
	return &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_ThoughtSignature{ThoughtSignature: s}}
}

// NativeDelta adds a member without a field of the contract to a part.
func NativeDelta(f *genwayv1.NativeField) *genwayv1.PartDelta {
	return &genwayv1.PartDelta{Delta: &genwayv1.PartDelta_Native{Native: f}}
}

// Emitter appends the events of one candidate's parts to a list, in the contract's order: parts
// count up from 0, and each is completed before the next is opened. All candidates of a stream
// append to one list.
type Emitter struct {
	candidate int32
	next      int32 // the index of the open part, or of the next one
	open      bool
	to        *[]*genwayv1.StreamGenerateTextResponse
}

// NewEmitter returns an emitter that appends to a list.
func NewEmitter(candidate int32, to *[]*genwayv1.StreamGenerateTextResponse) Emitter {
	return Emitter{candidate: candidate, to: to}
}

// IsOpen reports whether a part is open.
func (e *Emitter) IsOpen() bool { return e.open }

// Open completes the open part, if there is one, and opens the next.
func (e *Emitter) Open(p *genwayv1.Part) {
	e.Complete()
	e.open = true
	*e.to = append(*e.to, Event(&genwayv1.PartStarted{Candidate: e.candidate, Index: e.next, Part: p}))
}

// Add adds to the open part, which there must be.
func (e *Emitter) Add(d *genwayv1.PartDelta) {
	d.Candidate, d.Index = e.candidate, e.next
	*e.to = append(*e.to, Event(d))
}

// Complete completes the open part, if there is one.
func (e *Emitter) Complete() {
	if !e.open {
		return
	}
	e.open = false
	*e.to = append(*e.to, Event(&genwayv1.PartCompleted{Candidate: e.candidate, Index: e.next}))
	e.next++
}

// Chosen is the candidate that a stream of a protocol with one answer shows: the first to begin, as
// the first of a unary answer, whatever its index is. Its zero value has not chosen yet.
type Chosen struct {
	index int32
	known bool
}

// Is reports whether the candidate is the one. The first that is asked for is.
func (c *Chosen) Is(index int32) bool {
	if !c.known {
		c.index, c.known = index, true
	}
	return c.index == index
}

// DeltaText returns the text of an answer in a delta of a stream: what is shown, thought or written as the arguments of
// a tool call. Upstreams report usage at the end; of a stream that ends before it, this is what the usage is estimated by.
func DeltaText(delta *genwayv1.PartDelta) string {
	switch d := delta.GetDelta().(type) {
	case *genwayv1.PartDelta_Text:
		return d.Text
	case *genwayv1.PartDelta_Thinking:
		return d.Thinking
	case *genwayv1.PartDelta_Summary:
		return d.Summary.GetText()
	case *genwayv1.PartDelta_ArgumentsJson:
		return d.ArgumentsJson
	case *genwayv1.PartDelta_Input:
		return d.Input
	case *genwayv1.PartDelta_Refusal:
		return d.Refusal
	case *genwayv1.PartDelta_Transcript:
		return d.Transcript
	}
	return ""
}

// Sequence checks that the events of a stream come in the order of the contract
// (genway/v1/stream.proto):
//
//	started (part_started part_delta* part_completed)* completed
//
// Parts of a candidate count up from 0 and do not overlap, a delta fits the kind of its part, and
// each candidate has exactly one end. Behind an event that passes through (wire), which stands for
// the others, only completed and more of them may follow. Pings, and events of a newer contract, are
// allowed anywhere.
type Sequence struct {
	// Protocol is that of the caller's own body: events of no other may pass through, and none where
	// it is unspecified.
	Protocol genwayv1.Protocol
	// Resumed is set for the stream of a stored answer (StreamResponse), which may have no events left.
	Resumed bool

	started, passesThrough, completed bool
	// first is the state of candidate 0: most streams have no other.
	first  candidateSequence
	others map[int32]*candidateSequence
}

// candidateSequence is how far one candidate has come.
type candidateSequence struct {
	next      int32 // the index of the open part, or of the next one
	isOpen    bool
	part      *genwayv1.Part // the open one as it was started
	summaries int32          // of an open thinking part
	ended     bool
}

// Check checks the next event. An event out of order is an error of kind BadUpstream.
func (s *Sequence) Check(ev *genwayv1.StreamGenerateTextResponse) error {
	switch p := ev.GetPayload().(type) {
	case *genwayv1.StreamGenerateTextResponse_Wire:
		if s.Protocol == genwayv1.Protocol_PROTOCOL_UNSPECIFIED || p.Wire.GetProtocol() != s.Protocol {
			return disorder("an event of another protocol passes through")
		}
		s.passesThrough = true // an upstream's own events may follow its end
	case *genwayv1.StreamGenerateTextResponse_Started:
		if s.started && !s.completed && !s.passesThrough {
			return disorder("it starts twice")
		}
		s.started = true
		if s.Resumed {
			s.passesThrough = true
			return nil
		}
		return s.within()
	case *genwayv1.StreamGenerateTextResponse_PartStarted:
		if err := s.within(); err != nil {
			return err
		}
		return s.partStarted(p.PartStarted)
	case *genwayv1.StreamGenerateTextResponse_PartDelta:
		if err := s.within(); err != nil {
			return err
		}
		return s.partDelta(p.PartDelta)
	case *genwayv1.StreamGenerateTextResponse_PartCompleted:
		if err := s.within(); err != nil {
			return err
		}
		return s.partCompleted(p.PartCompleted)
	case *genwayv1.StreamGenerateTextResponse_ImagePreview:
		return s.within()
	case *genwayv1.StreamGenerateTextResponse_Completed:
		if s.passesThrough && !s.completed {
			s.completed = true
			return nil
		}
		if err := s.within(); err != nil {
			return err
		}
		return s.complete(p.Completed)
	}
	return nil
}

// within refuses an event that is not between the start and the end of a stream.
func (s *Sequence) within() error {
	switch {
	case s.completed:
		return disorder("an event follows the end")
	case s.passesThrough:
		return disorder("an event follows one that passes through")
	case !s.started:
		return disorder("an event comes ahead of its start")
	}
	return nil
}

func (s *Sequence) partStarted(p *genwayv1.PartStarted) error {
	c, err := s.candidate(p.GetCandidate())
	if err != nil {
		return err
	}
	if c.isOpen || p.GetIndex() != c.next {
		return disorder("a part starts out of order")
	}
	c.isOpen, c.part = true, p.GetPart()
	c.summaries = int32(len(c.part.GetThinking().GetSummary()))
	return nil
}

func (s *Sequence) partDelta(d *genwayv1.PartDelta) error {
	c, err := s.candidate(d.GetCandidate())
	if err != nil {
		return err
	}
	if !c.isOpen || d.GetIndex() != c.next {
		return disorder("a delta belongs to no open part")
	}
	if !fits(d, c.part) {
		return disorder("a delta is in a part of another kind")
	}
	if summary := d.GetSummary(); summary != nil {
		if summary.GetIndex() < 0 || summary.GetIndex() > c.summaries {
			return disorder("a summary begins out of order")
		}
		c.summaries = max(c.summaries, summary.GetIndex()+1)
	}
	return nil
}

func (s *Sequence) partCompleted(p *genwayv1.PartCompleted) error {
	c, err := s.candidate(p.GetCandidate())
	if err != nil {
		return err
	}
	if !c.isOpen || p.GetIndex() != c.next {
		return disorder("a part ends that is not open")
	}
	c.isOpen, c.part = false, nil
	c.next++
	return nil
}

func (s *Sequence) complete(end *genwayv1.TextCompleted) error {
	for _, e := range end.GetCandidates() {
		c, err := s.candidate(e.GetIndex())
		if err != nil {
			return err
		}
		if c.ended {
			return disorder("a candidate ends twice")
		}
		c.ended = true
	}
	if s.first.unfinished() {
		return disorder("it ends within a candidate")
	}
	for _, c := range s.others {
		if c.unfinished() {
			return disorder("it ends within a candidate")
		}
	}
	if len(end.GetCandidates()) == 0 && end.GetPromptFeedback() == nil {
		return fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer, "%s", noCandidates)
	}
	s.completed = true
	return nil
}

// unfinished reports whether the candidate has begun, and a part or the candidate has no end.
func (c *candidateSequence) unfinished() bool { return c.isOpen || c.next > 0 && !c.ended }

func (s *Sequence) candidate(index int32) (*candidateSequence, error) {
	if index == 0 {
		return &s.first, nil
	}
	if index < 0 {
		return nil, disorder("the index of a candidate is negative")
	}
	c, ok := s.others[index]
	if !ok {
		if s.others == nil {
			s.others = map[int32]*candidateSequence{}
		}
		c = &candidateSequence{}
		s.others[index] = c
	}
	return c, nil
}

// fits reports whether a part of that kind has what the delta adds.
func fits(d *genwayv1.PartDelta, p *genwayv1.Part) bool {
	switch d.GetDelta().(type) {
	case *genwayv1.PartDelta_Text, *genwayv1.PartDelta_Citation:
		return p.GetText() != nil
	case *genwayv1.PartDelta_Refusal:
		return p.GetRefusal() != nil
	case *genwayv1.PartDelta_ArgumentsJson, *genwayv1.PartDelta_Input:
		return p.GetToolCall() != nil
	case *genwayv1.PartDelta_Data, *genwayv1.PartDelta_Transcript:
		return MediaOf(p) != nil
	case *genwayv1.PartDelta_Thinking, *genwayv1.PartDelta_Summary, *genwayv1.PartDelta_Signature, *genwayv1.PartDelta_EncryptedContent:
		return p.GetThinking() != nil
	}
	return true // any part may have a thought signature or members of its protocol
}

func disorder(what string) error {
	return fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer, "the upstream's stream is out of order: %s", what)
}

const noCandidates = "the upstream's answer has no content and no reason why"

// CheckAnswer checks what the contract promises of a unary answer, as Sequence does of a stream: it
// has a candidate unless the prompt was blocked, and each candidate an index of its own. An answer
// without that is an error of kind BadUpstream. An upstream's own body (wire) of the protocol, which
// is that of the caller's body, stands for all of it and is not looked at.
func CheckAnswer(resp *genwayv1.GenerateTextResponse, protocol genwayv1.Protocol) error {
	if wire := resp.GetWire(); wire != nil && wire.GetProtocol() == protocol {
		return nil
	}
	if len(resp.GetCandidates()) == 0 && resp.GetPromptFeedback() == nil {
		return fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer, "%s", noCandidates)
	}
	var seen map[int32]bool
	for n, c := range resp.GetCandidates() {
		switch {
		case c.GetIndex() < 0:
			return fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer, "the upstream's answer has a candidate with a negative index")
		case seen[c.GetIndex()]:
			return fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer, "the upstream's answer has two candidates with one index")
		case n == 0 && len(resp.GetCandidates()) == 1:
			return nil
		case n == 0:
			seen = make(map[int32]bool, len(resp.GetCandidates()))
		}
		seen[c.GetIndex()] = true
	}
	return nil
}

// JoinHalves returns a decoder that reads a character which is split between frames. Upstreams that count text in
// units of UTF-16 send "\ud83d" at the end of one delta and "\ude00" at the beginning of the next, and engines
// that count tokens of bytes send the first bytes of a character in one delta and the others in the next ones. A piece alone is no
// character and would be read as U+FFFD. A frame with a string that ends in a first piece is held until the
// next frame, which is the only one that can have the second.
func JoinHalves(d StreamDecoder) StreamDecoder { return &halves{StreamDecoder: d} }

type halves struct {
	StreamDecoder
	// held is the frame that waits, and firsts the pieces at the ends of its strings, in order. behind are the frames after it,
	// whose whole strings were pieces of the character that is not complete yet.
	held   *Frame
	firsts []half
	behind []Frame
}

// half is a piece of a character: the string that it is in, the offset where its other piece belongs or begins, and its length.
// lacks is how many bytes of the character are missing, 0 for a surrogate, which lacks another. alone reports that the
// string has nothing else.
type half struct {
	of             string
	at, len, lacks int
	alone          bool
}

const (
	escape     = len(`\ud83d`)
	highHalves = "89abAB"
	lowHalves  = "cdefCDEF"
)

// Decode implements StreamDecoder.
func (h *halves) Decode(f Frame) ([]*genwayv1.StreamGenerateTextResponse, error) {
	var events []*genwayv1.StreamGenerateTextResponse
	if h.held != nil {
		var more bool
		if f.Data, more = h.join(f.Data); more {
			h.behind = append(h.behind, Frame{Event: f.Event, Data: bytes.Clone(f.Data)})
			return nil, nil
		}
		var err error
		if events, err = h.release(); err != nil {
			return events, err
		}
	}
	if mayEndInHalf(f.Data) {
		if found := find(f.Data, firstPiece); len(found) > 0 {
			h.held, h.firsts = &Frame{Event: f.Event, Data: bytes.Clone(f.Data)}, found
			return events, nil
		}
	}
	more, err := h.StreamDecoder.Decode(f)
	return follow(events, more), err
}

// firstPiece finds the first piece of a character at the end of a string: at is its end.
func firstPiece(raw []byte) (half, bool) {
	end := len(raw) - 1
	if at := end - escape; at > 0 && isHalf(raw[at:], highHalves) && !escaped(raw[:at]) {
		return half{at: end}, true
	}
	if lacks := lacking(raw[:end]); lacks > 0 {
		return half{at: end, lacks: lacks}, true
	}
	return half{}, false
}

// lacking returns how many bytes of its last character a text lacks; 0 for a whole one, or for bytes that are no
// beginning of one.
func lacking(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		switch b := text[len(text)-n]; {
		case b < utf8.RuneSelf:
			return 0
		case utf8.RuneStart(b):
			whole := 0
			switch {
			case b >= 0xf0 && b < 0xf5:
				whole = 4
			case b >= 0xe0 && b < 0xf0:
				whole = 3
			case b >= 0xc2 && b < 0xe0:
				whole = 2
			}
			return max(0, whole-n)
		}
	}
	return 0
}

// join moves the second pieces from the beginnings of the same strings in the next frame to the one
// that is held. It returns what remains of the next frame, and whether characters still lack bytes that only a later frame can
// have.
func (h *halves) join(next []byte) (rest []byte, more bool) {
	seconds := find(next, func(raw []byte) (half, bool) {
		if isHalf(raw[1:], lowHalves) {
			return half{at: 1, len: escape}, len(raw) > 1+escape
		}
		n := 0
		for n < utf8.UTFMax-1 && 1+n < len(raw)-1 && !utf8.RuneStart(raw[1+n]) {
			n++
		}
		return half{at: 1, len: n, lacks: n, alone: 1+n == len(raw)-1}, n > 0
	})
	// From the last to the first, so that the offsets of the strings before stay.
	for k := len(h.firsts) - 1; k >= 0; k-- {
		first := &h.firsts[k]
		i := slices.IndexFunc(seconds, func(second half) bool { return second.of == first.of })
		if i < 0 || (first.lacks > 0) != (seconds[i].lacks > 0) {
			continue
		}
		at, n := seconds[i].at, seconds[i].len
		if first.lacks > 0 {
			n = min(n, first.lacks)
			first.lacks -= n
			more = more || first.lacks > 0 && seconds[i].alone
		}
		if first.lacks == 0 {
			first.of = "whole" // no pointer
		}
		h.held.Data = slices.Insert(h.held.Data, first.at, next[at:at+n]...)
		for after := range h.firsts[k:] {
			h.firsts[k+after].at += n
		}
		next = slices.Concat(next[:at], next[at+n:])
		seconds = seconds[:i]
	}
	return next, more
}

func (h *halves) release() ([]*genwayv1.StreamGenerateTextResponse, error) {
	if h.held == nil {
		return nil, nil
	}
	frames := append([]Frame{*h.held}, h.behind...)
	h.held, h.behind = nil, nil
	var events []*genwayv1.StreamGenerateTextResponse
	for _, f := range frames {
		more, err := h.StreamDecoder.Decode(f)
		if events = follow(events, more); err != nil {
			return events, err
		}
	}
	return events, nil
}

// Close implements StreamDecoder.
func (h *halves) Close() ([]*genwayv1.StreamGenerateTextResponse, error) {
	events, err := h.release()
	if err != nil {
		return events, err
	}
	more, err := h.StreamDecoder.Close()
	return follow(events, more), err
}

// follow returns the events of the held frame and those behind them. Nearly always none was held, and
// nothing is copied.
func follow(held, more []*genwayv1.StreamGenerateTextResponse) []*genwayv1.StreamGenerateTextResponse {
	if len(held) == 0 {
		return more
	}
	return append(held, more...)
}

// Finished reports whether the answer has ended, if the decoder knows.
func (h *halves) Finished() bool {
	f, ok := h.StreamDecoder.(interface{ Finished() bool })
	return ok && h.held == nil && f.Finished()
}

// Reported returns the usage that was reported so far, if the decoder knows.
func (h *halves) Reported() *genwayv1.Usage {
	if r, ok := h.StreamDecoder.(interface{ Reported() *genwayv1.Usage }); ok {
		return r.Reported()
	}
	return nil
}

// mayEndInHalf reports whether the first piece of a character is before a quote. Most frames are text
// without an escape of a surrogate.
func mayEndInHalf(data []byte) bool {
	if !utf8.Valid(data) {
		return true
	}
	for {
		i := bytes.Index(data, []byte(`\u`))
		if i < 0 || len(data) <= i+escape {
			return false
		}
		if data[i+escape] == '"' && isHalf(data[i:], highHalves) {
			return true
		}
		data = data[i+2:]
	}
}

// isHalf reports whether text begins with the escape of a surrogate of a kind.
func isHalf(text []byte, kind string) bool {
	return len(text) >= escape && text[0] == '\\' && text[1] == 'u' && (text[2] == 'd' || text[2] == 'D') && strings.IndexByte(kind, text[3]) >= 0
}

// escaped reports whether the text ends with the backslash that escapes the next one.
func escaped(text []byte) bool {
	n := len(text) - len(bytes.TrimRight(text, `\`))
	return n%2 == 1
}

// find returns the strings of a frame in which a piece is. A string is known by its pointer and by
// the indices that are in the frame, those of the candidate and the part. Of a frame that is no JSON
// it returns none.
func find(data []byte, look func(raw []byte) (half, bool)) []half {
	d := jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	var found []half
	var indices strings.Builder
	for {
		kind, n := d.StackIndex(d.StackDepth())
		isName := kind == '{' && n%2 == 0
		switch k := d.PeekKind(); {
		case k == '"' && !isName:
			raw, err := d.ReadValue()
			if err != nil {
				return nil
			}
			if piece, ok := look(raw); ok {
				piece.of, piece.at = string(d.StackPointer()), int(d.InputOffset())-len(raw)+piece.at
				found = append(found, piece)
			}
			continue
		case k == '0':
			raw, err := d.ReadValue()
			if err != nil {
				return nil
			}
			if p := string(d.StackPointer()); strings.HasSuffix(p, "index") {
				indices.WriteString(p + "=" + string(raw))
			}
			continue
		}
		if _, err := d.ReadToken(); err != nil {
			break
		}
	}
	for i := range found {
		found[i].of += indices.String()
	}
	return found
}
