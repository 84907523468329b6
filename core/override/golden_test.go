package override_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/core/override"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/rogpeppe/go-internal/txtar"
	"google.golang.org/protobuf/proto"
)

// Of every request among the codecs' goldens the body says, after overrides, what the
// canonical request says: nothing of it is left behind, and nothing else is touched.
func TestBodiesOfGoldens(t *testing.T) {
	rules := map[string]override.Rules{
		"drop": {Drop: []string{"temperature", "top_p", "seed", "stop_sequences", "effort", "user", "service_tier", "store"}},
		"set":  {Set: map[string]any{"temperature": 0.25, "top_p": 0.75, "max_output_tokens": int64(77)}},
		"fill": {Default: map[string]any{"temperature": 0.25, "top_p": 0.75, "max_output_tokens": int64(77)}},
		"bound": {Bound: map[string]override.Range{
			"temperature": {Min: new(0.4), Max: new(0.6)}, "max_output_tokens": {Max: new(50.0)}, "top_k": {Max: new(3.0)},
		}},
	}
	for kind, c := range codecs {
		bodies := 0
		err := filepath.WalkDir(filepath.Join("..", "..", "codec", kind, "testdata"), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".txtar" {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, f := range txtar.Parse(text).Files {
				if !strings.HasSuffix(f.Name, ".json") {
					continue
				}
				if _, err := c.DecodeRequest(f.Data); err != nil {
					continue // an answer, a canonical message or a bad request
				}
				bodies++
				for verb, r := range rules {
					check(t, kind, path+", "+f.Name+", "+verb, f.Data, r)
				}
			}
			return nil
		})
		if err != nil || bodies < 5 {
			t.Errorf("%s: %d bodies, %v", kind, bodies, err)
		}
	}
}

func check(t *testing.T, kind, name string, body []byte, rules override.Rules) {
	t.Helper()
	c := codecs[kind]
	o, err := override.New(rules)
	if err != nil {
		t.Fatal(err)
	}
	req, err := c.DecodeRequest(body)
	if err != nil {
		t.Fatal(err)
	}
	req.Wire = &genwayv1.WireMessage{Protocol: c.Protocol(), Json: body}
	out, _, err := o.Text(req.GenerateTextRequest)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	again, err := c.DecodeRequest(out.GetWire().GetJson())
	if err != nil {
		t.Errorf("%s: %v\n%s", name, err, out.GetWire().GetJson())
		return
	}
	got := again.GenerateTextRequest
	out.Wire = nil
	// Which of two members a limit came in is not what the request says.
	for _, r := range []*genwayv1.GenerateTextRequest{out, got} {
		r.NativeFields = slices.DeleteFunc(slices.Clone(r.GetNativeFields()), member.IsMark)
	}
	if !proto.Equal(out, got) {
		t.Errorf("%s: canonical\n%v, the body says\n%v\nfrom\n%s", name, out, got, body)
	}
}
