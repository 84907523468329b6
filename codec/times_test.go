package codec_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/chat"
	"github.com/genway/genway/codec/generatecontent"
	"github.com/go-json-experiment/json"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Times that no Timestamp can hold, such as those of servers that count milliseconds. An SDK
// of generateContent that cannot read createTime loses the whole answer.
var beyondTime = []string{"1700000000000", "253402300800", "-62135596801", "9223372036854775807", "-9223372036854775808", "1e15"}

func TestTimeThatIsNone(t *testing.T) {
	for _, created := range beyondTime {
		resp, err := chat.Codec{}.DecodeResponse(fmt.Appendf(nil, `{"id":"c","created":%s,"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}`, created))
		if err != nil || resp.CreateTime != nil {
			t.Errorf("chat, %s: %v, %v", created, resp.GetCreateTime(), err)
		}
		events, err := chat.Codec{}.NewStreamDecoder().Decode(codec.Frame{Data: fmt.Appendf(nil, `{"id":"c","created":%s,"choices":[{"index":0,"delta":{"content":"hi"}}]}`, created)})
		if err != nil || len(events) == 0 || events[0].GetStarted() == nil || events[0].GetStarted().CreateTime != nil {
			t.Errorf("chat, streamed, %s: %v, %v", created, events, err)
		}
	}
	resp, err := chat.Codec{}.DecodeResponse([]byte(`{"id":"c","created":253402300799,"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}`))
	if err != nil || resp.GetCreateTime().GetSeconds() != 253402300799 {
		t.Fatalf("the last second of a Timestamp: %v, %v", resp, err)
	}
	for _, seconds := range []int64{253402300799, 1700000000000} { // a place that speaks the contract may give any
		resp.CreateTime = &timestamppb.Timestamp{Seconds: seconds}
		body, err := generatecontent.Codec{}.EncodeResponse(resp, codec.Answer{})
		var answer struct {
			CreateTime time.Time `json:"createTime"`
		}
		if err == nil {
			err = json.Unmarshal(body, &answer)
		}
		if err != nil {
			t.Errorf("%d: %v in %s", seconds, err, body)
		}
	}
}
