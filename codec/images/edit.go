package images

import (
	"mime"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxInputImages is the largest number of images that an edit begins with (ImageEditParams.Image of the SDK).
const maxInputImages = 16

// wireEdit is the body of a request to edit: in JSON (EditImageBodyJsonParam of the vendor's OpenAPI document), or with the
// same members but images as the fields of a form (ImageEditParams of the SDK).
//
//wire:read,write
type wireEdit struct {
	order
	settings
	Images []wireReference `json:"images"`
	Mask   *wireReference  `json:"mask"`
	Extra  jsontext.Value  `json:",embed"`
}

// wireReference is an image of a request in JSON: the address may be a data: URL.
type wireReference struct {
	ImageURL string         `json:"image_url"`
	FileID   string         `json:"file_id"`
	Extra    jsontext.Value `json:",embed"`
}

// DecodeEdit reads the body of a request to edit images, a form or JSON by its content type. It does not set Wire. The images'
// bytes may be parts of the body. Errors are *fault.Error values that name the member.
func (Codec) DecodeEdit(body []byte, contentType string) (*Request, error) {
	if kind, _, _ := mime.ParseMediaType(contentType); strings.HasPrefix(kind, "multipart/") || FormType(body) != "" {
		return decodeForm(body, contentType)
	}
	var w wireEdit
	if err := member.Decode(body, &w); err != nil {
		return nil, err
	}
	req, err := requestOf(&w.order, &w.settings, w.Extra)
	if err != nil {
		return nil, err
	}
	for i := range w.Images {
		image, err := w.Images[i].media(member.Index("images", i))
		if err != nil {
			return nil, err
		}
		req.Images = append(req.Images, image)
	}
	if w.Mask != nil {
		if req.Mask, err = w.Mask.media("mask"); err != nil {
			return nil, err
		}
	}
	return req, checkImages("images", len(req.Images))
}

// DecodeBody reads a body whose operation is not known. One that is a form, or has images, is an edit.
func (c Codec) DecodeBody(body []byte) (*Request, error) {
	form := FormType(body)
	if form == "" && member.Value(body, "images") == nil {
		return c.DecodeRequest(body)
	}
	return c.DecodeEdit(body, form)
}

// checkImages checks the number of images, whose member has that name.
func checkImages(name string, images int) error {
	switch {
	case images == 0:
		return fault.Missing(name)
	case images > maxInputImages:
		return fault.Invalid(name, "%s: expected at most %d images, got %d", name, maxInputImages, images)
	}
	return nil
}

// media returns the image that is referred to.
func (r *wireReference) media(at string) (*genwayv1.Media, error) {
	switch {
	case len(r.Extra) > 0:
		return nil, fault.Invalid(at, "%s: expected image_url or file_id alone", at)
	case (r.ImageURL == "") == (r.FileID == ""):
		return nil, fault.Invalid(at, "%s: expected image_url or file_id", at)
	case r.FileID != "":
		return &genwayv1.Media{Source: &genwayv1.Media_FileId{FileId: r.FileID}}, nil
	}
	at = member.Join(at, "image_url")
	image, err := member.MediaFromURL(r.ImageURL, at)
	if err != nil || image.GetUrl() != "" {
		return image, err
	}
	image.MimeType, err = typeOf(image.GetData(), image.GetMimeType(), at)
	return image, err
}

// typeOf returns the MIME type of an image's bytes. An image that is not of the type that it says is refused.
func typeOf(data []byte, says, at string) (string, error) {
	if says, _, _ = mime.ParseMediaType(says); says == "image/jpg" {
		says = "image/jpeg"
	}
	format := ReadHeader(data).Format
	named, isImage := strings.CutPrefix(says, "image/")
	switch {
	case len(data) == 0:
		return "", fault.Invalid(at, "%s: the image is empty", at)
	case says != "" && says != "application/octet-stream" && !isImage:
		return "", fault.Invalid(at, "%s: expected an image, got %.60q", at, says)
	case isImage && named != format && (format != "" || Recognized(named)):
		return "", fault.Invalid(at, "%s: the type says image/%.60s, and the bytes are not of that type", at, named)
	case isImage:
		return says, nil
	case format == "":
		return "", fault.Invalid(at, "%s: expected a PNG, JPEG, WebP or GIF image", at)
	}
	return "image/" + format, nil
}

// fields is an object of a form's fields: texts, lists and objects.
type fields map[string]any

// put adds a field whose name may go on with [key] and end with []. False means that the name is given twice, or is no name.
func (f fields) put(name string, value any) bool {
	base, rest, nested := strings.Cut(name, "[")
	if !nested {
		_, twice := f[name]
		f[name] = value
		return !twice
	}
	key, rest, ok := strings.Cut(rest, "]")
	has, given := f[base]
	if !ok || base == "" || rest != "" && rest[0] != '[' {
		return false
	}
	if key == "" {
		list, isList := has.([]any)
		f[base] = append(list, value)
		return rest == "" && (isList || !given)
	}
	inner, isObject := has.(fields)
	if !given {
		inner, isObject = fields{}, true
		f[base] = inner
	}
	return isObject && inner.put(key+rest, value)
}

// memberKinds are the kinds of the members that the contract has fields for, but images.
var memberKinds = func() map[string]reflect.Kind {
	kinds := map[string]reflect.Kind{}
	for _, t := range []reflect.Type{reflect.TypeFor[order](), reflect.TypeFor[settings]()} {
		for f := range t.Fields() {
			kind := f.Type
			if kind.Kind() == reflect.Pointer {
				kind = kind.Elem()
			}
			kinds[f.Tag.Get("json")] = kind.Kind()
		}
	}
	return kinds
}()

// valueOf returns the JSON value of a text in a form.
func valueOf(name, text string) any {
	value := jsontext.Value(text)
	switch kind := memberKinds[name]; {
	case kind == reflect.Int32 && value.IsValid() && value.Kind() == '0',
		kind == reflect.Bool && (text == "true" || text == "false"):
		return value
	}
	return text
}

// decodeForm reads a form. Fields that the contract has no field for become native fields: a text as it is, and a file as the
// data: URL that formOf makes a file of again.
func decodeForm(body []byte, contentType string) (*Request, error) {
	parts, err := parseForm(body, contentType)
	if err != nil {
		return nil, err
	}
	var images []*genwayv1.Media
	var mask *genwayv1.Media
	found := fields{}
	for i := range parts {
		p := &parts[i]
		base, _, _ := strings.Cut(p.name, "[")
		switch {
		case isImage(p.name):
			image, err := p.media(member.Index("image", len(images)))
			if err != nil {
				return nil, err
			}
			images = append(images, image)
			continue
		case p.name == "mask" && mask != nil:
			return nil, twice(p.name)
		case p.name == "mask":
			if mask, err = p.media(p.name); err != nil {
				return nil, err
			}
			continue
		case base == "image", base == "images", base == "mask":
			return nil, fault.Invalid(base, "%s: expected files of the names image, image[] and mask, got %s", base, p.name)
		}
		value, err := p.value()
		if err != nil {
			return nil, err
		}
		if !found.put(p.name, value) {
			return nil, twice(p.name)
		}
	}
	text, err := json.Marshal(found, json.Deterministic(true))
	if err != nil {
		return nil, unwritable(err)
	}
	var w wireEdit
	if err := member.Decode(text, &w); err != nil {
		return nil, err
	}
	req, err := requestOf(&w.order, &w.settings, w.Extra)
	if err != nil {
		return nil, err
	}
	req.Images, req.Mask = images, mask
	found["image"] = make([]struct{}, len(images))
	if mask != nil {
		found["mask"] = struct{}{}
	}
	if req.Fields, err = json.Marshal(found, json.Deterministic(true)); err != nil {
		return nil, unwritable(err)
	}
	return req, checkImages("image", len(images))
}

func twice(name string) error {
	return fault.Invalid(name, "%s: the form has the field twice, or one of another shape", name)
}

// isImage reports whether a field is one of the images: image, image[] or image[N].
func isImage(name string) bool {
	rest, ok := strings.CutPrefix(name, "image")
	if ok && strings.HasPrefix(rest, "[") {
		rest = strings.TrimLeft(rest[1:], "0123456789")
		return rest == "]"
	}
	return ok && rest == ""
}

// media returns the image that a file is.
func (p *part) media(at string) (*genwayv1.Media, error) {
	if !p.file {
		return nil, fault.Invalid(at, "%s: expected a file, got a text", at)
	}
	mimeType, err := typeOf(p.content, p.mimeType, at)
	return &genwayv1.Media{MimeType: mimeType, Filename: p.filename, Source: &genwayv1.Media_Data{Data: p.content}}, err
}

// value returns what a field has that is no image: a JSON value.
func (p *part) value() (any, error) {
	base, _, _ := strings.Cut(p.name, "[")
	_, known := memberKinds[base]
	switch {
	case p.file && known:
		return nil, fault.Invalid(p.name, "%s: expected a text, got a file", p.name)
	case p.file && len(p.content) > maxPartFile:
		return nil, fault.Invalid(p.name, "%s: expected a file of at most %d bytes", p.name, maxPartFile)
	case p.file:
		return fileURL(p), nil
	case len(p.content) > maxPartText:
		return nil, fault.Invalid(p.name, "%s: expected a text of at most %d bytes", p.name, maxPartText)
	case !utf8.Valid(p.content):
		return nil, fault.Invalid(p.name, "%s: the text is not UTF-8", p.name)
	}
	return valueOf(p.name, string(p.content)), nil
}

// refer writes the images of a request as references.
func (w *wireEdit) refer(req *genwayv1.GenerateImageRequest) error {
	for i, image := range req.GetImages() {
		reference, err := referenceOf(image, member.Index("images", i))
		if err != nil {
			return err
		}
		w.Images = append(w.Images, *reference)
	}
	if req.GetMask() == nil {
		return nil
	}
	var err error
	w.Mask, err = referenceOf(req.GetMask(), "mask")
	return err
}

func referenceOf(image *genwayv1.Media, at string) (*wireReference, error) {
	switch source := image.GetSource().(type) {
	case *genwayv1.Media_Data:
		head := "data:" + image.GetMimeType() + ";base64,"
		return &wireReference{ImageURL: string(member.AppendBase64([]byte(head), source.Data))}, nil
	case *genwayv1.Media_Url:
		return &wireReference{ImageURL: source.Url}, nil
	case *genwayv1.Media_FileId:
		return &wireReference{FileID: source.FileId}, nil
	}
	return nil, fault.Missing(at + ".source")
}

// filesOnly reports whether all images of a request are here, as a form must have them.
func filesOnly(req *genwayv1.GenerateImageRequest) bool {
	away := func(m *genwayv1.Media) bool {
		_, here := m.GetSource().(*genwayv1.Media_Data)
		return !here
	}
	return !slices.ContainsFunc(req.GetImages(), away) && (req.GetMask() == nil || !away(req.GetMask()))
}

// Bare returns an edit that came with its body, without what the body has: the bytes of images, and the members that
// the contract has no field for. Any other request stays as it is.
func Bare(req *genwayv1.GenerateImageRequest) *genwayv1.GenerateImageRequest {
	out := codec.Shared(req)
	out.NativeFields, out.Images = nil, nil
	bare := func(m *genwayv1.Media) *genwayv1.Media {
		return &genwayv1.Media{MimeType: m.GetMimeType(), Filename: m.GetFilename()}
	}
	for _, image := range req.GetImages() {
		out.Images = append(out.Images, bare(image))
	}
	if req.GetMask() != nil {
		out.Mask = bare(req.GetMask())
	}
	return out
}

// Complete sets what Bare has left out, from the body that came with the request. A request without a body has its images
// checked by the rules of DecodeEdit.
func Complete(req *genwayv1.GenerateImageRequest) error {
	body := req.GetWire().GetJson()
	switch {
	case req.GetMask() != nil && len(req.GetImages()) == 0:
		return fault.Missing("images")
	case len(req.GetImages()) == 0:
		return nil
	case len(body) == 0:
		return checkMedia(req)
	}
	whole, err := Codec{}.DecodeEdit(body, FormType(body))
	if err != nil {
		return err
	}
	req.Images, req.Mask, req.NativeFields = whole.GetImages(), whole.GetMask(), whole.GetNativeFields()
	return nil
}

// checkMedia checks the images of a request, and sets their types.
func checkMedia(req *genwayv1.GenerateImageRequest) error {
	check := func(m *genwayv1.Media, at string) (err error) {
		if m.GetSource() == nil {
			return fault.Missing(at + ".source")
		}
		if _, here := m.GetSource().(*genwayv1.Media_Data); here {
			m.MimeType, err = typeOf(m.GetData(), m.GetMimeType(), at+".mime_type")
		}
		return err
	}
	for i, image := range req.GetImages() {
		if err := check(image, member.Index("images", i)); err != nil {
			return err
		}
	}
	if req.GetMask() != nil {
		if err := check(req.GetMask(), "mask"); err != nil {
			return err
		}
	}
	return checkImages("images", len(req.GetImages()))
}
