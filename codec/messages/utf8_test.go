package messages_test

import (
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/messages"
	"google.golang.org/protobuf/proto"
)

// JSON of callers and upstreams may have bytes that are no UTF-8, in names too. A caller is told where; an answer has
// U+FFFD in their place, since a message of the contract with such a string could not be sent to another process.
func TestInvalidUTF8(t *testing.T) {
	const broken = "{\"\xff\":\"\xfe\"}"
	marshals := func(name string, m proto.Message, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		if _, err := proto.Marshal(m); err != nil {
			t.Errorf("%s: %v in %v", name, err, m)
		}
	}
	for name, members := range map[string]struct{ body, param string }{
		"schema of a tool":    {`"messages":[{"role":"user","content":"hi"}],"tools":[{"name":"t","input_schema":` + broken + `}]`, "tools[0].input_schema"},
		"schema of an answer": {`"messages":[{"role":"user","content":"hi"}],"output_config":{"format":{"type":"json_schema","schema":` + broken + `}}`, "output_config.format.schema"},
		"arguments in a turn": {`"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"t","input":` + broken + `}]}]`, "messages[0].content[0].input"},
	} {
		_, err := messages.Codec{}.DecodeRequest([]byte(`{"model":"m","max_tokens":9,` + members.body + `}`))
		if f := fault.From(err); err == nil || f.Kind != fault.InvalidRequest || f.Param != members.param {
			t.Errorf("%s: got %v of %s, want a refusal of %s", name, err, f.Param, members.param)
		}
	}
	call := `{"type":"tool_use","id":"toolu_1","name":"t","input":` + broken + `}`
	resp, err := messages.Codec{}.DecodeResponse([]byte(`{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[` + call + `],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}`))
	marshals("arguments in an answer", resp, err)
	decoder := messages.Codec{}.NewStreamDecoder()
	for _, data := range []string{
		`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":` + call + `}`,
		`{"type":"content_block_stop","index":0}`,
	} {
		events, err := decoder.Decode(codec.Frame{Data: []byte(data)})
		if err != nil {
			t.Error(err)
		}
		for _, ev := range events {
			marshals("arguments in a stream", ev, nil)
		}
	}
}
