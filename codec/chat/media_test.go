package chat_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/chat"
	"github.com/genway/genway/codec/dialect"
	"github.com/genway/genway/codec/fault"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Videos, and audio by its address, go to engines that are known to take them, and to no other.
func TestMediaOfDialects(t *testing.T) {
	video := &genwayv1.Part{Kind: &genwayv1.Part_Video{Video: &genwayv1.Media{MimeType: "video/mp4", Source: &genwayv1.Media_Url{Url: "https://a.example/x"}}}}
	inline := &genwayv1.Part{Kind: &genwayv1.Part_Video{Video: &genwayv1.Media{MimeType: "video/mp4", Source: &genwayv1.Media_Data{Data: []byte("x")}}}}
	audio := &genwayv1.Part{Kind: &genwayv1.Part_Audio{Audio: &genwayv1.Media{Source: &genwayv1.Media_Url{Url: "https://a.example/x"}}}}
	kept := &genwayv1.Part{Kind: &genwayv1.Part_Video{Video: &genwayv1.Media{Source: &genwayv1.Media_FileId{FileId: "file-1"}}}}
	for _, c := range []struct {
		part       *genwayv1.Part
		of         *dialect.Chat
		want, fail string
	}{
		{video, dialect.Least, `{"type":"video_url","video_url":{"url":"https://a.example/x"}}`, ""},
		{inline, dialect.New("messages.content.video_url"), `{"type":"video_url","video_url":{"url":"data:video/mp4;base64,eA=="}}`, ""},
		{video, nil, "", "takes no video"},
		{video, dialect.New("messages.content.audio_url messages.content.input_audio"), "", "takes no video"},
		{audio, dialect.Least, `{"type":"audio_url","audio_url":{"url":"https://a.example/x"}}`, ""},
		{audio, dialect.New("messages.content.input_audio"), "", "takes audio by its bytes only"},
		{kept, dialect.Least, "", "by its data or URL, not by a file id"},
	} {
		req := &codec.Request{Dialect: c.of, GenerateTextRequest: &genwayv1.GenerateTextRequest{
			Model: "m", Messages: []*genwayv1.Message{{Role: genwayv1.Role_ROLE_USER, Parts: []*genwayv1.Part{c.part}}},
		}}
		body, err := chat.Codec{}.EncodeRequest(req, nil)
		var f *fault.Error
		if c.fail == "" && (err != nil || !strings.Contains(string(body), `"content":[`+c.want+`]`)) ||
			c.fail != "" && (!errors.As(err, &f) || f.Kind != fault.InvalidRequest || !strings.HasPrefix(f.Param, "messages[0].parts[0]") || !strings.Contains(f.Message, c.fail)) {
			t.Errorf("%v for %v is %s, %v", c.part, c.of, body, err)
		}
	}
}
