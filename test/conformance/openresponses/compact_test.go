package openresponses

import (
	"net/http"
	"testing"

	"github.com/genway/genway/test/conformance/check"
	"github.com/genway/genway/test/conformance/wire"
)

// TestCompaction: the operation gives one item, which stands for the conversation later on.
func TestCompaction(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string) {
		conversation := []object{message("user", "We launch on Tuesday."), message("assistant", "Understood.")}
		status, raw := ask(t, kind, "/v1/responses/compact", object{"model": model, "prompt_cache_key": "k", "input": conversation})
		check.Equal(t, "status", status, http.StatusOK)
		doc, err := wire.Decode(raw)
		if err != nil {
			t.Fatal(err)
		}
		all := append(wire.Faults(doc, `
			id          string
			object      string   response.compaction
			created_at  integer
			output      array`+usageTable), itemFaults(doc, "output")...)
		for _, f := range all {
			t.Errorf("%s: %s", f, wire.Clip(raw))
		}
		item, _ := wire.Lookup(doc, "output[0]")
		check.Equal(t, "type of the item", wire.Text(item, "type"), "compaction")
		check.Contains(t, textOf(whole(t, kind, object{"model": model, "input": []any{item, message("user", "When?")}})), "Tuesday", "When?")
		status, raw = ask(t, kind, "/v1/responses/compact", object{"input": conversation})
		check.Equal(t, "status without a model", status, http.StatusBadRequest)
		check.Contains(t, raw, "model")
	})
}

// TestTrigger: a stream that ends with a trigger is one compaction item.
func TestTrigger(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string) {
		list := events(t, kind, steps(message("user", "We launch on Tuesday."), object{"type": "compaction_trigger"}))
		last := list[len(list)-1]
		check.Equal(t, "status", wire.Text(last.Data, "response.status"), "completed")
		check.Equal(t, "type of the item", wire.Text(last.Data, "response.output[0].type"), "compaction")
	})
}
