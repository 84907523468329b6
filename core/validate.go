package core

import (
	"errors"
	"fmt"
	"strings"

	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol/deferred"
)

// checkText demands what every upstream needs of a text request. A JSON caller's
// codec has checked as much in its own terms; this is for direct callers.
func checkText(req *genwayv1.GenerateTextRequest) error {
	if req.GetModel() == "" {
		return fault.Missing("model")
	}
	if req.GetCompact() && req.GetWire() == nil {
		return fault.Invalid("compact", "compact: is for edges; ask for a summary in a message instead")
	}
	if deferred.Is(req) || len(req.GetMessages()) == 0 && len(req.GetWire().GetJson()) > 0 {
		return nil // what the body may leave out is its protocol's to say
	}
	if err := checkMessages(req.GetMessages()); err != nil || req.GetWire() != nil {
		return err
	}
	return checkDirect(req)
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
	case req.GetWire() != nil:
		return nil
	}
	return checkDirectImage(req)
}

// insideOf gives the failure of a message that stands in a member of another: the member
// at fault is that of the outer message.
func insideOf(member string, err error) error {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Kind != fault.InvalidRequest || f.Param == "" {
		return err
	}
	inside := *f
	inside.Param = member + "." + f.Param
	inside.Message = strings.Replace(f.Message, f.Param, inside.Param, 1)
	return &inside
}
