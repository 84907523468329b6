package cases_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/genway/genway/test/cases/fake"
	"github.com/genway/genway/test/cases/harness"
)

const (
	editForm     = "multipart/form-data; boundary=b"
	editFinished = `{"type":"image_edit.completed","b64_json":"Ag==","created_at":7,"size":"8x8","usage":{"input_tokens":3,"output_tokens":4,"total_tokens":7},"new_member":1}`
	editPreview  = `{"type":"image_edit.partial_image","b64_json":"AQ==","partial_image_index":0,"created_at":7,"new_member":1}`
	editedWhole  = `{"created":7,"data":[{"b64_json":"Ag=="}],"usage":{"input_tokens":3,"output_tokens":4,"total_tokens":7},"new_member":1}`
)

func formField(name, value string) string {
	return "--b\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + value + "\r\n"
}

func formFile(name, mimeType, data string) string {
	return "--b\r\nContent-Disposition: form-data; name=\"" + name + "\"; filename=\"f\"\r\nContent-Type: " + mimeType + "\r\n\r\n" + data + "\r\n"
}

// editedPNG are the bytes of twoByOne.
func editedPNG(t *testing.T) string {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(twoByOne)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// edit is a call of the path that edits.
func edit(g *harness.Gateway, contentType, body string) harness.Answer {
	return g.Call(harness.Call{Path: "/v1/images/edits", Body: body, Header: http.Header{"Authorization": {"Bearer chat"}, "Content-Type": {contentType}}})
}

func edits(t *testing.T) {
	png := editedPNG(t)
	form := func(fields ...string) string { return strings.Join(fields, "") + "--b--\r\n" }
	image, mask := formFile("image[]", "image/png", png), formFile("mask", "image/png", png)
	t.Run("as a form", func(t *testing.T) {
		recorder, rows := newBook(t)
		g := harness.New(t, harness.Config{Ledger: recorder})
		body := form(formField("model", "images/m"), formField("prompt", "a fox"), image, image, mask, formField("input_fidelity", "high"), formField("svg[model]", "x"), formFile("markup", "image/png", "x"))
		g.Images.Answer(fake.JSON(editedWhole))
		a := edit(g, editForm, body)
		if a.Status != http.StatusOK || string(a.Body) != editedWhole {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		asked := g.Images.Last(t)
		if asked.Path != "/v1/images/edits" || !strings.HasPrefix(asked.Header.Get("Content-Type"), "multipart/form-data; boundary=") {
			t.Errorf("asked %s %v", asked.Path, asked.Header)
		}
		// The route has another name for the model: the form is made anew, with all that it had.
		for _, part := range []string{"name=\"model\"\r\n\r\nm\r\n", "name=\"prompt\"\r\n\r\na fox\r\n", "name=\"input_fidelity\"\r\n\r\nhigh\r\n", "name=\"svg[model]\"\r\n\r\nx\r\n",
			"name=\"image[]\"; filename=\"f\"\r\nContent-Type: image/png\r\n\r\n" + png + "\r\n", "name=\"mask\"; filename=\"f\"\r\nContent-Type: image/png\r\n\r\n" + png + "\r\n", "name=\"markup\"; filename=\"f\"\r\nContent-Type: image/png\r\n\r\nx\r\n"} {
			if !strings.Contains(string(asked.Body), part) {
				t.Errorf("no %q in %q", part, asked.Body)
			}
		}
		if row := settled(t, rows, 1); row.Usage.Images != 1 || row.Usage.Input != 3 || row.Usage.Output != 4 || row.Outcome != "ok" {
			t.Errorf("the row is %+v", row)
		}
	})
	t.Run("streamed", func(t *testing.T) {
		g := harness.New(t, harness.Config{})
		g.Images.Answer(fake.Stream(fake.Events(editPreview, editFinished)...))
		frames := edit(g, editForm, form(formField("model", "images/m"), formField("prompt", "a fox"), image, formField("stream", "true"), formField("partial_images", "1"))).Frames()
		if len(frames) != 2 || frames[0].Event != "image_edit.partial_image" || frames[0].Data != editPreview || frames[1].Event != "image_edit.completed" || frames[1].Data != editFinished {
			t.Errorf("%+v", frames)
		}
		g.Images.Answer(fake.JSON(editedWhole)) // an upstream without streams
		frames = edit(g, editForm, form(formField("model", "images/m"), formField("prompt", "a fox"), image, formField("stream", "true"))).Frames()
		if len(frames) != 1 || frames[0].Event != "image_edit.completed" || frames[0].JSON().At("b64_json").Text() != "Ag==" || frames[0].JSON().At("type").Text() != "image_edit.completed" {
			t.Errorf("%+v", frames)
		}
	})
	t.Run("as JSON", func(t *testing.T) {
		g := harness.New(t, harness.Config{})
		const rest = `"prompt":"a fox","images":[{"file_id":"file-1"},{"image_url":"https://a.example/x.png"}],"mask":{"file_id":"file-2"},"new_member":{"a":1}}`
		g.Images.Answer(fake.JSON(editedWhole))
		if a := edit(g, "application/json", `{"model":"images/m",`+rest); string(a.Body) != editedWhole {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		if asked := g.Images.Last(t); asked.Path != "/v1/images/edits" || string(asked.Body) != `{"model":"m",`+rest || asked.Header.Get("Content-Type") != "application/json" {
			t.Errorf("asked %s %s", asked.Path, asked.Body)
		}
	})
	for over, asks := range map[harness.Protocol]string{
		harness.Responses: `{"model":"m","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"a fox"},{"type":"input_image","image_url":"data:image/png;base64,` + twoByOne + `","detail":"auto"},{"type":"input_image","image_url":"data:image/png;base64,` + twoByOne + `","detail":"auto"}]}],` +
			`"tools":[{"type":"image_generation","input_fidelity":"high","size":"1024x1024","input_image_mask":{"image_url":"data:image/png;base64,` + twoByOne + `"}}],"tool_choice":{"type":"image_generation"}}`,
		harness.GenerateContent: `{"contents":[{"role":"user","parts":[{"text":"a fox"},{"inlineData":{"mimeType":"image/png","data":"` + twoByOne + `"}},{"inlineData":{"mimeType":"image/png","data":"` + twoByOne + `"}}]}],"generationConfig":{"responseModalities":["IMAGE"],"imageConfig":{"aspectRatio":"1:1"}}}`,
		harness.Chat:            `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a fox"},{"type":"image_url","image_url":{"url":"data:image/png;base64,` + twoByOne + `"}},{"type":"image_url","image_url":{"url":"data:image/png;base64,` + twoByOne + `"}}]}],"modalities":["image","text"]}`,
	} {
		t.Run("over "+string(over), func(t *testing.T) {
			recorder, rows := newBook(t)
			g := harness.New(t, harness.Config{Ledger: recorder})
			u, fields := g.Upstream(over), []string{formField("model", string(over)+"/m"), formField("prompt", "a fox"), formField("size", "1024x1024"), formField("input_fidelity", "high"), image, image}
			masked := over == harness.Responses
			if masked {
				fields = append(fields, mask)
			}
			u.Answer(fake.JSON(drawnOver[over].whole))
			a := edit(g, editForm, form(fields...))
			if a.JSON().At("data[0].b64_json").Text() != twoByOne || (a.Header.Get("X-Genway-Lost") == "") != masked || !masked && !strings.HasPrefix(a.Header.Get("X-Genway-Lost"), "input_fidelity") {
				t.Errorf("%s, lost %q", a.Body, a.Header.Get("X-Genway-Lost"))
			}
			if asked := u.Last(t).Body; string(asked) != asks {
				t.Errorf("asked %s\nwant  %s", asked, asks)
			}
			if row := settled(t, rows, 1); row.Usage.Images != 1 || row.Outcome != "ok" {
				t.Errorf("the row is %+v", row)
			}
			if !masked {
				refused := edit(g, editForm, form(append(fields, mask)...))
				if message := native(t, harness.Images, refused, 400); !strings.Contains(message, "has no masks") || refused.JSON().At("error.param").Text() != "mask" {
					t.Errorf("%s", refused.Body)
				}
			}
			refused := edit(g, editForm, form(append(fields, formFile("markup", "image/png", "x"))...))
			if native(t, harness.Images, refused, 400); refused.JSON().At("error.param").Text() != "markup" {
				t.Errorf("%s", refused.Body)
			}
		})
	}
	t.Run("refused", func(t *testing.T) {
		g := harness.New(t, harness.Config{MaxBodyBytes: 64 << 10})
		asks := []string{formField("model", "images/m"), formField("prompt", "a fox")}
		for param, body := range map[string]string{
			"image": form(append(asks, mask)...), "image[0]": form(append(asks, formFile("image", "image/jpeg", png))...), "n": form(append(asks, image, formField("n", "0"))...),
			"model": form(append(asks, image, formField("model", "images/n"))...),
		} {
			if a := edit(g, editForm, body); native(t, harness.Images, a, 400) == "" || a.JSON().At("error.param").Text() != param {
				t.Errorf("%s: %s", param, a.Body)
			}
		}
		native(t, harness.Images, edit(g, "multipart/form-data", form(append(asks, image)...)), 400)
		native(t, harness.Images, edit(g, editForm, form(append(asks, image)...)[:200]), 400)
		// net/http reads what is left of a body of this length, so that the connection is not reset under the answer.
		native(t, harness.Images, edit(g, editForm, form(append(asks, formFile("image", "image/png", png+strings.Repeat("a", 64<<10)))...)), 413)
		for key, status := range map[string]int{"": 401, "wrong": 401, "messages": 403} {
			header := http.Header{"Content-Type": {editForm}}
			if key != "" {
				header.Set("Authorization", "Bearer "+key)
			}
			for _, body := range []string{form(append(asks, image)...), form(mask)} { // a mistake of the body, too
				native(t, harness.Images, g.Call(harness.Call{Path: "/v1/images/edits", Body: body, Header: header}), status)
			}
		}
		if asked := g.Images.Requests(); len(asked) > 0 {
			t.Errorf("the upstream is asked %d times", len(asked))
		}
	})
}
