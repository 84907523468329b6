package chat

import (
	"bytes"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	"github.com/go-json-experiment/json/jsontext"
)

// chunks writes frames. What all chunks of a stream have in common is spelled
// once; a text delta is put between without building anything.
type chunks struct {
	envelope  answer
	head      string // ends with the opening of choices
	tail      string
	nullUsage bool
	// members are unknown members for the next chunk.
	members jsontext.Value
	w       *member.Writer
	frames  []codec.Frame
}

// reset makes room for the frames of the next event.
func (c *chunks) reset() {
	c.w.Reset()
	c.frames = c.frames[:0]
}

// compose spells the common part of the chunks.
func (c *chunks) compose() {
	w := member.NewWriter(256)
	w.Begin()
	c.envelope.writeMembers(w)
	w.List("choices")
	c.head, c.tail = string(w.Text()), "]}"
	if c.nullUsage {
		c.tail = `],"usage":null}`
	}
}

// raw adds a frame of data.
func (c *chunks) raw(data []byte) {
	c.frames = append(c.frames, codec.Frame{Data: data})
}

// send adds the frame that was written.
func (c *chunks) send() error {
	if err := c.w.Err(); err != nil {
		return fault.Wrap(err, fault.BadUpstream, fault.ReasonMalformedAnswer, "the upstream's answer cannot be written as JSON")
	}
	c.raw(c.w.Text())
	return nil
}

// whole adds a frame that is not made of head and tail.
func (c *chunks) whole(a answer) error {
	c.w.Next()
	a.write(c.w)
	return c.send()
}

// chunk adds a chunk with one choice.
func (c *chunks) chunk(ch choice) error {
	if c.members != nil {
		a := c.envelope
		a.Choices, a.Extra = []choice{ch}, c.members
		c.members = nil
		return c.whole(a)
	}
	c.w.Next()
	c.w.Put(c.head)
	ch.write(c.w)
	c.w.Put(c.tail)
	return c.send()
}

// textChunk adds a chunk whose delta is one string; open and shut are the JSON around
// it.
func (c *chunks) textChunk(index int32, open, s, shut string) {
	c.w.Next()
	c.w.Put(c.head)
	c.w.Put(`{"index":`)
	c.w.Element(int64(index))
	c.w.Put(`,"delta":`)
	c.w.Put(open)
	c.w.String(s)
	c.w.Put(shut)
	c.w.Put(`,"logprobs":null,"finish_reason":null}`)
	c.w.Put(c.tail)
	c.raw(c.w.Text())
}

// onlyUsage reports whether a chunk has usage and no choices.
func onlyUsage(data []byte) bool {
	if !bytes.Contains(data, []byte(`"usage"`)) {
		return false
	}
	choices, usage := member.Value(data, "choices"), member.Value(data, "usage")
	return len(usage) > 0 && usage[0] == '{' && len(choices) > 0 && choices[0] == '[' && len(bytes.TrimSpace(choices[1:len(choices)-1])) == 0
}
