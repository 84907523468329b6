package core

import (
	"fmt"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/unread"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// checkText demands what every upstream needs of a text request. A JSON caller's
// codec has checked as much in its own terms; this is for direct callers.
func checkText(req *genwayv1.GenerateTextRequest) error {
	if req.GetModel() == "" {
		return fault.Missing("model")
	}
	if unread.Is(req) {
		return nil
	}
	return checkMessages(req.GetMessages())
}

func checkMessages(messages []*genwayv1.Message) error {
	if len(messages) == 0 {
		return fault.Missing("messages")
	}
	for i, m := range messages {
		if m.GetRole() == genwayv1.Role_ROLE_UNSPECIFIED && m.GetNativeRole() == "" {
			return fault.Missing(fmt.Sprintf("messages[%d].role", i))
		}
		for j, p := range m.GetParts() {
			if p.GetKind() == nil {
				return fault.Missing(fmt.Sprintf("messages[%d].parts[%d].kind", i, j))
			}
		}
	}
	return nil
}

func checkImage(req *genwayv1.GenerateImageRequest) error {
	switch {
	case req.GetModel() == "":
		return fault.Missing("model")
	case req.GetPrompt() == "":
		return fault.Missing("prompt")
	}
	return nil
}
