package codec_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/chat"
	"github.com/genway/genway/codec/codectest"
	"github.com/genway/genway/codec/dialect"
	"github.com/genway/genway/codec/generatecontent"
	"github.com/genway/genway/codec/interactions"
	"github.com/genway/genway/codec/messages"
	"github.com/genway/genway/codec/responses"
	"github.com/genway/genway/test/cpu"
)

// Requests with very many items are translated at a cost that grows with their number, and not with its square.
func TestU43TranslatingManyItemsIsCheap(t *testing.T) {
	const many = 40_000
	everyone := []codec.Codec{chat.Codec{}, responses.Codec{}, messages.Codec{}, generatecontent.Codec{}, interactions.Codec{}}
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
			body := func(n int) []byte {
				var b strings.Builder
				for i := range n {
					b.WriteString("," + strings.ReplaceAll(c.item, "#", strconv.Itoa(i)))
				}
				return []byte(c.head + b.String()[1:] + c.tail)
			}
			for _, to := range c.to {
				translate := func(body []byte) {
					req, err := c.from.DecodeRequest(body)
					if err != nil {
						t.Fatal(err)
					}
					req.Dialect = dialect.Least
					if _, err := to.EncodeRequest(req, &codec.Losses{}); err != nil {
						t.Fatal(err)
					}
				}
				whole := body(many)
				codectest.CostsItsLength(t, len(whole), func() { translate(whole) })
				cpu.Linear(t, many, func(n int) func() {
					body := body(n)
					return func() { translate(body) }
				})
			}
		})
	}
}
