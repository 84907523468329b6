package images

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"mime"
	"mime/multipart"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The bounds of a form. A vendor's edit has at most 16 images, a mask and twenty fields.
const (
	maxParts      = 128
	maxPartHeader = 4 << 10
	maxPartName   = 128
	maxPartText   = 1 << 20
	maxPartFile   = 4 << 20 // of a file that the contract has no field for
)

// part is one field of a form (RFC 7578). Its content is a part of the body.
type part struct {
	name string
	// file means that the field is a file, which may have a name and a type.
	file               bool
	filename, mimeType string
	content            []byte
}

// FormType returns the content type of a body that is a form, which begins with its boundary; empty for any other body.
func FormType(body []byte) string {
	rest, ok := bytes.CutPrefix(body, []byte("--"))
	boundary, _, whole := bytes.Cut(rest[:min(len(rest), maxBoundary+len("\r\n"))], []byte("\r\n"))
	if !ok || !whole || !isBoundary(boundary) {
		return ""
	}
	return mime.FormatMediaType(formType, map[string]string{"boundary": string(boundary)})
}

const formType = "multipart/form-data"

// maxBoundary is the length of the longest boundary (RFC 2046, section 5.1.1).
const maxBoundary = 70

// isBoundary reports whether a text is one that RFC 2046 allows as a boundary.
func isBoundary(text []byte) bool {
	for _, c := range text {
		letter := c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && !strings.ContainsRune("'()+_,-./:=? ", rune(c)) {
			return false
		}
	}
	return len(text) > 0 && len(text) <= maxBoundary && text[len(text)-1] != ' '
}

// parseForm reads a form in place. It takes no form that another parser could read otherwise, since an upstream may get
// the body as it is: no text before the first boundary or after the last, no folded headers, no line that
// only looks like a boundary, and names of plain characters.
func parseForm(body []byte, contentType string) ([]part, error) {
	mediaType, params, err := mime.ParseMediaType(contentType)
	boundary := params["boundary"]
	switch {
	case err != nil || mediaType != formType:
		return nil, malformedForm("expected a content-type of %s", formType)
	case !isBoundary([]byte(boundary)):
		return nil, malformedForm("the content-type of a form requires a boundary")
	}
	delimiter := []byte("\r\n--" + boundary)
	rest, ok := bytes.CutPrefix(body, delimiter[len("\r\n"):])
	if !ok {
		return nil, malformedForm("the form does not begin with the boundary of its content-type")
	}
	var parts []part
	for {
		if end, ends := bytes.CutPrefix(rest, []byte("--")); ends {
			if len(end) > 0 && string(end) != "\r\n" {
				return nil, malformedForm("bytes follow the end of the form")
			}
			return parts, nil
		}
		if rest, ok = bytes.CutPrefix(rest, []byte("\r\n")); !ok {
			return nil, malformedForm("the form is cut off, or a line begins with its boundary and goes on")
		}
		if len(parts) == maxParts {
			return nil, malformedForm("the form has more than %d fields", maxParts)
		}
		head, _, found := bytes.Cut(rest[:min(len(rest), maxPartHeader)], []byte("\r\n\r\n"))
		if !found {
			return nil, malformedForm("the header of field %d is cut off or longer than %d bytes", len(parts)+1, maxPartHeader)
		}
		p, problem := partOf(head)
		if problem != "" {
			return nil, malformedForm("field %d: %s", len(parts)+1, problem)
		}
		rest = rest[len(head)+len("\r\n\r\n"):]
		if p.content, rest, found = bytes.Cut(rest, delimiter); !found {
			return nil, malformedForm("the form is cut off")
		}
		if bytes.HasPrefix(p.content, delimiter[len("\r\n"):]) || bytes.Contains(p.content, delimiter[len("\r"):]) {
			return nil, malformedForm("a line of %s begins with the boundary of the form", p.name)
		}
		parts = append(parts, p)
	}
}

// malformedForm is the failure of a body that is no form.
func malformedForm(format string, args ...any) error {
	return fault.New(fault.InvalidRequest, fault.ReasonMalformedForm, format, args...)
}

// partOf reads the header of a field. The problem is empty for a good one.
func partOf(head []byte) (p part, problem string) {
	disposed := false
	for line := range strings.SplitSeq(string(head), "\r\n") {
		name, value, ok := strings.Cut(line, ":")
		value = strings.Trim(value, " \t")
		if !ok || name == "" || strings.ContainsFunc(name, notInToken) || strings.ContainsFunc(value, isControl) {
			return p, "a malformed header"
		}
		switch strings.ToLower(name) {
		case "content-disposition":
			if disposed {
				return p, "it has two content-dispositions"
			}
			disposed = true
			if problem = p.dispose(value); problem != "" {
				return p, problem
			}
		case "content-type":
			if p.mimeType != "" {
				return p, "it has two content-types"
			}
			if p.mimeType, _, _ = mime.ParseMediaType(value); p.mimeType == "" {
				return p, "a malformed content-type"
			}
		case "content-transfer-encoding":
			if encoding := strings.ToLower(value); encoding != "binary" && encoding != "8bit" && encoding != "7bit" {
				return p, "a content-transfer-encoding other than binary is not supported"
			}
		}
	}
	if !disposed {
		return p, "it has no content-disposition"
	}
	p.file = p.file || strings.HasPrefix(p.mimeType, "image/")
	return p, ""
}

// dispose reads a Content-Disposition.
func (p *part) dispose(value string) (problem string) {
	kind, params, err := mime.ParseMediaType(value)
	compact := strings.ToLower(strings.ReplaceAll(value, " ", ""))
	switch {
	case err != nil || kind != "form-data" || !utf8.ValidString(value):
		return "a malformed content-disposition"
	case strings.Contains(value, `\"`), strings.Contains(compact, ";name*"):
		return "names with an escaped quote or of another charset are not supported"
	}
	p.name = params["name"]
	if p.filename, p.file = params["filename"]; !isPartName(p.name) {
		return "expected a name of letters, digits, _, -, . and []"
	}
	return ""
}

// isPartName reports whether a text is a name that all parsers read alike.
func isPartName(name string) bool {
	return name != "" && len(name) <= maxPartName && !strings.ContainsFunc(name, func(r rune) bool {
		return notInToken(r) && r != '[' && r != ']'
	})
}

func notInToken(r rune) bool {
	return (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z') && !strings.ContainsRune("_-.", r)
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// FormModel returns the model that a form asks for; empty for what is no form.
func FormModel(body []byte) string {
	parts, _ := parseForm(body, FormType(body))
	for i := range parts {
		if parts[i].name == "model" {
			return string(parts[i].content)
		}
	}
	return ""
}

// formOf returns the form of a request, whose other members a JSON object has. Its boundary follows from what it holds.
func formOf(object []byte, req *genwayv1.GenerateImageRequest) ([]byte, error) {
	f := form{size: len(object)}
	for i, image := range req.GetImages() {
		f.size += len(image.GetData()) + maxPartHeader
		name := "image"
		if len(req.GetImages()) > 1 {
			name = "image[]"
		}
		f.files = append(f.files, part{name: name, filename: cmp.Or(image.GetFilename(), nameOf("image-"+strconv.Itoa(i+1), image)), mimeType: image.GetMimeType(), content: image.GetData()})
	}
	if mask := req.GetMask(); mask != nil {
		f.size += len(mask.GetData())
		f.files = append(f.files, part{name: "mask", filename: cmp.Or(mask.GetFilename(), nameOf("mask", mask)), mimeType: mask.GetMimeType(), content: mask.GetData()})
	}
	if err := f.members("", object); err != nil {
		return nil, err
	}
	return f.write()
}

// nameOf returns a file's name for an image that has none.
func nameOf(name string, image *genwayv1.Media) string {
	return name + "." + cmp.Or(ReadHeader(image.GetData()).Format, "png")
}

// form is a form that is made.
type form struct {
	texts, files []part
	size         int
}

// members adds the members of a JSON object, whose name is at.
func (f *form) members(at string, object jsontext.Value) error {
	var all map[string]jsontext.Value
	if err := json.Unmarshal(object, &all, member.Options()); err != nil {
		return unwritable(err)
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		name := key
		if at != "" {
			name = at + "[" + key + "]"
		}
		if !isPartName(name) {
			return fault.Invalid(name, "%s: the name has no place in a form", name)
		}
		if err := f.add(name, all[key]); err != nil {
			return err
		}
	}
	return nil
}

func (f *form) add(name string, value jsontext.Value) error {
	switch value.Kind() {
	case 'n':
	case '{':
		return f.members(name, value)
	case '[':
		var list []jsontext.Value
		if err := json.Unmarshal(value, &list, member.Options()); err != nil {
			return unwritable(err)
		}
		for _, element := range list {
			if err := f.add(name+"[]", element); err != nil {
				return err
			}
		}
	case '"':
		text := member.Raw(value).String()
		if file, ok := fileOf(name, text); ok {
			f.files = append(f.files, file)
			return nil
		}
		f.texts = append(f.texts, part{name: name, content: []byte(text)})
	default:
		f.texts = append(f.texts, part{name: name, content: value})
	}
	return nil
}

// fileOf returns the file that fileURL has made a text of.
func fileOf(name, text string) (part, bool) {
	rest, ok := strings.CutPrefix(text, "data:")
	head, encoded, whole := strings.Cut(rest, ";base64,")
	mimeType, escaped, named := strings.Cut(head, fileName)
	if !ok || !whole || !named {
		return part{}, false
	}
	filename, err := url.QueryUnescape(escaped)
	content, wrong := member.DecodeBase64(encoded)
	return part{name: name, filename: filename, mimeType: mimeType, content: content}, err == nil && wrong == nil
}

// write returns the form: texts first, as the vendor's SDKs write them.
func (f *form) write() ([]byte, error) {
	body := bytes.NewBuffer(make([]byte, 0, f.size+(len(f.texts)+2)*256))
	w := multipart.NewWriter(body)
	if err := w.SetBoundary(f.boundary()); err != nil {
		return nil, unwritable(err)
	}
	for _, p := range slices.Concat(f.texts, f.files) {
		h := textproto.MIMEHeader{"Content-Disposition": {`form-data; name="` + p.name + `"`}}
		if p.mimeType != "" {
			h["Content-Disposition"][0] += `; filename="` + strings.Map(plainInName, p.filename) + `"`
			h["Content-Type"] = []string{p.mimeType}
		}
		to, err := w.CreatePart(h)
		if err == nil {
			_, err = to.Write(p.content)
		}
		if err != nil {
			return nil, unwritable(err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, unwritable(err)
	}
	return body.Bytes(), nil
}

// plainInName replaces what parsers of headers read differently.
func plainInName(r rune) rune {
	if isControl(r) || r == '"' || r == '\\' || r == utf8.RuneError {
		return '_'
	}
	return r
}

// boundary is one that no field contains.
func (f *form) boundary() string {
	for n := 0; ; n++ {
		boundary := fmt.Sprintf("genway-form-%d", n)
		has := func(p part) bool { return bytes.Contains(p.content, []byte(boundary)) }
		if !slices.ContainsFunc(f.texts, has) && !slices.ContainsFunc(f.files, has) {
			return boundary
		}
	}
}

// fileName is the parameter of a data: URL in a native field that makes it a file of a form.
const fileName = ";name="

// fileURL is a file that the contract has no field for, as a data: URL.
func fileURL(p *part) string {
	head := "data:" + cmp.Or(p.mimeType, "application/octet-stream") + fileName + url.QueryEscape(p.filename) + ";base64,"
	return string(member.AppendBase64([]byte(head), p.content))
}
