package workload

import (
	"encoding/base64"
	"strings"

	"github.com/genway/genway/test/bench/load"
)

// Protocol is one of the five.
type Protocol string

// The protocols.
const (
	Chat            Protocol = "chat"
	Responses       Protocol = "responses"
	Messages        Protocol = "messages"
	GenerateContent Protocol = "generatecontent"
	Images          Protocol = "images"
)

// Texts are the protocols that generate text.
func Texts() []Protocol { return []Protocol{Chat, Responses, Messages, GenerateContent} }

// Group is whose keys serve a protocol.
func (p Protocol) Group() string {
	switch p {
	case Messages, GenerateContent:
		return string(p)
	default:
		return string(Chat)
	}
}

// Native is the model that every upstream has; On gives the name under which a gateway
// serves it from the upstream of one protocol.
const Native = "bench-model"

// On names a model that is served from the upstream of one protocol.
func On(p Protocol) string { return "bench-on-" + string(p) }

// Path is where a model is asked.
func (p Protocol) Path(model string, stream bool) string {
	switch p {
	case Chat:
		return "/v1/chat/completions"
	case Responses:
		return "/v1/responses"
	case Messages:
		return "/v1/messages"
	case Images:
		return "/v1/images/generations"
	default:
		if stream {
			return "/v1beta/models/" + model + ":streamGenerateContent?alt=sse"
		}
		return "/v1beta/models/" + model + ":generateContent"
	}
}

// Headers carry a key.
func (p Protocol) Headers(key string) []load.Header {
	switch p {
	case Messages:
		return []load.Header{{Name: "x-api-key", Value: key}, {Name: "anthropic-version", Value: "2023-06-01"}}
	case GenerateContent:
		return []load.Header{{Name: "x-goog-api-key", Value: key}}
	default:
		return []load.Header{{Name: "Authorization", Value: "Bearer " + key}}
	}
}

// events is what a stream of the protocol looks like to the generator.
func (p Protocol) events(pieces int) load.Expect {
	switch p {
	case Responses:
		return load.Expect{Pieces: pieces, Delta: `.delta"`, End: `"response.completed"`}
	case Messages:
		return load.Expect{Pieces: pieces, Delta: `"text_delta"`, End: `"message_stop"`}
	case GenerateContent:
		return load.Expect{Pieces: pieces, Delta: `"text"`, End: `"finishReason"`}
	default:
		return load.Expect{Pieces: pieces, Delta: `"delta"`, End: `[DONE]`}
	}
}

// Two texts as people write them, with what JSON escapes.
const (
	system   = `You are a careful assistant. Answer briefly, in plain words, and cite the section of the manual you used. `
	question = `Explain in two paragraphs how an HTTP reverse proxy pools its upstream connections, and what \"head-of-line blocking\" means for HTTP/1.1 and HTTP/2.\nUse one example. `
)

// fill repeats a text up to at least n bytes, at least once.
func fill(text string, n int) string {
	return strings.Repeat(text, max(1, (n+len(text)-1)/len(text)))
}

// body returns a request of about size bytes. With a picture a user's question comes
// with an image of that size in base64.
func (p Protocol) body(model string, size int, picture, stream bool) []byte {
	instructions := fill(system, min(size, 1000)*2/5)
	prompt := fill(question, size-len(instructions)-220)
	image := ""
	if picture {
		instructions, prompt = system, question
		image = photograph(size)
	}
	var b strings.Builder
	write := func(parts ...string) {
		for _, part := range parts {
			b.WriteString(part)
		}
	}
	switch p {
	case Chat:
		write(`{"model":"`, model, `","messages":[{"role":"system","content":"`, instructions, `"},{"role":"user","content":`)
		if picture {
			write(`[{"type":"text","text":"`, prompt, `"},{"type":"image_url","image_url":{"url":"data:image/png;base64,`, image, `"}}]`)
		} else {
			write(`"`, prompt, `"`)
		}
		write(`}],"max_tokens":512,"temperature":0.7`)
	case Responses:
		write(`{"model":"`, model, `","instructions":"`, instructions, `","input":"`, prompt, `","max_output_tokens":512`)
	case Messages:
		write(`{"model":"`, model, `","max_tokens":512,"system":"`, instructions, `","messages":[{"role":"user","content":"`, prompt, `"}]`)
	case GenerateContent:
		write(`{"systemInstruction":{"parts":[{"text":"`, instructions, `"}]},"contents":[{"role":"user","parts":[{"text":"`, prompt, `"}]}]}`)
		return []byte(b.String())
	case Images:
		write(`{"model":"`, model, `","prompt":"a lighthouse at dusk, oil painting","size":"1024x1024","n":1,"quality":"low","output_format":"png"`)
	}
	if stream {
		write(`,"stream":true`)
	}
	write(`}`)
	return []byte(b.String())
}

// photograph returns about n characters of base64 of the bytes of a PNG that end in noise.
func photograph(n int) string {
	bytes := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x04\x00\x00\x00\x04\x00\x08\x02\x00\x00\x00"), make([]byte, n*3/4)...)
	noise := uint32(1)
	for i := 29; i < len(bytes); i++ {
		noise = noise*1664525 + 1013904223 // Numerical Recipes' generator
		bytes[i] = byte(noise >> 24)
	}
	return base64.StdEncoding.EncodeToString(bytes)
}
