package generatecontent

import (
	"strings"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// uploaded leads the names of files the vendor keeps (SDK type File.Name).
const uploaded = "files/"

func (r reader) inlineData(w *part, p *genwayv1.Part, path string) error {
	path += ".inlineData"
	if w.InlineData.Data == nil && !r.answer {
		return fault.Missing(path + ".data")
	}
	setMedia(p, &genwayv1.Media{
		MediaType: w.InlineData.MIMEType,
		Source:    &genwayv1.Media_Data{Data: w.InlineData.Data},
		Filename:  w.InlineData.DisplayName,
	})
	var err error
	p.NativeFields, err = nested("inlineData.", w.InlineData.Extra, path, nil)
	return err
}

func (r reader) fileData(w *part, p *genwayv1.Part, path string) error {
	path += ".fileData"
	if w.FileData.FileURI == "" && !r.answer {
		return fault.Missing(path + ".fileUri")
	}
	m := &genwayv1.Media{MediaType: w.FileData.MIMEType, Filename: w.FileData.DisplayName}
	if strings.HasPrefix(w.FileData.FileURI, uploaded) {
		m.Source = &genwayv1.Media_FileId{FileId: w.FileData.FileURI}
	} else {
		m.Source = &genwayv1.Media_Url{Url: w.FileData.FileURI}
	}
	setMedia(p, m)
	var err error
	p.NativeFields, err = nested("fileData.", w.FileData.Extra, path, nil)
	return err
}

// setMedia sets the part by the type of media; what is no image, audio or video is a file.
func setMedia(p *genwayv1.Part, m *genwayv1.Media) {
	kind, _, _ := strings.Cut(strings.ToLower(m.MediaType), "/")
	switch kind {
	case "image":
		p.Kind = &genwayv1.Part_Image{Image: m}
	case "audio":
		p.Kind = &genwayv1.Part_Audio{Audio: m}
	case "video":
		p.Kind = &genwayv1.Part_Video{Video: m}
	default:
		p.Kind = &genwayv1.Part_File{File: m}
	}
}

// media writes bytes as inlineData and references as fileData. Files that another
// vendor keeps are refused: only that vendor can read them.
func (e *writer) media(m *genwayv1.Media, w *part, path string, lists [][]*genwayv1.NativeField) error {
	var err error
	if m.GetDetail() != "" && m.GetDetail() != "auto" {
		e.losses.Add(path+".detail", "the resolution of one medium cannot be chosen for every model of the target protocol")
	}
	uri := m.GetUrl()
	switch source := m.GetSource().(type) {
	case *genwayv1.Media_Data:
		w.InlineData = &blob{MIMEType: m.MediaType, Data: source.Data, DisplayName: m.Filename}
		w.InlineData.Extra, err = member.Extra(protocol, lists[inlineDataNatives], path, e.losses)
		return err
	case *genwayv1.Media_FileId:
		if uri = source.FileId; !strings.HasPrefix(uri, uploaded) {
			return e.refuse(path+".file_id", "a file kept by another vendor cannot be sent")
		}
	case nil:
		return e.refuse(path, "the media has neither data nor a reference")
	}
	w.FileData = &fileData{MIMEType: m.MediaType, FileURI: uri, DisplayName: m.Filename}
	w.FileData.Extra, err = member.Extra(protocol, lists[fileDataNatives], path, e.losses)
	return err
}
