package responses

import (
	"bytes"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

const memberBackground = "background"

// refuseBackground refuses a request whose response would run in the background. Such a
// response is queued when its call is answered: the caller fetches it later by
// GET /v1/responses/{id}, which Genway does not offer, and only that later answer has its
// usage, so the ledger could not charge it.
func refuseBackground(natives []*genwayv1.NativeField) error {
	return backgroundFault(member.Native(protocol, natives, memberBackground))
}

// refuseExtraBackground does so for a body with the members that a direct caller adds.
func refuseExtraBackground(body []byte) error {
	return backgroundFault(member.Value(body, memberBackground))
}

// backgroundFault takes false and null, which are the vendor's default.
func backgroundFault(value jsontext.Value) error {
	value = bytes.TrimSpace(value)
	if len(value) == 0 || value.Kind() == 'n' || value.Kind() == 'f' {
		return nil
	}
	return fault.Invalid(memberBackground, "background: must be false; this server does not run responses in the background, since it does not offer their retrieval")
}
