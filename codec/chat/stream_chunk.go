package chat

import (
	"bytes"
	"strconv"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// chunks writes frames. What all chunks of a stream have in common is spelled
// once; a text delta is put between without building anything.
type chunks struct {
	envelope  answer
	head      []byte // ends with the opening of choices
	tail      []byte
	nullUsage bool
	// members are unknown members for the next chunk.
	members jsontext.Value
	buf     []byte
	frames  []codec.Frame
}

// reset makes room for the frames of the next event.
func (c *chunks) reset() { c.buf, c.frames = c.buf[:0], c.frames[:0] }

var emptyChoices = []byte(`"choices":null`)

// compose spells the common part of the chunks.
func (c *chunks) compose() error {
	c.envelope.Choices = nil
	all, err := marshal(c.envelope)
	if err != nil {
		return unwritable(err)
	}
	// The identifier and the model may hold the same text, but escaped.
	at := bytes.Index(all, emptyChoices)
	rest := all[at+len(emptyChoices) : len(all)-1]
	c.head = append(append(append(c.head[:0], all[:at]...), rest2head(rest)...), `"choices":[`...)
	c.tail = append(c.tail[:0], ']')
	if c.nullUsage {
		c.tail = append(c.tail, `,"usage":null`...)
	}
	c.tail = append(c.tail, '}')
	return nil
}

// rest2head turns members that follow into members that precede.
func rest2head(rest []byte) []byte {
	if len(rest) == 0 {
		return nil
	}
	return append(rest[1:], ',')
}

// raw adds a frame of data.
func (c *chunks) raw(data []byte) {
	c.frames = append(c.frames, codec.Frame{Data: data})
}

// whole adds a frame that is not made of head and tail.
func (c *chunks) whole(a answer) error {
	data, err := marshal(a)
	if err != nil {
		return fault.Wrap(err, fault.BadUpstream, fault.ReasonMalformedAnswer, "the upstream's answer cannot be written as JSON")
	}
	c.raw(data)
	return nil
}

// chunk adds a chunk with one choice.
func (c *chunks) chunk(ch choice) error {
	if c.members != nil {
		a := c.envelope
		a.Choices, a.Extra = []choice{ch}, c.members
		c.members = nil
		return c.whole(a)
	}
	data, err := marshal(ch)
	if err != nil {
		return fault.Wrap(err, fault.BadUpstream, fault.ReasonMalformedAnswer, "the upstream's answer cannot be written as JSON")
	}
	start := c.begin()
	c.buf = append(c.buf, data...)
	c.end(start)
	return nil
}

// textChunk adds a chunk whose delta is one string; open and shut are the JSON around
// it.
func (c *chunks) textChunk(index int32, open, s, shut string) {
	start := c.begin()
	c.buf = append(c.buf, `{"index":`...)
	c.buf = strconv.AppendInt(c.buf, int64(index), 10)
	c.buf = append(c.buf, `,"delta":`...)
	c.buf = append(c.buf, open...)
	// Invalid UTF-8 is replaced, which is all the error says.
	c.buf, _ = jsontext.AppendQuote(c.buf, s)
	c.buf = append(c.buf, shut...)
	c.buf = append(c.buf, `,"logprobs":null,"finish_reason":null}`...)
	c.end(start)
}

func (c *chunks) begin() int {
	start := len(c.buf)
	c.buf = append(c.buf, c.head...)
	return start
}

func (c *chunks) end(start int) {
	c.buf = append(c.buf, c.tail...)
	c.raw(c.buf[start:len(c.buf):len(c.buf)])
}

// onlyUsage reports whether a chunk has usage and no choices.
func onlyUsage(data []byte) bool {
	if !bytes.Contains(data, []byte(`"usage"`)) {
		return false
	}
	var empty, used bool
	if member.Raw(data).Members(func(name []byte, v member.Raw) bool {
		switch string(name) {
		case "choices":
			empty = v[0] == '[' && len(bytes.TrimSpace(v[1:len(v)-1])) == 0
		case "usage":
			used = !v.IsNull()
		}
		return true
	}) {
		return empty && used
	}
	var a struct {
		Choices []jsontext.Value `json:"choices"`
		Usage   jsontext.Value   `json:"usage"`
	}
	err := json.Unmarshal(data, &a, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	return err == nil && a.Choices != nil && len(a.Choices) == 0 && given(a.Usage)
}
