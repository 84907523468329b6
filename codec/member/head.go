package member

import (
	"bytes"
	"strings"

	edgev1 "github.com/genway/genway/gen/genway/edge/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// HeadReader reads the light members of a body, one after the other. Generated code uses it:
//
//	h, r := x.Light(heavy)
//	var o member.Object
//	for h.Next(r, &o) && v.readMember(r, &o) {
//	}
//	body, again, ok := h.Done(r, &o)
type HeadReader struct {
	index *TopIndex
	heavy []string
	// next is the number of the next member.
	next int
	// found says that the first of the heavy members is there and not empty, long that a
	// light one is too long for a head.
	found, long, whole bool
}

// maxLight bounds a member that is not heavy.
const maxLight = 4 << 10

// Light begins to read all members of a body but for the heavy ones, of which the first makes
// the body what it is: without it, or without anything in it, there is no head.
func (o *TopIndex) Light(heavy []string) (HeadReader, *Reader) {
	r := newReader(o.body)
	r.depth = 1
	return HeadReader{index: o, heavy: heavy}, r
}

// Next goes to the value of the next light member; false when there is none.
func (h *HeadReader) Next(r *Reader, to *Object) bool {
	for h.next < h.index.n {
		e := h.index.at(h.next)
		h.next++
		name := h.index.body[e.name.from:e.name.to]
		if i := heavyIndex(h.heavy, name); i >= 0 {
			h.found = h.found || i == 0 && h.index.holds(e)
			continue
		}
		if h.long = e.value.to-e.value.from > maxLight; h.long {
			return false
		}
		r.i, r.before = e.value.from, e.name.to+1
		to.name, to.Name = e.name, name
		return true
	}
	h.whole = true
	return false
}

func heavyIndex(names []string, name []byte) int {
	for i, known := range names {
		if known == string(name) {
			return i
		}
	}
	return -1
}

// Done returns the body that was read and reports whether it has a head. Where a light member is
// not one that a Reader takes, the body is one with null for each heavy member, and again says
// that the JSON library is to read it (DecodeLight).
func (h *HeadReader) Done(r *Reader, of *Object) (body []byte, again, ok bool) {
	if h.whole && of.opened {
		r.names.close(of.others)
	}
	r.release(h.whole)
	switch {
	case h.whole:
		return h.index.body, false, h.found
	case h.long:
		return nil, false, false
	}
	body, ok = h.index.Lightened(h.heavy)
	return body, ok, ok
}

// LightHas reports whether a byte is in the name or the value of a light member.
func (o *TopIndex) LightHas(c byte, heavy []string) bool {
	for k := range o.n {
		e := o.at(k)
		name := o.body[e.name.from:e.name.to]
		if heavyIndex(heavy, name) >= 0 {
			continue
		}
		if bytes.IndexByte(name, c) >= 0 || bytes.IndexByte(o.body[e.value.from:e.value.to], c) >= 0 {
			return true
		}
	}
	return false
}

// DecodeLight reads the body that Done returns with again into a zero struct.
func DecodeLight(body []byte, v any) bool { return json.Unmarshal(body, v, decodeOptions) == nil }

// Lightened returns the body with null for each heavy member.
func (o *TopIndex) Lightened(heavy []string) ([]byte, bool) {
	light, copied, found := make([]byte, 0, 512), o.start, false
	for k := range o.n {
		e := o.at(k)
		i := heavyIndex(heavy, o.body[e.name.from:e.name.to])
		if i < 0 {
			if e.value.to-e.value.from > maxLight {
				return nil, false
			}
			continue
		}
		found = found || i == 0 && o.holds(e)
		light = append(append(light, o.body[copied:e.value.from]...), "null"...)
		copied = e.value.to
	}
	return append(light, o.body[copied:o.end]...), found
}

// TopIndex says where the top-level members of a body are, and has the statistics of the
// strings in it. The zero value is ready for Read, once; Reset makes it ready again.
type TopIndex struct {
	Statistics
	body       []byte
	start, end int
	// The first members are held in place: most bodies have no more.
	first [24]entry
	more  []entry
	n     int
}

// entry is a member.
type entry struct {
	name, value span
	// elements are the elements of a value that is an array.
	elements int
}

func (o *TopIndex) add(name, value span, elements int) {
	if o.body[value.from] != '[' {
		elements = 0
	}
	if e := (entry{name, value, elements}); o.n < len(o.first) {
		o.first[o.n] = e
	} else {
		o.more = append(o.more, e)
	}
	o.n++
}

func (o *TopIndex) at(i int) *entry {
	if i < len(o.first) {
		return &o.first[i]
	}
	return &o.more[i-len(o.first)]
}

// Read checks that body is a JSON object without duplicate names, and indexes it. A nil look
// gathers no statistics.
//
// False says that the body must be decoded: it is wrong, or only uncommon.
func (o *TopIndex) Read(body []byte, look *Look) bool {
	o.body = body
	s := scanner{b: body, look: look}
	o.start = space(body, 0)
	if o.start >= len(body) || body[o.start] != '{' {
		return false
	}
	var ok bool
	o.end, ok = s.object(o.start, 0, o)
	o.Statistics = s.statistics
	return ok && space(body, o.end) == len(body)
}

// maxKept is how many members beyond the first an index keeps memory for.
const maxKept = 1000

// Reset makes the index ready for another body, and lets go of the last one.
func (o *TopIndex) Reset() {
	o.Statistics, o.body, o.n, o.more = Statistics{}, nil, 0, o.more[:0]
	if cap(o.more) > maxKept {
		o.more = nil
	}
}

// holds reports whether a value is a string or an array that is not empty.
func (o *TopIndex) holds(e *entry) bool {
	return e.elements > 0 || o.body[e.value.from] == '"' && e.value.to-e.value.from > 2
}

// Elements returns the number of elements of the array that a member is; 0 when it is
// none.
func (o *TopIndex) Elements(name string) int {
	for k := range o.n {
		e := o.at(k)
		if string(o.body[e.name.from:e.name.to]) == name {
			return e.elements
		}
	}
	return 0
}

// Statistics describes the values of a body that are strings.
type Statistics struct {
	// Text is how many bytes of text there are, Attachments how many strings are
	// attachments in base64 instead.
	Text, Attachments int
	// Signs are all that look has seen.
	Signs Signs
}

// Look is what a protocol's bodies are looked through for.
type Look struct {
	// Sign returns what a string is a sign of, by its text between the quotes as it is
	// written.
	Sign func(value []byte) Signs
	// An object whose member Kind is a sign of a Result is to have a member ID that is
	// a string and not empty.
	Kind, ID string
}

// Signs are what a body may hold. A string may be a sign of nothing for all that.
type Signs uint8

const (
	// Foreign is content of another upstream, or what has an identifier of ours.
	Foreign Signs = 1 << iota
	// Result is the result of a tool call; of a body, that one has no identifier.
	Result
)

// note takes a string into account.
func (s *Statistics) note(value []byte, look *Look) Signs {
	signs := look.Sign(value)
	s.Signs |= signs &^ Result
	if attached(value) {
		s.Attachments++
	} else {
		s.Text += len(value)
	}
	return signs
}

// attached reports whether a string is long and has nothing but what base64 is made of,
// or is a data: URL of it.
func attached(value []byte) bool {
	const few = 1 << 10
	if len(value) < few {
		return false
	}
	if bytes.HasPrefix(value, []byte("data:")) {
		return true
	}
	for _, c := range value[:few] {
		switch {
		case c >= '0' && c <= '9', c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c == '+', c == '/', c == '-', c == '_', c == '=':
		default:
			return false
		}
	}
	return true
}

// StatisticsOf gathers the statistics of a body without decoding it. A body that cannot be
// scanned counts as text, and as one that may hold anything.
func StatisticsOf(body []byte, look *Look) *edgev1.BodyStatistics {
	var o TopIndex
	if !o.Read(body, look) {
		return &edgev1.BodyStatistics{TextBytes: int64(len(body)), Foreign: true}
	}
	return o.Wire()
}

// Wire returns the statistics as an edge sends them to a core.
func (s *Statistics) Wire() *edgev1.BodyStatistics {
	return &edgev1.BodyStatistics{TextBytes: int64(s.Text), Attachments: int64(s.Attachments), Foreign: s.Signs&Foreign != 0}
}

// ToolCalls reads an object that counts calls of a vendor's own tools: web_search_requests of Anthropic's and
// OpenRouter's server_tool_use, web_search_calls of xAI's server_side_tool_usage_details. Counts of zero say
// nothing.
func ToolCalls(object jsontext.Value) []*genwayv1.ToolUsage {
	var tools []*genwayv1.ToolUsage
	for name, n := range counts(object) {
		tool, isCount := strings.CutSuffix(name, "_requests")
		if !isCount {
			tool, isCount = strings.CutSuffix(name, "_calls")
		}
		if isCount && n != 0 {
			tools = append(tools, &genwayv1.ToolUsage{Tool: tool, Calls: n})
		}
	}
	return tools
}

// CacheWrites reads an object that counts the tokens written to a cache by their lifetime: ephemeral_1h_input_tokens of
// Anthropic's cache_creation, ttl_12h_tokens of OpenAI's cache_write_tokens_details.
func CacheWrites(object jsontext.Value) []*genwayv1.CacheWrite {
	var writes []*genwayv1.CacheWrite
	for name, n := range counts(object) {
		ttl, isCount := strings.CutSuffix(name, "_tokens")
		ttl = strings.TrimSuffix(ttl, "_input")
		kind, ttl, _ := strings.Cut(ttl, "_")
		if isCount && (kind == "ephemeral" || kind == "ttl") && ttl != "" {
			writes = append(writes, &genwayv1.CacheWrite{Ttl: ttl, Tokens: n})
		}
	}
	return writes
}

// counts yields the members of an object that are whole numbers, in their order.
func counts(object jsontext.Value) func(yield func(string, int64) bool) {
	return func(yield func(string, int64) bool) {
		if object.Kind() != '{' {
			return
		}
		_ = Walk(object, func(name string, value jsontext.Value) bool {
			var n struct {
				N *int64 `json:"n"`
			}
			if value.Kind() == '0' {
				Fit(append(append([]byte(`{"n":`), value...), '}'), &n)
			}
			return n.N == nil || yield(name, *n.N)
		}, fitOptions)
	}
}
