package generatecontent_test

import (
	"errors"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/codectest"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/generatecontent"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
)

// seed adds a section of the goldens that match.
func seed(f *testing.F, glob, section string) {
	f.Helper()
	files, err := filepath.Glob(glob)
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds in %s", glob)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, s := range archive.Files {
			if s.Name == section {
				f.Add(s.Data)
			}
		}
	}
}

// compact takes out the white space, which encoding does not keep.
func compact(body []byte) []byte {
	v := jsontext.Value(body).Clone()
	if v.Compact(jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true)) != nil {
		return body
	}
	return v
}

// vendorWord is how the vendor spells the words of its enums.
var vendorWord = regexp.MustCompile(`^[A-Z0-9_]+$`)

func mustBe(t *testing.T, err error, kind fault.Kind) {
	t.Helper()
	var e *fault.Error
	if !errors.As(err, &e) || e.Kind != kind {
		t.Fatalf("%v is not of kind %v", err, kind)
	}
}

func FuzzDecodeRequest(f *testing.F) {
	seed(f, "testdata/request-*.txtar", "in.json")
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := c.DecodeRequest(compact(body))
		if err != nil {
			mustBe(t, err, fault.InvalidRequest)
			return
		}
		var losses codec.Losses
		out, err := c.EncodeRequest(req, &losses)
		if err != nil {
			t.Fatalf("encode: %v", err)
		}
		again, err := c.DecodeRequest(out)
		if err != nil {
			t.Fatalf("decode: %v\n%s", err, out)
		}
		if len(losses.List()) == 0 && !proto.Equal(req.GenerateTextRequest, again.GenerateTextRequest) {
			t.Fatalf("%s\n%s", cmp.Diff(req.GenerateTextRequest, again.GenerateTextRequest, protocmp.Transform()), out)
		}
	})
}

func FuzzDecodeResponse(f *testing.F) {
	seed(f, "testdata/response-*.txtar", "in.json")
	f.Fuzz(func(t *testing.T, body []byte) {
		resp, err := c.DecodeResponse(compact(body))
		if err != nil {
			if _, ok := errors.AsType[*fault.Error](err); !ok {
				t.Fatal(err)
			}
			return
		}
		for i, candidate := range resp.Candidates {
			if !vendorWord.MatchString(candidate.NativeStopReason) || int(candidate.Index) != i {
				return // not what an upstream says; encoding mends it
			}
		}
		if codectest.Broken(resp) {
			return
		}
		out, err := c.EncodeResponse(resp, codec.Answer{})
		if err != nil {
			t.Fatalf("encode: %v", err)
		}
		again, err := c.DecodeResponse(out)
		if err != nil {
			t.Fatalf("decode: %v\n%s", err, out)
		}
		if !proto.Equal(resp, again) {
			t.Fatalf("%s\n%s", cmp.Diff(resp, again, protocmp.Transform()), out)
		}
	})
}

func FuzzDecodeStream(f *testing.F) {
	seed(f, "testdata/stream-*.txtar", "in.txt")
	f.Fuzz(func(t *testing.T, body []byte) {
		frames := codectest.ParseFrames(string(body))
		resp, err := codectest.DecodeStream(c, frames)
		if err != nil {
			return
		}
		codectest.EncodeStream(t, c, codec.Events(resp, halves), codec.Answer{})
	})
}

func FuzzDecodeError(f *testing.F) {
	seed(f, "testdata/error-*.txtar", "in.json")
	f.Fuzz(func(t *testing.T, body []byte) {
		e := c.DecodeError(400, body)
		if e.Message == "" || e.Kind == 0 {
			t.Fatalf("%+v", e)
		}
		status, out := c.EncodeError(e)
		if status < 400 || len(out) == 0 {
			t.Fatalf("%d %s", status, out)
		}
	})
}

func FuzzDecodeCountRequest(f *testing.F) {
	seed(f, "testdata/count-*.txtar", "in.json")
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := c.DecodeCountRequest(compact(body))
		if err != nil {
			mustBe(t, err, fault.InvalidRequest)
			return
		}
		if _, err := (generatecontent.Codec{}).EncodeCountRequest(req, nil); err != nil {
			t.Fatalf("encode: %v", err)
		}
	})
}
