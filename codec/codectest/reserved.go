package codectest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Reserved demands that each reserved member of a codec's bodies, in snake_case and in
// capitals as well, is refused in the extra_json and in the native fields of a request. But
// are the paths that native fields of the codec may have.
func Reserved(t *testing.T, c codec.Codec, reserved *member.Reserved, but ...string) {
	t.Helper()
	count := 0
	reserved.Names(func(path string) {
		count++
		for _, spelling := range []string{path, snake(path), strings.ToUpper(path)} {
			value := "1"
			names := strings.Split(spelling, ".")
			for _, name := range slices.Backward(names) {
				value = fmt.Sprintf("{%q:%s}", name, value)
			}
			refuse(t, c, "extra_json."+spelling, func(r *genwayv1.GenerateTextRequest) { r.ExtraJson = value })
			if slices.Contains(but, path) {
				continue
			}
			refuse(t, c, spelling, func(r *genwayv1.GenerateTextRequest) {
				r.NativeFields = []*genwayv1.NativeField{{Protocol: c.Protocol(), Name: spelling, Json: []byte("1")}}
			})
		}
	})
	if count < 10 {
		t.Errorf("only %d members are reserved", count)
	}
}

func refuse(t *testing.T, c codec.Codec, param string, set func(*genwayv1.GenerateTextRequest)) {
	t.Helper()
	r := &genwayv1.GenerateTextRequest{Model: "m", Messages: []*genwayv1.Message{{
		Role: genwayv1.Role_ROLE_USER, Parts: []*genwayv1.Part{{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{Text: "hi"}}}},
	}}}
	set(r)
	body, err := c.EncodeRequest(&codec.Request{GenerateTextRequest: r}, nil)
	if f, ok := errors.AsType[*fault.Error](err); !ok || f.Kind != fault.InvalidRequest || f.Param != param {
		t.Errorf("%s: %s, %v", param, body, err)
	}
}

// snake spells a name in snake_case.
func snake(name string) string {
	var b strings.Builder
	for _, c := range name {
		if c >= 'A' && c <= 'Z' {
			b.WriteByte('_')
			c += 'a' - 'A'
		}
		b.WriteRune(c)
	}
	return b.String()
}
