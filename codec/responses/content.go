package responses

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// The types of content parts with a canonical kind.
const (
	typeInputText  = "input_text"
	typeInputImage = "input_image"
	typeInputFile  = "input_file"
	typeInputAudio = "input_audio"
	typeOutputText = "output_text"
	typeRefusal    = "refusal"
	// typeText is no type of the vendor's, but what clients of chat write.
	typeText = "text"
)

func textPart(id, text string) *genwayv1.Part {
	part := codec.TextPart(text)
	part.Id = id
	return part
}

// decodeContent reads a part of what is put in: of a message that is not the
// assistant's, or of a tool's output. Types it does not know are opaque.
func decodeContent(raw jsontext.Value, place member.Place, id string) (*genwayv1.Part, error) {
	kind, w, err := decodePart(raw, place, typeInputText, typeInputImage, typeInputFile, typeInputAudio, typeOutputText, typeText)
	if err != nil {
		return nil, err
	}
	if w == nil {
		return opaquePart(id, kind, raw), nil
	}
	part := textPart(id, w.Text)
	part.CacheControl, part.NativeFields = w.Breakpoint.canonical(), member.Natives(protocol, w.Extra, nil)
	switch kind {
	case typeInputImage:
		media, err := w.image(place.String())
		if err != nil {
			return nil, err
		}
		part.Kind = &genwayv1.Part_Image{Image: media}
	case typeInputFile:
		media, err := w.file(place.String())
		if err != nil {
			return nil, err
		}
		part.Kind = &genwayv1.Part_File{File: media}
	case typeInputAudio:
		media, err := w.audio(place.String())
		if err != nil {
			return nil, err
		}
		part.Kind = &genwayv1.Part_Audio{Audio: media}
		part.NativeFields = append(part.NativeFields, member.Mark(protocol, typeInputAudio))
		part.NativeFields = append(part.NativeFields, member.NativesUnder(protocol, "input_audio.", w.InputAudio.Extra)...)
	}
	return part, nil
}

// decodeSaid reads a part of the assistant's message.
func decodeSaid(raw jsontext.Value, place member.Place, id string) (*genwayv1.Part, error) {
	kind, w, err := decodePart(raw, place, typeOutputText, typeRefusal, typeInputText, typeText)
	if err != nil {
		return nil, err
	}
	if w == nil {
		return opaquePart(id, kind, raw), nil
	}
	part := textPart(id, w.Text)
	part.CacheControl, part.NativeFields = w.Breakpoint.canonical(), member.Natives(protocol, w.Extra, nil)
	if kind == typeRefusal {
		part.Kind = &genwayv1.Part_Refusal{Refusal: &genwayv1.Refusal{Text: w.Refusal}}
		return part, nil
	}
	text := part.GetText()
	text.Logprobs = logprobs(w.Logprobs)
	for i, raw := range w.Annotations {
		citation, err := decodeAnnotation(raw, member.Index(place.Join("annotations"), i))
		if err != nil {
			return nil, err
		}
		text.Citations = append(text.Citations, citation)
	}
	return part, nil
}

// decodePart decodes a part of one of the known types; another gives no part.
func decodePart(raw jsontext.Value, place member.Place, known ...string) (string, *wirePart, error) {
	kind, err := typeOf(raw, place)
	if err != nil {
		return "", nil, err
	}
	if kind == "" {
		return "", nil, fault.Missing(place.Join("type"))
	}
	if !slices.Contains(known, kind) {
		return kind, nil, nil
	}
	w := new(wirePart)
	return kind, w, member.DecodeAt(raw, w, place)
}

func (w *wirePart) image(path string) (*genwayv1.Media, error) {
	switch {
	case w.ImageURL != "":
		media, err := member.MediaFromURL(w.ImageURL, member.Join(path, "image_url"))
		if err != nil {
			return nil, err
		}
		media.Detail = w.detail()
		return media, nil
	case w.FileID != "":
		return &genwayv1.Media{Detail: w.detail(), Source: &genwayv1.Media_FileId{FileId: w.FileID}}, nil
	}
	return nil, fault.Missing(member.Join(path, "image_url"))
}

// detail is how closely an image is looked at. The protocol's default is as good as
// none: other protocols have it as well, or no such member.
func (w *wirePart) detail() string {
	if w.Detail == defaultDetail {
		return ""
	}
	return w.Detail
}

// file takes file_data as a data: URL, as the vendor asks, or as bare base64.
func (w *wirePart) file(path string) (*genwayv1.Media, error) {
	media := &genwayv1.Media{}
	switch {
	case w.FileData != "":
		param := member.Join(path, "file_data")
		var err error
		if len(w.FileData) >= 5 && strings.EqualFold(w.FileData[:5], "data:") {
			media, err = member.MediaFromURL(w.FileData, param)
		} else {
			media, err = member.MediaFromBase64("", w.FileData, param)
		}
		if err != nil {
			return nil, err
		}
	case w.FileURL != "":
		media.Source = &genwayv1.Media_Url{Url: w.FileURL}
	case w.FileID != "":
		media.Source = &genwayv1.Media_FileId{FileId: w.FileID}
	default:
		return nil, fault.Missing(member.Join(path, "file_data"))
	}
	media.Filename, media.Detail = w.Filename, w.Detail
	return media, nil
}

// defaultDetail is what the vendor's type of an input image demands by default
// (ResponseInputImageParam).
const defaultDetail = "auto"

// audioTypes pairs the vendor's formats with their MIME types; any other format
// is the subtype.
var audioTypes = map[string]string{"wav": "audio/wav", "mp3": "audio/mpeg"}

func (w *wirePart) audio(path string) (*genwayv1.Media, error) {
	path = member.Join(path, "input_audio")
	switch {
	case w.InputAudio == nil:
		return nil, fault.Missing(path)
	case w.InputAudio.Data == "":
		return nil, fault.Missing(member.Join(path, "data"))
	case w.InputAudio.Format == "":
		return nil, fault.Missing(member.Join(path, "format"))
	}
	mediaType, ok := audioTypes[w.InputAudio.Format]
	if !ok {
		mediaType = "audio/" + w.InputAudio.Format
	}
	return member.MediaFromBase64(mediaType, w.InputAudio.Data, member.Join(path, "data"))
}

// canonical keeps the breakpoint's mode as a native field: it distinguishes marks of
// this protocol, which only newer models take, from those of another.
func (b *wireBreakpoint) canonical() *genwayv1.CacheControl {
	if b == nil {
		return nil
	}
	c := &genwayv1.CacheControl{NativeFields: member.Natives(protocol, b.Extra, nil)}
	ttl, err := time.ParseDuration(b.TTL)
	if err == nil && ttl > 0 && ttl%time.Second == 0 && ttl/time.Second <= math.MaxInt32 {
		c.TtlSeconds = int32(ttl / time.Second)
	} else if b.TTL != "" {
		c.NativeFields = append(c.NativeFields, nativeText("ttl", b.TTL))
	}
	if len(c.NativeFields) == 0 {
		c.NativeFields = append(c.NativeFields, nativeText("mode", "explicit"))
	}
	return c
}
