package chat

import (
	"encoding/base64"
	"strings"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// audioTypes are the formats whose MIME type is not audio/<format>.
var audioTypes = []struct{ format, mediaType string }{
	{"mp3", "audio/mpeg"},
	{"m4a", "audio/mp4"},
	{"pcm16", "audio/pcm"},
	{"wav", "audio/x-wav"},
	{"wav", "audio/wave"},
	{"wav", "audio/vnd.wave"},
	{"mp3", "audio/mp3"},
}

// audioType returns the MIME type of a format word.
func audioType(format string) string {
	for _, t := range audioTypes {
		if t.format == format && format != "wav" {
			return t.mediaType
		}
	}
	if format == "" {
		return ""
	}
	return "audio/" + format
}

// audioFormat returns the format word of a MIME type.
func audioFormat(mediaType string) string {
	mediaType, _, _ = strings.Cut(mediaType, ";")
	for _, t := range audioTypes {
		if t.mediaType == mediaType {
			return t.format
		}
	}
	return strings.TrimPrefix(mediaType, "audio/")
}

func decodeInputAudio(a *inputAudio, path string) (*genwayv1.Media, error) {
	if a.Data == "" {
		return nil, fault.Missing(path + ".data")
	}
	if strings.HasPrefix(a.Data, "data:") || strings.HasPrefix(a.Data, "http") {
		m, err := member.MediaFromURL(a.Data, path+".data")
		if err == nil && a.Format != "" {
			m.MediaType = audioType(a.Format)
		}
		return m, err
	}
	return member.MediaFromBase64(audioType(a.Format), a.Data, path+".data")
}

// decodeFile reads a file. The vendor documents plain base64 and takes data: URLs
// in practice; OpenRouter takes web addresses, too.
func decodeFile(f *file, path string) (*genwayv1.Media, error) {
	m := &genwayv1.Media{}
	var err error
	switch {
	case f.FileID != "":
		m.Source = &genwayv1.Media_FileId{FileId: f.FileID}
	case f.FileData == "":
		return nil, fault.Missing(path + ".file_data")
	case strings.HasPrefix(f.FileData, "data:"), strings.HasPrefix(f.FileData, "http:"), strings.HasPrefix(f.FileData, "https:"):
		m, err = member.MediaFromURL(f.FileData, path+".file_data")
	default:
		m, err = member.MediaFromBase64("", f.FileData, path+".file_data")
	}
	if err != nil {
		return nil, err
	}
	m.Filename = f.Filename
	return m, nil
}

func encodeFile(m *genwayv1.Media) *file {
	f := &file{FileID: m.GetFileId(), Filename: m.Filename}
	switch m.Source.(type) {
	case *genwayv1.Media_Url:
		f.FileData = m.GetUrl()
	case *genwayv1.Media_Data:
		if m.MediaType != "" {
			f.media = m
		} else {
			f.FileData = base64.StdEncoding.EncodeToString(m.GetData())
		}
		if f.Filename == "" {
			// OpenAI demands a name beside the data.
			f.Filename = "file"
			if m.MediaType == "application/pdf" {
				f.Filename = "file.pdf"
			}
		}
	}
	return f
}
