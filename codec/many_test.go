package codec_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/chat"
	"github.com/genway/genway/codec/codectest"
	"github.com/genway/genway/codec/dialect"
	"github.com/genway/genway/codec/generatecontent"
	"github.com/genway/genway/codec/messages"
	"github.com/genway/genway/codec/responses"
)

// Requests with very many items are translated at a cost that grows with their number alone. The bound
// is far above what that takes on a slow machine, and far below the square.
func TestU43TranslatingManyItemsIsCheap(t *testing.T) {
	const many = 160_000
	everyone := []codec.Codec{chat.Codec{}, responses.Codec{}, messages.Codec{}, generatecontent.Codec{}}
	for name, c := range map[string]struct {
		from             codec.Codec
		head, item, tail string // # is the number of the item
		to               []codec.Codec
	}{
		"calls of responses": {
			responses.Codec{}, `{"model":"m","input":[`, `{"type":"function_call","call_id":"call_#","name":"f","arguments":"{}"}`, `]}`, everyone,
		},
		// generateContent refuses results of calls that it does not know.
		"results of messages": {
			messages.Codec{}, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[`,
			`{"type":"tool_result","tool_use_id":"call_#","content":"x"}`, `]}]}`, everyone[:3],
		},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			for i := range many {
				b.WriteString("," + strings.ReplaceAll(c.item, "#", strconv.Itoa(i)))
			}
			body := []byte(c.head + b.String()[1:] + c.tail)
			for _, to := range c.to {
				codectest.CostsItsLength(t, len(body), func() {
					since := time.Now()
					req, err := c.from.DecodeRequest(body)
					if err != nil {
						t.Fatal(err)
					}
					req.Dialect = dialect.Least
					if _, err := to.EncodeRequest(req, &codec.Losses{}); err != nil {
						t.Fatal(err)
					}
					if took := time.Since(since); took > 20*time.Second {
						t.Errorf("%v: %d items take %v", to.Protocol(), many, took)
					}
				})
			}
		})
	}
}
