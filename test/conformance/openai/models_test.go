package openai_test

import (
	"testing"

	"github.com/genway/genway/test/conformance/check"
	"github.com/openai/openai-go/v3"
)

func TestModels(t *testing.T) {
	t.Parallel()
	c := client()
	list := c.Models.ListAutoPaging(t.Context())
	names := map[string]bool{}
	for list.Next() {
		model := list.Current()
		names[model.ID] = true
		check.Equal(t, "object", string(model.Object), "model")
		check.Equal(t, "owned_by", model.OwnedBy, "genway")
		check.Truef(t, model.Created > 0, "created is absent: %s", model.RawJSON())
	}
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	check.Truef(t, names[textModel] && names[imageModel], "the list lacks a model: %v", names)

	model, err := c.Models.Get(t.Context(), textModel)
	if err != nil {
		t.Fatal(err)
	}
	check.Equal(t, "id", model.ID, textModel)
	_, err = c.Models.Get(t.Context(), "no-such-model")
	refused(t, err, 404, "invalid_request_error", "model_not_found")
}

// TestRequestID: the header that the SDKs read names the request, each time another.
func TestRequestID(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 2 {
		seen[header(t, chat(openai.UserMessage("Say hello.")), "x-request-id")] = true
	}
	check.Truef(t, !seen[""] && len(seen) == 2, "request ids are %v", seen)
}
