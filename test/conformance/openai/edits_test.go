package openai_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/genway/genway/test/conformance/check"
	"github.com/genway/genway/test/conformance/picture"
	"github.com/genway/genway/test/conformance/server"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// editor is a fake of the vendor that edits: it takes the fields of its SDK's ImageEditParams and nothing else, and answers
// with the first image.
type editor struct{ t *testing.T }

func (e editor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if r.URL.Path != "/v1/images/edits" || err != nil {
		e.t.Errorf("%s: %v", r.URL, err)
		return
	}
	texts, files := map[string]string{}, map[string][][]byte{}
	for form := multipart.NewReader(r.Body, params["boundary"]); ; {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			e.t.Error(err)
			return
		}
		data, _ := io.ReadAll(part)
		switch name := part.FormName(); name {
		case "image", "image[]", "mask":
			files[strings.TrimSuffix(name, "[]")] = append(files[strings.TrimSuffix(name, "[]")], data)
		case "model", "prompt", "n", "size", "quality", "background", "input_fidelity", "output_format", "output_compression", "partial_images", "stream", "user":
			if _, twice := texts[name]; twice || part.FileName() != "" {
				e.t.Errorf("%s twice, or a file", name)
			}
			texts[name] = string(data)
		default:
			e.t.Errorf("an unknown field %s", name)
		}
	}
	if texts["model"] != "painter" || len(files["image"]) == 0 || texts["input_fidelity"] != "high" {
		e.t.Errorf("asked %v", texts)
		return
	}
	image := base64.StdEncoding.EncodeToString(files["image"][0])
	const usage = `"usage":{"input_tokens":30,"input_tokens_details":{"image_tokens":20,"text_tokens":10},"output_tokens":24,"total_tokens":54}`
	if texts["stream"] != "true" {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"created":7,"data":[{"b64_json":%q}],"size":"31x20",%s}`, image, usage)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for i := range 2 {
		_, _ = fmt.Fprintf(w, "event: image_edit.partial_image\ndata: {\"type\":\"image_edit.partial_image\",\"b64_json\":%q,\"partial_image_index\":%d,\"created_at\":7}\n\n", image, i)
	}
	_, _ = fmt.Fprintf(w, "event: image_edit.completed\ndata: {\"type\":\"image_edit.completed\",\"b64_json\":%q,\"created_at\":7,\"size\":\"31x20\",%s}\n\n", image, usage)
}

// TestImagesEdited: the SDK edits by upstreams of images, by those whose models draw in answers of text, and by the
// sandbox (case C22).
func TestImagesEdited(t *testing.T) {
	t.Parallel()
	png := picture.PNG(t, 31, 20)
	edits, draws := httptest.NewServer(editor{t}), httptest.NewServer(&painter{t, png})
	defer edits.Close()
	defer draws.Close()
	config := filepath.Join(t.TempDir(), "genway.yaml")
	text := fmt.Sprintf("upstreams:\n  i: {kind: images, base_url: %q}\n  r: {kind: responses, base_url: %q}\n  g: {kind: generatecontent, base_url: %q}\n  s: {kind: sandbox}\n"+
		"routes:\n  - {model: painter, targets: [{upstream: i}]}\n  - {model: images, targets: [{upstream: i, model: painter}]}\n  - {model: responses, targets: [{upstream: r, model: painter}]}\n"+
		"  - {model: generatecontent, targets: [{upstream: g, model: painter}]}\n  - {model: sandbox, targets: [{upstream: s, model: sandbox-image}]}\n", edits.URL+"/v1", draws.URL+"/v1", draws.URL)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := server.Launch(server.Options{Args: []string{"--config", config}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}()
	c := openai.NewClient(option.WithBaseURL(s.URL()+"/v1"), option.WithAPIKey(s.Keys["chat"]), option.WithMaxRetries(0))
	for model, previews := range map[string]int{"painter": 2, "images": 2, "responses": 2, "generatecontent": 0, "sandbox": 2} {
		edit := func(masked bool, previews int64) openai.ImageEditParams { // readers are read once
			params := openai.ImageEditParams{
				Model: model, Prompt: "A red fox", Size: "1536x1024", InputFidelity: openai.ImageEditParamsInputFidelityHigh,
				Image: openai.ImageEditParamsImageUnion{OfFileArray: []io.Reader{openai.File(bytes.NewReader(png), "a b.png", "image/png"), bytes.NewReader(png)}},
			}
			if masked {
				params.Mask = openai.File(bytes.NewReader(png), "mask.png", "image/png")
			}
			if previews > 0 {
				params.PartialImages = openai.Int(previews)
			}
			return params
		}
		masks := model != "generatecontent"
		answer, err := c.Images.Edit(t.Context(), edit(masks, 0))
		if err != nil {
			t.Fatalf("%s: %v", model, err)
		}
		check.Equal(t, model+": number of images", len(answer.Data), 1)
		check.Truef(t, answer.Usage.TotalTokens > 0, "%s: no usage", model)
		if model != "sandbox" {
			check.Equal(t, model+": size", string(answer.Size), "31x20")
		}
		stream := c.Images.EditStreaming(t.Context(), edit(masks, 2))
		drafts, images := 0, 0
		for stream.Next() {
			switch ev := stream.Current(); ev.Type {
			case "image_edit.partial_image":
				drafts++
			case "image_edit.completed":
				images++
				check.Truef(t, ev.Usage.TotalTokens > 0, "%s: no usage", model)
			default:
				t.Errorf("%s: %s", model, ev.Type)
			}
		}
		check.Equal(t, model+": previews", drafts, previews)
		check.Truef(t, stream.Err() == nil && images == 1, "%s: %d images, %v", model, images, stream.Err())

		var refused *openai.Error
		if !masks {
			_, err = c.Images.Edit(t.Context(), edit(true, 0))
			check.Truef(t, errors.As(err, &refused) && refused.StatusCode == http.StatusBadRequest && refused.Param == "mask", "%s: %v", model, err)
		}
		lies := edit(false, 0)
		lies.Image = openai.ImageEditParamsImageUnion{OfFile: openai.File(bytes.NewReader(png), "a.jpg", "image/jpeg")}
		_, err = c.Images.Edit(t.Context(), lies)
		check.Truef(t, errors.As(err, &refused) && refused.StatusCode == http.StatusBadRequest && refused.Param == "image[0]", "%s: %v", model, err)
	}
}
