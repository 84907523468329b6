package protocol

import "github.com/genway/genway/codec/stored"

// Stores returns the codec of a protocol whose callers may fetch, continue and delete answers that are stored; nil for others.
func (p *Protocol) Stores() stored.Codec {
	c, _ := p.Codec.(stored.Codec)
	return c
}

// Stored returns the codec of the protocol whose stored answers have such identifiers; nil for an identifier that no answer
// stored by Genway has.
func Stored(id string) stored.Codec {
	for _, p := range All() {
		if c := p.Stores(); c != nil && c.Stored().IsID(id) {
			return c
		}
	}
	return nil
}
