package responses

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/codec/stored"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// recorder implements stored.Recorder.
type recorder struct {
	encoder *streamEncoder
	body    []byte
}

// NewRecorder implements stored.Codec.
func (Codec) NewRecorder(to codec.Answer) stored.Recorder {
	return &recorder{encoder: newStreamEncoder(to)}
}

// Add implements stored.Recorder.
func (r *recorder) Add(ev *genwayv1.StreamGenerateTextResponse) ([]codec.Frame, error) {
	frames, err := r.encoder.Encode(ev)
	if (ev.GetCompleted() != nil || ev.GetStarted() != nil) && err == nil {
		r.take(frames)
	}
	return frames, err
}

func (r *recorder) take(frames []codec.Frame) {
	if len(frames) > 0 {
		r.body = bytes.Clone(member.Value(frames[len(frames)-1].Data, "response"))
	}
}

// Body implements stored.Recorder.
func (r *recorder) Body() []byte { return r.body }

// itemsOf returns the items of an output. Those without an identifier cannot be referred to.
func itemsOf(output []byte) []stored.Item {
	var items []stored.Item
	for _, raw := range member.Elements(output) {
		if id := unquote(member.Value(raw, "id")); id != "" {
			items = append(items, stored.Item{ID: id, JSON: bytes.Clone(raw)})
		}
	}
	return items
}

// referenced returns the identifier that an item of a request refers to; "" for an item
// that is no reference (SDK: ResponseInputItemItemReferenceParam, whose type may be absent).
func referenced(raw jsontext.Value) string {
	if raw.Kind() != '{' {
		return ""
	}
	switch kind := jsontext.Value(member.Value(raw, "type")); {
	case kind.Kind() == '"' && unquote(kind) == typeReference:
	case len(kind) > 0 && kind.Kind() != 'n', len(member.Value(raw, "role")) > 0, len(member.Value(raw, "content")) > 0:
		return ""
	}
	return unquote(member.Value(raw, "id"))
}

// References returns the identifiers of ours that items of a request's body refer to, each
// once.
func References(body []byte) []string {
	var ids []string
	seen := map[string]bool{}
	for _, raw := range member.Elements(member.Value(body, "input")) {
		if id := referenced(raw); IsSyntheticID(id) && !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids
}

// Resolve returns the body with the known items in place of the references to them. All
// other references stay as they are.
func Resolve(body []byte, known map[string][]byte) ([]byte, error) {
	input := []byte{'['}
	for i, raw := range member.Elements(member.Value(body, "input")) {
		if item := known[referenced(raw)]; item != nil {
			raw = item
		}
		if i > 0 {
			input = append(input, ',')
		}
		input = append(input, raw...)
	}
	return member.Patch(body, member.Member{Name: "input", Value: append(input, ']')})
}

// IsReference reports whether a part is a reference to an item of an earlier answer.
func IsReference(p *genwayv1.Part) bool {
	o := p.GetOpaque()
	return o.GetProtocol() == protocol && o.GetType() == typeReference
}

// The vendor's prefixes of identifiers.
const (
	prefixResponse  = "resp_"
	prefixMessage   = "msg_"
	prefixReasoning = "rs_"
	prefixFunction  = "fc_"
	prefixCustom    = "ctc_"
	prefixImage     = "ig_"
	prefixOutput    = "fco_"
)

// syntheticMark follows the prefix of an identifier of ours.
const syntheticMark = "gw"

// syntheticID names an item that has no identifier: the same for the same answer
// and place, streamed or not. The time at which the answer was created distinguishes answers
// of an upstream that uses few identifiers: Ollama has 999.
func syntheticID(prefix, responseID string, created int64, index int) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%d/%d", responseID, created, index)
	return fmt.Sprintf("%s%s%016x", prefix, syntheticMark, h.Sum64())
}

// IsSyntheticID reports whether the identifier of an item is one of ours, which
// no upstream has ever seen.
func IsSyntheticID(id string) bool {
	_, rest, ok := strings.Cut(id, "_"+syntheticMark)
	return ok && len(rest) == 16 && strings.Trim(rest, "0123456789abcdef") == ""
}

// IsSyntheticPart reports whether a part, or the item that it is, has such an identifier.
func IsSyntheticPart(p *genwayv1.Part) bool {
	return IsSyntheticID(p.GetId()) || p.GetOpaque().GetProtocol() == protocol && hasSyntheticID(p.GetOpaque().GetJson())
}

// hasSyntheticID reports whether an item that is no reference has such an identifier.
func hasSyntheticID(item []byte) bool {
	return IsSyntheticID(unquote(member.Value(item, "id"))) && referenced(item) == ""
}

// mayBeSynthetic reports whether a string may be such an identifier, by where it would
// have the mark.
func mayBeSynthetic(text []byte) bool {
	mark := len(text) - 16 - len("_"+syntheticMark)
	return mark >= 0 && string(text[mark:len(text)-16]) == "_"+syntheticMark
}
