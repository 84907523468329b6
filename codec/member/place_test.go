package member_test

import (
	"testing"

	"github.com/genway/genway/codec/member"
)

func TestPlace(t *testing.T) {
	message := member.Place{Path: "messages", Element: 3}
	part := member.Place{In: &message, Path: "content", Element: 1}
	for want, place := range map[string]member.Place{
		"": {}, "item": {Path: "item"}, "messages[2]": message, "messages[2].content[0]": part, "messages[2].role": {In: &message, Path: "role"},
		"parts[0]": {In: &member.Place{}, Path: "parts", Element: 1},
	} {
		if got := place.String(); got != want {
			t.Errorf("%+v is %q, not %q", place, got, want)
		}
	}
	if got := part.Join("type"); got != "messages[2].content[0].type" {
		t.Error(got)
	}
}
