package messages_test

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

// seeds adds the sections of the golden cases to a fuzz target's corpus.
func seeds(f *testing.F, glob string, sections ...string) {
	f.Helper()
	files, err := filepath.Glob(glob)
	if err != nil || len(files) == 0 {
		f.Fatalf("no golden cases match %s (%v)", glob, err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, s := range txtar.Parse(raw).Files {
			for _, name := range sections {
				if s.Name == name {
					f.Add(s.Data)
				}
			}
		}
	}
}

// What decodes and encodes is encoded the same again: nothing wears off in a
// second passage.
func FuzzDecodeRequest(f *testing.F) {
	seeds(f, "testdata/request/*.txtar", "in.json", "out.json")
	seeds(f, "testdata/foreign/*.txtar", "out.json")
	f.Fuzz(func(t *testing.T, body []byte) {
		_, _ = c.DecodeCountRequest(body)
		req, err := c.DecodeRequest(body)
		if err != nil {
			return
		}
		once, err := c.EncodeRequest(req, nil)
		if err != nil {
			return
		}
		req, err = c.DecodeRequest(once)
		if err != nil {
			t.Fatalf("%v: %s", err, once)
		}
		twice, err := c.EncodeRequest(req, nil)
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%s\nbecame %s (%v)", once, twice, err)
		}
	})
}

// An answer that was encoded once is in the normal form, which unary answers and
// streams carry alike.
func FuzzDecodeResponse(f *testing.F) {
	seeds(f, "testdata/response/*.txtar", "in.json", "out.json")
	seeds(f, "testdata/answer/*.txtar", "out.json")
	f.Fuzz(func(t *testing.T, body []byte) {
		_, _ = c.DecodeCountResponse(body)
		resp, err := c.DecodeResponse(body)
		if err != nil {
			return
		}
		settled(t, resp)
	})
}

func FuzzDecodeStream(f *testing.F) {
	seeds(f, "testdata/stream/*.txtar", "in.sse", "out.sse")
	seeds(f, "testdata/answer/*.txtar", "out.sse")
	f.Fuzz(func(t *testing.T, body []byte) {
		resp, err := codectest.DecodeStream(c, codectest.ParseFrames(string(body)))
		if err != nil {
			return
		}
		settled(t, resp)
	})
}

func FuzzDecodeError(f *testing.F) {
	f.Add(529, []byte(`{"type":"error","error":{"type":"overloaded_error","message":"m","details":{"error_code":"c"}},"request_id":"r"}`))
	f.Add(0, []byte(`{"error":"x"}`))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		e := c.DecodeError(status, body)
		if e == nil || e.Message == "" {
			t.Fatalf("%d %s gave %v", status, body, e)
		}
		e.Wire = nil
		_, again := c.EncodeError(e)
		if back := c.DecodeError(status, again); back.Message != e.Message {
			t.Fatalf("%q became %q", e.Message, back.Message)
		}
	})
}

// settled demands that an answer, once encoded, survives being encoded again.
func settled(t *testing.T, resp *genwayv1.GenerateTextResponse) {
	t.Helper()
	body, err := c.EncodeResponse(resp, codec.Answer{})
	if err != nil {
		if codectest.Broken(resp) {
			return
		}
		t.Fatalf("%v: %v", err, resp)
	}
	normal, err := c.DecodeResponse(body)
	if err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	body, err = c.EncodeResponse(normal, codec.Answer{})
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.DecodeResponse(body)
	if err != nil || !proto.Equal(normal, again) {
		t.Fatalf("%v\nbecame %v (%v)", normal, again, err)
	}
	frames := codectest.EncodeStream(t, c, codec.Events(normal, nil), codec.Answer{})
	if _, err := codectest.DecodeStream(c, frames); err != nil {
		t.Fatalf("%v: %s", err, codectest.Frames(frames))
	}
}
