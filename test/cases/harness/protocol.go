package harness

import (
	"net/http"
	"strconv"
	"strings"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
)

// Protocol is what a caller or an upstream speaks. Its text is the prefix of the
// models behind an upstream of it.
type Protocol string

// The protocols.
const (
	Chat            Protocol = "chat"
	Responses       Protocol = "responses"
	Messages        Protocol = "messages"
	GenerateContent Protocol = "generatecontent"
	Interactions    Protocol = "interactions"
	Images          Protocol = "images"
)

// Texts are the protocols that generate text.
func Texts() []Protocol {
	return []Protocol{Chat, Responses, Messages, GenerateContent, Interactions}
}

// ID is the contract's value of the protocol, whose kind is its text.
func (p Protocol) ID() genwayv1.Protocol { return protocol.ByKind(string(p)).ID }

// Hello is the smallest body of a text protocol: one user turn that says "hi".
func (p Protocol) Hello() string {
	switch p {
	case Responses, Interactions:
		return `{"input":"hi"}`
	case Messages:
		return `{"max_tokens":99,"messages":[{"role":"user","content":"hi"}]}`
	case GenerateContent:
		return `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`
	case Images:
		return `{"prompt":"hi"}`
	default:
		return `{"messages":[{"role":"user","content":"hi"}]}`
	}
}

// path returns where a caller of the protocol posts to.
func (p Protocol) path(model string, stream bool) string {
	switch p {
	case Responses:
		return "/v1/responses"
	case Messages:
		return "/v1/messages"
	case GenerateContent:
		if stream {
			return "/v1beta/models/" + model + ":streamGenerateContent?alt=sse"
		}
		return "/v1beta/models/" + model + ":generateContent"
	case Interactions:
		return "/v1/interactions"
	case Images:
		return "/v1/images/generations"
	default:
		return "/v1/chat/completions"
	}
}

// body adds the members by which the protocol names the model and asks for a
// stream.
func (p Protocol) body(model, body string, stream bool) string {
	if p == GenerateContent {
		return body
	}
	head := `{"model":` + strconv.Quote(model)
	if stream {
		head += `,"stream":true`
	}
	rest := strings.TrimPrefix(strings.TrimSpace(body), "{")
	if strings.TrimSpace(rest) != "}" {
		head += ","
	}
	return head + rest
}

// headers are those every call of the protocol needs, the key among them.
func (p Protocol) headers() http.Header {
	h := http.Header{"Content-Type": {"application/json"}}
	switch p {
	case Messages:
		h.Set("X-Api-Key", string(Messages))
		h.Set("Anthropic-Version", "2023-06-01")
	case GenerateContent, Interactions:
		h.Set("X-Goog-Api-Key", string(GenerateContent))
	default:
		h.Set("Authorization", "Bearer "+string(Chat))
	}
	return h
}
