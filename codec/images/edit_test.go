package images_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"mime/multipart"
	"runtime"
	"strings"
	"testing"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/images"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	"github.com/google/go-cmp/cmp"
)

const (
	aPNG  = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x02\x00\x00\x00\x03"
	aJPEG = "\xff\xd8\xff\xe0\x00\x02"
	bound = "multipart/form-data; boundary=b"
)

// field is the text of a form's field.
func field(disposition, contentType, content string) string {
	head := "--b\r\nContent-Disposition: form-data; " + disposition + "\r\n"
	if contentType != "" {
		head += "Content-Type: " + contentType + "\r\n"
	}
	return head + "\r\n" + content + "\r\n"
}

func text(name, value string) string { return field(`name="`+name+`"`, "", value) }

func file(name, contentType, content string) string {
	return field(`name="`+name+`"; filename="a.png"`, contentType, content)
}

var plain = text("model", "m") + text("prompt", "p")

func TestDecodeEditForm(t *testing.T) {
	body := plain + file("image[]", "image/png", aPNG) + file("image[]", "application/octet-stream", aJPEG) + file("mask", "image/png", aPNG) +
		text("n", "2") + text("stream", "true") + text("partial_images", "1") + text("output_compression", "0") + text("user", "7") +
		text("input_fidelity", "high") + text("svg[model]", "gpt") + text("tags[]", "a") + text("tags[]", "true") + text("complexity", "1") +
		file("markup", "image/png", "x") + "--b--\r\n"
	req, err := images.Codec{}.DecodeEdit([]byte(body), bound)
	if err != nil {
		t.Fatal(err)
	}
	native := func(name, json string, binding bool) *genwayv1.NativeField {
		return &genwayv1.NativeField{Protocol: genwayv1.Protocol_PROTOCOL_IMAGES, Name: name, Json: []byte(json), Binding: binding}
	}
	media := func(mimeType, data string) *genwayv1.Media {
		return &genwayv1.Media{MimeType: mimeType, Filename: "a.png", Source: &genwayv1.Media_Data{Data: []byte(data)}}
	}
	want := &genwayv1.GenerateImageRequest{
		Model: "m", Prompt: "p", Count: new(int32(2)), PartialImages: new(int32(1)), OutputCompression: new(int32(0)), User: "7", InputFidelity: "high",
		Images: []*genwayv1.Media{media("image/png", aPNG), media("image/jpeg", aJPEG)}, Mask: media("image/png", aPNG),
		NativeFields: []*genwayv1.NativeField{
			native("complexity", `"1"`, true), native("markup", `"data:image/png;name=a.png;base64,eA=="`, true),
			native("svg", `{"model":"gpt"}`, true), native("tags", `["a","true"]`, false),
		},
	}
	if diff := cmp.Diff(want, req.GenerateImageRequest, protocmp.Transform()); diff != "" || !req.Stream {
		t.Errorf("stream %v %s", req.Stream, diff)
	}
	// Over a connection the images stay in the body.
	bare := images.Bare(req.GenerateImageRequest)
	if len(bare.GetImages()) != 2 || bare.GetImages()[0].GetSource() != nil || bare.GetMask().GetSource() != nil || bare.GetNativeFields() != nil {
		t.Errorf("%v", bare)
	}
	bare.Wire = &genwayv1.WireMessage{Protocol: genwayv1.Protocol_PROTOCOL_IMAGES, Json: []byte(body)}
	if err := images.Complete(bare); err != nil {
		t.Fatal(err)
	}
	bare.Wire = nil
	if diff := cmp.Diff(want, bare, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	if got := images.FormModel([]byte(body)); got != "m" {
		t.Errorf("the model is %q", got)
	}
	// A form that is made anew says the same.
	anew, err := images.Codec{}.EncodeStreamRequest(want, nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := images.Codec{}.DecodeEdit(anew, images.FormType(anew))
	if err != nil {
		t.Fatalf("%v\n%s", err, anew)
	}
	if diff := cmp.Diff(want, again.GenerateImageRequest, protocmp.Transform()); diff != "" || !again.Stream {
		t.Errorf("stream %v %s\n%s", again.Stream, diff, anew)
	}
}

func TestDecodeEditJSON(t *testing.T) {
	inline := "data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte(aPNG))
	body := `{"model":"m","prompt":"p","images":[{"image_url":"https://a.example/x.png"},{"file_id":"file-1"},{"image_url":"` + inline + `"}],"mask":{"file_id":"f"},"moderation":"low","x":1}`
	req, err := images.Codec{}.DecodeEdit([]byte(body), "application/json")
	if err != nil {
		t.Fatal(err)
	}
	want := &genwayv1.GenerateImageRequest{
		Model: "m", Prompt: "p", Moderation: "low", Mask: &genwayv1.Media{Source: &genwayv1.Media_FileId{FileId: "f"}},
		Images: []*genwayv1.Media{
			{Source: &genwayv1.Media_Url{Url: "https://a.example/x.png"}}, {Source: &genwayv1.Media_FileId{FileId: "file-1"}},
			{MimeType: "image/png", Source: &genwayv1.Media_Data{Data: []byte(aPNG)}},
		},
		NativeFields: []*genwayv1.NativeField{{Protocol: genwayv1.Protocol_PROTOCOL_IMAGES, Name: "x", Json: []byte("1")}},
	}
	if diff := cmp.Diff(want, req.GenerateImageRequest, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	// An image that is an address cannot be in a form.
	anew, err := images.Codec{}.EncodeRequest(want, nil)
	if err != nil || anew[0] != '{' {
		t.Fatalf("%v\n%s", err, anew)
	}
	again, err := images.Codec{}.DecodeEdit(anew, "")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, again.GenerateImageRequest, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}

// What is no edit is refused, by the name of the field at fault.
func TestEditRefusals(t *testing.T) {
	image, end := file("image", "image/png", aPNG), "--b--"
	for name, c := range map[string]struct{ body, contentType, param, says string }{
		"no image":                  {plain + end, bound, "image", ""},
		"mask without image":        {plain + file("mask", "image/png", aPNG) + end, bound, "image", ""},
		"seventeen images":          {plain + strings.Repeat(file("image[]", "image/png", aPNG), 17) + end, bound, "image", "at most 16 images, got 17"},
		"empty image":               {plain + file("image", "image/png", "") + end, bound, "image[0]", "empty"},
		"image that is text":        {plain + text("image", aPNG) + end, bound, "image[0]", "expected a file"},
		"type that lies":            {plain + image + file("image[]", "image/jpeg", aPNG) + end, bound, "image[1]", "not of that type"},
		"type that lies of nothing": {plain + file("image", "image/png", "GIF") + end, bound, "image[0]", "not of that type"},
		"mask that lies":            {plain + image + file("mask", "image/png", aJPEG) + end, bound, "mask", "not of that type"},
		"no image type":             {plain + file("image", "text/plain", aPNG) + end, bound, "image[0]", `got "text/plain"`},
		"nothing known":             {plain + file("image", "application/octet-stream", "%PDF") + end, bound, "image[0]", "expected a PNG"},
		"two masks":                 {plain + image + strings.Repeat(file("mask", "image/png", aPNG), 2) + end, bound, "mask", "twice"},
		"model twice":               {plain + text("model", "n") + image + end, bound, "model", "twice"},
		"model twice, as a list":    {plain + text("model[]", "n") + image + end, bound, "model[]", "twice"},
		"model of other letters":    {plain + text("Model", "n") + image + end, bound, "Model", ""},
		"model as a file":           {text("prompt", "p") + file("model", "text/plain", "m") + image + end, bound, "model", "expected a text"},
		"no model":                  {text("prompt", "p") + image + end, bound, "model", ""},
		"no prompt":                 {text("model", "m") + image + end, bound, "prompt", ""},
		"n of 0":                    {plain + text("n", "0") + image + end, bound, "n", "at least 1"},
		"n of -1":                   {plain + text("n", "-1") + image + end, bound, "n", "at least 1"},
		"n of 2^53+1":               {plain + text("n", "9007199254740993") + image + end, bound, "n", ""},
		"n of NaN":                  {plain + text("n", "NaN") + image + end, bound, "n", ""},
		"n of nothing":              {plain + text("n", "") + image + end, bound, "n", ""},
		"n twice":                   {plain + text("n", "1") + text("n", "1") + image + end, bound, "n", "twice"},
		"stream of words":           {plain + text("stream", "yes") + image + end, bound, "stream", ""},
		"unknown twice":             {plain + text("x", "1") + text("x", "1") + image + end, bound, "x", "twice"},
		"list and text":             {plain + text("x[]", "1") + text("x", "1") + image + end, bound, "x", "twice"},
		"object and text":           {plain + text("x", "1") + text("x[a]", "1") + image + end, bound, "x[a]", "twice"},
		"object in a list":          {plain + text("x[][a]", "1") + image + end, bound, "x[][a]", ""},
		"brackets that stay open":   {plain + text("x[a", "1") + image + end, bound, "x[a", ""},
		"images as texts":           {plain + text("images[0][image_url]", "https://a.example") + end, bound, "images", "expected files"},
		"not UTF-8":                 {text("prompt", "\xff") + text("model", "m") + image + end, bound, "prompt", "UTF-8"},
		"text too long":             {plain + text("x", strings.Repeat("a", 1<<20+1)) + image + end, bound, "x", "at most"},
		"other file too long":       {plain + file("x", "image/png", strings.Repeat("a", 4<<20+1)) + image + end, bound, "x", "at most"},

		"no boundary":                {plain + image + end, "multipart/form-data", "", "requires a boundary"},
		"another boundary":           {plain + image + end, "multipart/form-data; boundary=c", "", "does not begin"},
		"boundary of other letters":  {plain + image + end, `multipart/form-data; boundary="b\r"`, "", "requires a boundary"},
		"boundary too long":          {plain + image + end, "multipart/form-data; boundary=" + strings.Repeat("b", 71), "", "requires a boundary"},
		"form without its type":      {plain + image + end, "", "", "content-type"},
		"form as JSON":               {plain + image + end, "application/json", "", "content-type"},
		"JSON as form":               {`{"model":"m"}`, bound, "", "does not begin"},
		"another multipart":          {plain + image + end, "multipart/mixed; boundary=b", "", "content-type"},
		"preamble":                   {"x\r\n" + plain + image + end, bound, "", "does not begin"},
		"epilogue":                   {plain + image + end + "\r\nx", bound, "", "follow the end"},
		"nothing":                    {"", bound, "", "does not begin"},
		"129 fields":                 {plain + image + strings.Repeat(text("tags[]", "a"), 126) + end, bound, "", "more than 128"},
		"long header":                {field(`name="a"; filename="`+strings.Repeat("a", 5000)+`"`, "", "x") + end, bound, "", "header of field 1"},
		"long name":                  {text(strings.Repeat("a", 129), "x") + end, bound, "", "expected a name"},
		"name of other letters":      {text("mo%64el", "x") + end, bound, "", "expected a name"},
		"no name":                    {field("", "", "x") + end, bound, "", "field 1"},
		"escaped quote":              {field(`name="x"; filename="a\"; name=\"model"`, "", "x") + end, bound, "", "escaped quote"},
		"name of a charset":          {field(`name="x"; name*=UTF-8''model`, "", "x") + end, bound, "", "charset"},
		"two names":                  {field(`name="x"; name="model"`, "", "x") + end, bound, "", "content-disposition"},
		"two dispositions":           {"--b\r\nContent-Disposition: form-data; name=\"x\"\r\nContent-disposition: form-data; name=\"model\"\r\n\r\nx\r\n" + end, bound, "", "two content-dispositions"},
		"no disposition":             {"--b\r\nContent-Type: text/plain\r\n\r\nx\r\n" + end, bound, "", "no content-disposition"},
		"no header":                  {"--b\r\n\r\nx\r\n" + end, bound, "", ""},
		"attachment":                 {"--b\r\nContent-Disposition: attachment; name=\"x\"\r\n\r\nx\r\n" + end, bound, "", "content-disposition"},
		"folded header":              {"--b\r\nContent-Disposition: form-data;\r\n name=\"x\"\r\n\r\nx\r\n" + end, bound, "", ""},
		"line feeds alone":           {strings.ReplaceAll(plain, "\r\n", "\n") + end, bound, "", ""},
		"line feed in a header":      {field("name=\"x\"\nContent-Type: text/plain", "", "x") + end, bound, "", "malformed header"},
		"two types":                  {field("name=\"x\"\r\nContent-Type: text/plain", "image/png", "x") + end, bound, "", "two content-types"},
		"base64":                     {field("name=\"x\"\r\nContent-Transfer-Encoding: base64", "", "eA==") + end, bound, "", "transfer-encoding"},
		"boundary after a line feed": {text("x", "\n--b\nContent-Disposition: form-data; name=\"model\"\n\nn") + end, bound, "", "begins with the boundary"},
		"boundary as a content":      {text("x", "--b\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nn") + end, bound, "", "begins with the boundary"},
		"longer boundary":            {text("x", "\r\n--bc\r\n") + end, bound, "", "cut off"},

		"JSON without images":    {`{"model":"m","prompt":"p"}`, "", "images", ""},
		"JSON, no images":        {`{"model":"m","prompt":"p","images":[]}`, "", "images", ""},
		"JSON, image null":       {`{"model":"m","prompt":"p","images":[null]}`, "", "images[0]", ""},
		"JSON, 17 images":        {`{"model":"m","prompt":"p","images":[{"file_id":"a"}` + strings.Repeat(`,{"file_id":"a"}`, 16) + `]}`, "", "images", "at most 16"},
		"JSON, both":             {`{"model":"m","prompt":"p","images":[{"file_id":"a","image_url":"b"}]}`, "", "images[0]", "image_url or file_id"},
		"JSON, more":             {`{"model":"m","prompt":"p","images":[{"file_id":"a","x":1}]}`, "", "images[0]", ""},
		"JSON, lie":              {`{"model":"m","prompt":"p","images":[{"image_url":"data:image/png;base64,eA=="}]}`, "", "images[0].image_url", "not of that type"},
		"JSON, no base64":        {`{"model":"m","prompt":"p","images":[{"image_url":"data:image/png;base64,*"}]}`, "", "images[0].image_url", "base64"},
		"JSON, text":             {`{"model":"m","prompt":"p","images":["a"]}`, "", "images[0]", ""},
		"JSON, mask alone":       {`{"model":"m","prompt":"p","mask":{"file_id":"a"}}`, "", "images", ""},
		"JSON, mask that is one": {`{"model":"m","prompt":"p","images":[{"file_id":"a"}],"mask":1}`, "", "mask", ""},
		"JSON, model twice":      {`{"model":"m","model":"n","prompt":"p","images":[{"file_id":"a"}]}`, "", "model", ""},
	} {
		_, err := images.Codec{}.DecodeEdit([]byte(c.body), c.contentType)
		f, ok := errors.AsType[*fault.Error](err)
		if !ok || f.Kind != fault.InvalidRequest || f.Param != c.param || !strings.Contains(f.Message, c.says) || c.param == "" && f.Reason != fault.ReasonMalformedForm {
			t.Errorf("%s: %#v", name, err)
		}
	}
	whole := plain + image + end
	if _, err := (images.Codec{}).DecodeEdit([]byte(whole), bound); err != nil {
		t.Fatal(err)
	}
	for n := range len(whole) - 1 { // cut at every byte
		if _, err := (images.Codec{}).DecodeEdit([]byte(whole[:n]), bound); err == nil {
			t.Errorf("a form that is cut at byte %d is taken", n)
		}
	}
}

// A direct caller's images are held to what a form's are.
func TestCompleteChecksDirectCallers(t *testing.T) {
	data := func(mimeType, data string) *genwayv1.Media {
		return &genwayv1.Media{MimeType: mimeType, Source: &genwayv1.Media_Data{Data: []byte(data)}}
	}
	for param, req := range map[string]*genwayv1.GenerateImageRequest{
		"images":              {Mask: data("", aPNG)},
		"images[0].source":    {Images: []*genwayv1.Media{{}}},
		"images[0].mime_type": {Images: []*genwayv1.Media{data("image/png", aJPEG)}},
		"mask.source":         {Images: []*genwayv1.Media{data("", aPNG)}, Mask: &genwayv1.Media{}},
		"":                    {Images: []*genwayv1.Media{data("", aPNG)}, Mask: data("image/jpg", aJPEG)},
	} {
		err := images.Complete(req)
		if f, _ := errors.AsType[*fault.Error](err); param == "" && err != nil || param != "" && (f == nil || f.Param != param) {
			t.Errorf("%q: %v", param, err)
		}
		if param == "" && (req.GetImages()[0].GetMimeType() != "image/png" || req.GetMask().GetMimeType() != "image/jpeg") {
			t.Errorf("%v", req)
		}
	}
}

// The images of a form stay where they are: to read 60 MB at edge and core allocates next to nothing, and a form of 60 MB in
// fields of a byte is refused at the first that is too many.
func TestFormsCostNoMemory(t *testing.T) {
	allocated := func(do func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		do()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	body := []byte(plain + file("image", "image/png", aPNG+strings.Repeat("a", 60<<20)) + "--b--")
	if n := allocated(func() {
		req, err := images.Codec{}.DecodeEdit(body, bound)
		if err != nil {
			t.Fatal(err)
		}
		core := images.Bare(req.GenerateImageRequest)
		core.Wire = &genwayv1.WireMessage{Json: body}
		if err := images.Complete(core); err != nil || len(core.GetImages()[0].GetData()) < 60<<20 {
			t.Error(err)
		}
	}); n > 256<<10 {
		t.Errorf("%d bytes", n)
	}
	body = []byte(plain + strings.Repeat(text("x[]", "1"), 60<<20/len(text("x[]", "1"))) + "--b--")
	if n := allocated(func() {
		if _, err := (images.Codec{}).DecodeEdit(body, bound); err == nil {
			t.Error("it is taken")
		}
	}); n > 256<<10 {
		t.Errorf("%d bytes", n)
	}
}

// A form is read as the standard library reads it.
func TestFormsOfTheLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var body bytes.Buffer
		w := multipart.NewWriter(&body)
		want := map[string]string{"model": "m", "prompt": rapid.StringN(1, 40, -1).Draw(t, "prompt")}
		for name, value := range want {
			_ = w.WriteField(name, value)
		}
		data := append([]byte(aPNG), rapid.SliceOf(rapid.Byte()).Draw(t, "data")...)
		to, _ := w.CreateFormFile("image", "a b.png")
		_, _ = to.Write(data)
		_ = w.Close()
		req, err := images.Codec{}.DecodeEdit(body.Bytes(), w.FormDataContentType())
		if err != nil || req.GetPrompt() != want["prompt"] || !bytes.Equal(req.GetImages()[0].GetData(), data) || req.GetImages()[0].GetFilename() != "a b.png" {
			t.Fatalf("%v %v", req, err)
		}
	})
}

// What is decoded can be encoded, and says the same then; and the library sees no other model in it.
func FuzzDecodeEdit(f *testing.F) {
	f.Add([]byte(plain+file("image", "image/png", aPNG)+file("mask", "image/png", aPNG)+text("n", "2")+"--b--\r\n"), bound)
	f.Add([]byte(plain+file("image[]", "image/png", aPNG)+file("markup", "image/png", "x")+text("svg[model]", "x")+"--b--"), bound)
	f.Add([]byte(`{"model":"m","prompt":"p","images":[{"file_id":"a"}],"mask":{"image_url":"https://a.example"}}`), "application/json")
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		req, err := images.Codec{}.DecodeEdit(body, contentType)
		if err != nil {
			if _, ok := errors.AsType[*fault.Error](err); !ok {
				t.Fatalf("%v", err)
			}
			return
		}
		if req.Fields != nil {
			if err := librarySees(body, images.FormType(body), req.GetModel()); err != nil {
				t.Fatal(err)
			}
		}
		anew, err := images.Codec{}.EncodeStreamRequest(req.GenerateImageRequest, nil)
		if err != nil {
			return // a name that has no place in a form
		}
		again, err := images.Codec{}.DecodeEdit(anew, images.FormType(anew))
		if err != nil {
			t.Fatalf("%v\n%s", err, anew)
		}
		for _, m := range []*genwayv1.GenerateImageRequest{req.GenerateImageRequest, again.GenerateImageRequest} {
			m.NativeFields = nil
			for _, image := range append(m.GetImages(), m.GetMask()) {
				if image != nil {
					image.Filename = ""
				}
			}
		}
		if !proto.Equal(req.GenerateImageRequest, again.GenerateImageRequest) {
			t.Fatalf("%v\n%v\n%s", req.GenerateImageRequest, again.GenerateImageRequest, anew)
		}
	})
}

// librarySees checks that a form has one model for the standard library as well.
func librarySees(body []byte, contentType, model string) error {
	_, boundary, _ := strings.Cut(contentType, "boundary=")
	r := multipart.NewReader(bytes.NewReader(body), strings.Trim(boundary, `"`))
	form, err := r.ReadForm(1 << 30)
	if err != nil {
		return nil //nolint:nilerr // it is stricter
	}
	if got := form.Value["model"]; len(got) != 1 || got[0] != model {
		return fmt.Errorf("the library sees the models %q, not %q", got, model)
	}
	return nil
}
