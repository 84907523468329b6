package openai_test

import (
	"testing"

	"github.com/genway/genway/test/conformance/check"
	"github.com/openai/openai-go/v3/responses"
)

// TestCompact: by the SDK's own operation, and by a trigger; the item goes on.
func TestCompact(t *testing.T) {
	t.Parallel()
	c := client()
	message := says(responses.EasyInputMessageRoleUser, "We launch on Tuesday.")
	whole, err := c.Responses.Compact(t.Context(), responses.ResponseCompactParams{
		Model: textModel, Input: responses.ResponseCompactParamsInputUnion{OfResponseInputItemArray: []responses.ResponseInputItemUnionParam{message}},
	})
	if err != nil {
		t.Fatal(err)
	}
	check.Equal(t, "object", string(whole.Object), "response.compaction")
	check.Truef(t, whole.Usage.TotalTokens > 0 && whole.CreatedAt > 0 && whole.ID != "", "answer %s", whole.RawJSON())
	triggered := respond(t, conversation(message, responses.ResponseInputItemUnionParam{OfCompactionTrigger: new(responses.NewResponseInputItemCompactionTriggerParam())}))
	for _, output := range [][]responses.ResponseOutputItemUnion{whole.Output, triggered.Output} {
		if len(output) != 1 || output[0].Type != "compaction" {
			t.Fatalf("not one compaction item: %v", output)
		}
		item := output[0].AsCompaction()
		answer := respond(t, conversation(responses.ResponseInputItemParamOfCompaction(item.EncryptedContent), says(responses.EasyInputMessageRoleUser, "When?")))
		check.Contains(t, answer.OutputText(), "We launch on Tuesday.", "When?")
	}
}
