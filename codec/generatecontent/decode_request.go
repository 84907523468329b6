package generatecontent

import (
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// bindingMembers bear on the answer: continued or cached conversations, and
// screening.
var bindingMembers = map[string]bool{"cachedContent": true, "continuationToken": true, "modelArmorConfig": true}

// DecodeRequest reads a request body. The model stays empty: it is in the path. A
// model member of the body is taken and not kept.
func (Codec) DecodeRequest(body []byte) (*codec.Request, error) {
	var w request
	if err := member.Decode(camelCase(body), &w); err != nil {
		return nil, err
	}
	req, err := w.canonical("")
	if err != nil {
		return nil, err
	}
	return &codec.Request{GenerateTextRequest: req}, nil
}

// canonical returns the request as the contract has it; base is the path of the
// object in the body.
func (w *request) canonical(base string) (*genwayv1.GenerateTextRequest, error) {
	req := &genwayv1.GenerateTextRequest{}
	err := w.open(req, base)
	if err != nil {
		return nil, err
	}
	if err := w.messages(req, base); err != nil {
		return nil, err
	}
	if req.Tools, err = decodeTools(w.Tools, member.Join(base, "tools")); err != nil {
		return nil, err
	}
	return req, w.close(req, base)
}

// open reads what stands beside the conversation, the tools and the configuration.
func (w *request) open(req *genwayv1.GenerateTextRequest, base string) (err error) {
	if err := w.settings.decode(req, base); err != nil {
		return err
	}
	if err := member.Misspelt(w.Extra, "generationConfig"); err != nil {
		return err
	}
	req.NativeFields, err = natives(w.Extra, base, bindingMembers)
	return err
}

// close reads the configuration, behind the tools.
func (w *request) close(req *genwayv1.GenerateTextRequest, base string) error {
	if w.ToolConfig != nil {
		if err := w.ToolConfig.decode(req, member.Join(base, "toolConfig")); err != nil {
			return err
		}
	}
	if w.GenerationConfig != nil {
		return w.GenerationConfig.decode(req, member.Join(base, "generationConfig"))
	}
	return nil
}

// messages reads the system instruction, as the first message, and the turns.
func (w *request) messages(req *genwayv1.GenerateTextRequest, base string) error {
	if w.SystemInstruction != nil {
		place := member.Place{Path: member.Join(base, "systemInstruction")}
		// Its role says nothing: clients write user, system or none.
		m, err := reader{}.message(w.SystemInstruction, genwayv1.Role_ROLE_SYSTEM, place)
		if err != nil {
			return err
		}
		if speaks(m) {
			req.Messages = append(req.Messages, m)
		}
	}
	system := len(req.Messages)
	contents := member.Join(base, "contents")
	for i := range w.Contents {
		c := &w.Contents[i]
		place := member.Place{Path: contents, Element: i + 1}
		role, err := decodeRole(c.Role, place)
		if err != nil {
			return err
		}
		if len(c.Parts) == 0 {
			return fault.Missing(place.Join("parts"))
		}
		m, err := reader{}.message(c, role, place)
		if err != nil {
			return err
		}
		if role == genwayv1.Role_ROLE_ASSISTANT && !speaks(m) {
			continue // a model's turn that says nothing
		}
		req.Messages = append(req.Messages, m)
	}
	if len(req.Messages) == system {
		return fault.Missing(contents)
	}
	req.Messages = joinFragments(req.Messages)
	return nil
}

// speaks reports whether a message has more than empty text.
func speaks(m *genwayv1.Message) bool {
	return len(m.NativeFields) > 0 || len(m.Parts) > 0 && says(m.Parts[0])
}

// decodeRole reads the role of a turn. function is an earlier word for the user's
// turn of results.
func decodeRole(role string, place member.Place) (genwayv1.Role, error) {
	switch strings.ToLower(role) {
	case "", "user", "function":
		return genwayv1.Role_ROLE_USER, nil
	case "model":
		return genwayv1.Role_ROLE_ASSISTANT, nil
	}
	return 0, fault.Invalid(place.Join("role"), "%s.role must be user or model", place.String())
}
