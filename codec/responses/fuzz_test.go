package responses_test

import (
	"path/filepath"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/codectest"
	"github.com/genway/genway/codec/fault"
	"golang.org/x/tools/txtar"
	"google.golang.org/protobuf/proto"
)

// seeds adds to f the sections of the goldens that have one of the names.
func seeds(f *testing.F, glob string, names ...string) {
	f.Helper()
	files, err := filepath.Glob(glob)
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds match %s (%v)", glob, err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, section := range archive.Files {
			for _, name := range names {
				if section.Name == name {
					f.Add(section.Data)
				}
			}
		}
	}
}

// What decodes is written again, and then means the same for good. The first
// writing may yet drop what only another upstream could take back.
func FuzzDecodeRequest(f *testing.F) {
	seeds(f, "testdata/request/*.txtar", "in.json", "out.json")
	seeds(f, "testdata/upstream/*.txtar", "out.json", "count.json")
	f.Fuzz(func(t *testing.T, body []byte) {
		first, err := c.DecodeRequest(body)
		if err != nil {
			if fault.From(err).Kind != fault.InvalidRequest {
				t.Fatalf("%v", err)
			}
			return
		}
		again := rewrite(t, first)
		last := rewrite(t, again)
		if !proto.Equal(again.GenerateTextRequest, last.GenerateTextRequest) {
			t.Fatalf("%v became %v", again.GenerateTextRequest, last.GenerateTextRequest)
		}
	})
}

func rewrite(t *testing.T, req *codec.Request) *codec.Request {
	t.Helper()
	body, err := c.EncodeRequest(req, nil)
	if err != nil {
		t.Fatalf("%v: %v", err, req.GenerateTextRequest)
	}
	again, err := c.DecodeRequest(body)
	if err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return again
}

func FuzzDecodeResponse(f *testing.F) {
	seeds(f, "testdata/response/*.txtar", "in.json", "out.json")
	seeds(f, "testdata/answer/*.txtar", "out.json")
	f.Fuzz(func(t *testing.T, body []byte) {
		resp, err := c.DecodeResponse(body)
		if err != nil {
			return
		}
		// Once written, the defaults are there.
		var forms []proto.Message
		for range 2 {
			out, err := c.EncodeResponse(resp, codec.Answer{})
			if err != nil {
				t.Fatalf("%v: %v", err, resp)
			}
			if resp, err = c.DecodeResponse(out); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			forms = append(forms, proto.Clone(resp))
		}
		if !proto.Equal(forms[0], forms[1]) {
			t.Fatalf("%v became %v", forms[0], forms[1])
		}
		codectest.RoundTripStream(t, c, resp, nil, nil)
	})
}

func FuzzDecodeStream(f *testing.F) {
	seeds(f, "testdata/stream/*.txtar", "in.sse", "out.sse")
	seeds(f, "testdata/answer/*.txtar", "out.sse")
	f.Fuzz(func(t *testing.T, body []byte) {
		resp, err := codectest.DecodeStream(c, codectest.ParseFrames(string(body)))
		if err != nil {
			if fault.From(err).Kind == fault.Internal {
				t.Fatalf("%v", err)
			}
			return
		}
		if _, err := c.EncodeResponse(resp, codec.Answer{}); err != nil {
			t.Fatalf("%v: %v", err, resp)
		}
	})
}

func FuzzDecodeError(f *testing.F) {
	f.Add(400, []byte(`{"error":{"message":"m","type":"t","param":"p","code":"c"}}`))
	f.Add(429, []byte(`{"error":"m"}`))
	f.Add(502, []byte(`<html>`))
	f.Add(200, []byte(`{"type":"response.failed","response":{"error":{"code":"server_error","message":"m"}}}`))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		err := c.DecodeError(status, body)
		got, out := c.EncodeError(err)
		if got < 400 || got > 599 || len(out) == 0 {
			t.Fatalf("%d %s", got, out)
		}
		c.NewStreamEncoder(codec.Answer{}).Fail(err)
		c.ErrorUsage(err)
	})
}
