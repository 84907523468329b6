package carried

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/chat"
	"github.com/genway/genway/codec/dialect"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// everyDialect are the members at the top that each upstream of chat completions takes: the limit of tokens by
// one of its names, and a format of answers, which is a JSON object at least.
var everyDialect = []string{"model", "messages", "tools", "max_tokens", "max_completion_tokens", "response_format"}

// A field that chat completions has a member for is not written for an upstream whose dialect does not
// have the member.
func TestNoMemberIsWrittenThatADialectLacks(t *testing.T) {
	none := dialect.New("")
	for _, s := range requestSubjects() {
		_, target := s.make()
		for _, f := range fieldsOf(target.ProtoReflect().Descriptor(), target) {
			for i := range values(f.leaf(), genwayv1.Protocol_PROTOCOL_IMAGES) {
				whole, target := s.make()
				set(open(target, f[:len(f)-1]), f.leaf(), i, chatCompletions)
				body, err := chat.Codec{}.EncodeRequest(&codec.Request{GenerateTextRequest: whole.(*genwayv1.GenerateTextRequest), Dialect: none}, nil)
				if err != nil {
					continue // it is refused by name
				}
				var members map[string]json.RawMessage
				if err := json.Unmarshal(body, &members); err != nil {
					t.Fatal(err)
				}
				for name := range members {
					if !slices.Contains(everyDialect, name) {
						t.Errorf("%s: %s: the body has %s, which the upstream is not known to take: add the member to codec/dialect/chat.go, and to settings in codec/chat/dialect.go", s.title, f, name)
					}
				}
			}
		}
	}
}
