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

// many are requests with very many items: # is the number of the item.
var many = map[string]struct {
	codec            codec.Codec
	head, item, tail string
}{
	"calls of responses":  {responses.Codec{}, `{"model":"m","input":[`, `{"type":"function_call","call_id":"call_#","name":"f","arguments":"{}"}`, `]}`},
	"results of messages": {messages.Codec{}, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[`, `{"type":"tool_result","tool_use_id":"call_#","content":"x"}`, `]}]}`},
	"turns of messages": {
		messages.Codec{}, `{"model":"m","max_tokens":9,"messages":[`,
		`{"role":"assistant","content":[{"type":"tool_use","id":"call_#","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_#","content":"x"}]}`, `]}`,
	},
}

// Requests with very many items are translated at a cost that grows with their number alone: sixteen
// times as many take some twenty times as long, and the square would be 256 times. The least of three
// times counts, for a machine that is busy for a moment.
func TestU43TranslatingManyItemsIsCheap(t *testing.T) {
	const few, factor, most = 2500, 16, 120
	for name, m := range many {
		t.Run(name, func(t *testing.T) {
			body := func(items int) []byte {
				var b strings.Builder
				b.WriteString(m.head)
				for i := range items {
					if i > 0 {
						b.WriteByte(',')
					}
					b.WriteString(strings.ReplaceAll(m.item, "#", strconv.Itoa(i)))
				}
				b.WriteString(m.tail)
				return []byte(b.String())
			}
			for _, to := range []codec.Codec{chat.Codec{}, responses.Codec{}, messages.Codec{}, generatecontent.Codec{}} {
				if name == "results of messages" && to.Protocol() == (generatecontent.Codec{}).Protocol() {
					continue // which refuses results of calls that it does not know
				}
				translate := func(body []byte) {
					req, err := m.codec.DecodeRequest(body)
					if err != nil {
						t.Fatal(err)
					}
					req.Dialect = dialect.Least
					if _, err := to.EncodeRequest(req, &codec.Losses{}); err != nil {
						t.Fatal(err)
					}
				}
				least := func(body []byte) time.Duration {
					took := time.Hour
					for range 3 {
						since := time.Now()
						translate(body)
						took = min(took, time.Since(since))
					}
					return took
				}
				short, long := body(few), body(factor*few)
				if a, b := least(short), least(long); b > most*a {
					t.Errorf("%v: %d items take %v, %d take %v", to.Protocol(), few, a, factor*few, b)
				}
				codectest.CostsItsLength(t, len(long), func() { translate(long) })
			}
		})
	}
}
