package chat_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/codectest"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"golang.org/x/tools/txtar"
	"google.golang.org/protobuf/proto"
)

// seed adds the section of that name of every golden case.
func seed(f *testing.F, section string) {
	f.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatal("no golden cases", err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, s := range txtar.Parse(raw).Files {
			if s.Name == section {
				f.Add(s.Data)
			}
		}
	}
}

// FuzzDecodeRequest demands that what decodes can be encoded, and that decoding
// that again changes nothing more.
func FuzzDecodeRequest(f *testing.F) {
	seed(f, "in.json")
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := c.DecodeRequest(body)
		if err != nil {
			return
		}
		if _, err := proto.Marshal(req.GenerateTextRequest); err != nil {
			t.Fatalf("%v\n%s", err, body)
		}
		once, err := c.EncodeRequest(req, nil)
		if err != nil {
			return // refused, as content of ours that a caller may not give is
		}
		again, err := c.DecodeRequest(once)
		if err != nil {
			t.Fatalf("%v\n%s\n%s", err, body, once)
		}
		twice, err := c.EncodeRequest(again, nil)
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%v\n%s\n%s\n%s", err, body, once, twice)
		}
	})
}

// FuzzDecodeResponse demands the same of answers, and that they stream.
func FuzzDecodeResponse(f *testing.F) {
	seed(f, "in.json")
	seed(f, "out.json")
	f.Fuzz(func(t *testing.T, body []byte) {
		resp, err := c.DecodeResponse(body)
		if err != nil {
			return
		}
		if _, err := proto.Marshal(resp); err != nil {
			t.Fatalf("%v\n%s", err, body)
		}
		once, err := c.EncodeResponse(resp, codec.Answer{})
		if err != nil {
			return
		}
		again, err := c.DecodeResponse(once)
		if err != nil {
			t.Fatalf("%v\n%s\n%s", err, body, once)
		}
		twice, err := c.EncodeResponse(again, codec.Answer{})
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%v\n%s\n%s\n%s", err, body, once, twice)
		}
	})
}

// FuzzDecodeStream demands that whatever frames come, their events are in order
// and can be encoded.
func FuzzDecodeStream(f *testing.F) {
	seed(f, "in.sse")
	seed(f, "out.sse")
	f.Fuzz(func(t *testing.T, body []byte) {
		decoder, encoder := c.NewStreamDecoder(), c.NewStreamEncoder(codec.Answer{})
		var folder codec.Accumulator
		pass := func(events []*genwayv1.StreamGenerateTextResponse) {
			for _, ev := range events {
				if err := folder.Add(proto.CloneOf(ev)); err != nil {
					t.Fatalf("%v\n%s", err, body)
				}
				if _, err := encoder.Encode(ev); err != nil {
					return
				}
			}
		}
		for _, frame := range codectest.ParseFrames(string(body)) {
			events, err := decoder.Decode(frame)
			pass(events)
			if err != nil {
				return
			}
		}
		events, _ := decoder.Close()
		pass(events)
	})
}

// FuzzDecodeError demands an error whatever the body is.
func FuzzDecodeError(f *testing.F) {
	f.Add(400, []byte(`{"error":{"message":"m","type":"t","param":"p","code":"c"}}`))
	f.Add(0, []byte(`{"error":"m"}`))
	f.Add(500, []byte(`{"detail":[{}]}`))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		e := c.DecodeError(status, body)
		if e == nil || e.Message == "" || e.HTTPStatus() < 400 {
			t.Fatalf("%+v", e)
		}
		if _, out := c.EncodeError(e); len(out) == 0 {
			t.Fatal("no body")
		}
	})
}
