package drawing_test

import (
	"testing"

	"github.com/genway/genway/codec/drawing"
)

func TestMember(t *testing.T) {
	for path, want := range map[string]string{
		"": "", "model": "model", "tools[0].size": "size", "tools": "tools", "messages[0]": "prompt", "messages[0].parts[0].text": "prompt",
		"messages[0].parts[1].image.media_type": "images[0].media_type", "messages[0].parts[16].image": "images[15]", "messages[0].parts[": "prompt",
	} {
		if got := drawing.Member(path); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
}
