package main

import (
	"bytes"
	"regexp"
	"slices"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/test/recorded"
	"github.com/tmaxmax/go-sse"
)

type exchange = recorded.Exchange

// load reads the exchanges of text generation.
func load(path string) ([]exchange, error) {
	all, err := recorded.Load(path)
	return slices.DeleteFunc(all, func(x exchange) bool { return !slices.Contains(names, x.Protocol) }), err
}

// agents are the captures of programs that work by themselves; the others are of SDKs.
var agents = regexp.MustCompile(`^(claude-code|codex|gemini-cli|opencode|pi)[-/]`)

// framesOf returns the events of a streamed answer, up to where it is none.
func framesOf(x exchange) []codec.Frame {
	var frames []codec.Frame
	for event, err := range sse.Read(bytes.NewBufferString(x.ResponseSSE), &sse.ReadConfig{MaxEventSize: 256 << 20}) {
		if err != nil {
			break
		}
		if event.Data != "" {
			frames = append(frames, codec.Frame{Event: event.Type, Data: []byte(event.Data)})
		}
	}
	return frames
}
