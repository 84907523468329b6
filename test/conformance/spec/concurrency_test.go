package spec_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/genway/genway/test/conformance/check"
)

// TestFortyCallsAtOnce: forty calls over the five operations at the same time, each
// with a text of its own; each gets the answer to its own.
func TestFortyCallsAtOnce(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, all []operation) {
		const calls = 40
		var (
			wait    sync.WaitGroup
			answers [calls]answer
			errs    [calls]error
		)
		for i := range calls {
			wait.Go(func() {
				op := all[i%len(all)]
				body := op.body()
				mine := fmt.Sprintf("This is call %d.", i)
				switch op.name {
				case "content generation":
					body["contents"] = []object{{"parts": []object{{"text": mine}}}}
				case "image generation":
					body["prompt"] = mine
				case "response creation":
					body["input"] = mine
				default:
					body["messages"] = user(mine)
				}
				answers[i], errs[i] = try(t.Context(), "POST", op.path, op.headers(), body)
			})
		}
		wait.Wait()
		images := map[string]bool{}
		for i, a := range answers {
			op := all[i%len(all)]
			check.Truef(t, errs[i] == nil, "%s: %v", op.name, errs[i])
			check.Equal(t, op.name, a.status, 200)
			holds(t, a, op.table())
			if path := replyOf(op.name); path != "" {
				reply := text(t, a, path)
				check.Contains(t, reply, fmt.Sprintf("This is call %d.", i))
				check.Equal(t, "calls in the reply", strings.Count(reply, "This is call"), 1)
				continue
			}
			images[text(t, a, "data[0].b64_json")] = true
		}
		check.Equal(t, "number of different images", len(images), calls/len(all))
	})
}
