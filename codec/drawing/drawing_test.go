package drawing_test

import (
	"testing"

	"github.com/genway/genway/codec/chat"
	"github.com/genway/genway/codec/drawing"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// What an upstream returns as an image must say that it is one: callers of images have no other word for its type.
func TestImageIsAnImage(t *testing.T) {
	for mime, want := range map[string]string{"image/svg+xml": "svg+xml", "text/html": "", "application/pdf": "", "image/png": "", "image/": "", "": ""} {
		part := &genwayv1.Part{Kind: &genwayv1.Part_Image{Image: &genwayv1.Media{MimeType: mime, Source: &genwayv1.Media_Data{Data: []byte("<svg/>")}}}}
		got, err := drawing.Image(chat.Codec{}, part, "m", "m", nil)
		if got.GetOutputFormat() != want || (err == nil) != (want != "") {
			t.Errorf("%q is %v, %v", mime, got, err)
		}
	}
}

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
