package codectest

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"google.golang.org/protobuf/testing/protocmp"
)

// Heads holds what codec.HeadDecoder promises, for every JSON body in the golden files:
// a head says the same as the whole, and nothing malformed has one. Most requests must
// have one, or nothing is gained by it.
func Heads(t *testing.T, c codec.Codec) {
	t.Helper()
	heads, ok := c.(codec.HeadDecoder)
	if !ok {
		t.Fatalf("%T has no heads", c)
	}
	files, err := filepath.Glob("testdata/*.txtar")
	deeper, _ := filepath.Glob("testdata/*/*.txtar")
	if files = append(files, deeper...); err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	var requests, withHead int
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, section := range archive.Files {
			if req, err := c.DecodeRequest(section.Data); err == nil {
				requests++
				req.Messages, req.Tools = nil, nil
				if head, ok := heads.DecodeRequestHead(section.Data); ok {
					withHead++
					if diff := cmp.Diff(req, head, protocmp.Transform()); diff != "" {
						t.Errorf("%s, %s: the head of the request differs (-whole +head):\n%s", file, section.Name, diff)
					}
				}
			}
			if resp, err := c.DecodeResponse(section.Data); err == nil {
				resp.Candidates = nil
				if head, ok := heads.DecodeResponseHead(section.Data); ok {
					if diff := cmp.Diff(resp, head, protocmp.Transform()); diff != "" {
						t.Errorf("%s, %s: the head of the answer differs (-whole +head):\n%s", file, section.Name, diff)
					}
				}
			}
			body := bytes.TrimSpace(section.Data)
			for cut := range body {
				if _, ok := heads.DecodeRequestHead(body[:cut]); ok {
					t.Fatalf("%s, %s: the first %d bytes have a head", file, section.Name, cut)
				}
			}
		}
	}
	if withHead < requests/2 {
		t.Errorf("of %d requests only %d have a head", requests, withHead)
	}
}
