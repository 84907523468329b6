package responses

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/types/known/durationpb"
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

// decodePart decodes a part of one of the known types; for another it returns no part.
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
	if w.Detail == codec.AutoDetail {
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
		c.Ttl = durationpb.New(ttl)
	} else if b.TTL != "" {
		c.NativeFields = append(c.NativeFields, nativeText("ttl", b.TTL))
	}
	if len(c.NativeFields) == 0 {
		c.NativeFields = append(c.NativeFields, nativeText("mode", "explicit"))
	}
	return c
}

// content writes a part of what is put in.
func (e *inputEncoder) content(part *genwayv1.Part, path string) error {
	natives, ofAudio := split(part.NativeFields, "input_audio.")
	extra, err := member.Extra(protocol, natives, path, e.losses)
	if err != nil {
		return err
	}
	w := e.w
	switch k := part.Kind.(type) {
	case *genwayv1.Part_Text:
		w.Begin()
		w.Str("type", typeInputText)
		w.Str("text", k.Text.GetText())
	case *genwayv1.Part_Image:
		w.Begin()
		encodeImage(w, k.Image)
	case *genwayv1.Part_File:
		w.Begin()
		encodeFile(w, k.File)
	case *genwayv1.Part_Audio:
		// The vendor takes none (ResponseInputContentUnionParam); of the engines that
		// do, the caller knows.
		if !member.Marked(protocol, part.NativeFields, typeInputAudio) {
			return unsupportedPart(path, part)
		}
		format, err := audioFormat(k.Audio, path+".audio")
		if err != nil {
			return err
		}
		inner, err := member.Extra(protocol, ofAudio, path, e.losses)
		if err != nil {
			return err
		}
		w.Begin()
		w.Str("type", typeInputAudio)
		w.Object("input_audio")
		w.Base64("data", k.Audio.GetData())
		w.Str("format", format)
		w.Spliced(inner)
		w.End()
	case *genwayv1.Part_Opaque:
		if k.Opaque.Protocol != protocol {
			return unknownPart(path, k.Opaque.Type)
		}
		w.Value(k.Opaque.Json)
		return nil
	default:
		return unsupportedPart(path, part)
	}
	encodeBreakpoint(w, part.CacheControl, path, e.losses)
	w.Spliced(extra)
	w.End()
	return nil
}

func encodeImage(w *member.Writer, m *genwayv1.Media) {
	w.Str("type", typeInputImage)
	if id := m.GetFileId(); id != "" {
		w.Str("file_id", id)
	} else {
		w.DataURL("image_url", m)
	}
	w.Str("detail", cmp.Or(m.Detail, codec.AutoDetail))
}

// encodeFile names bytes that have no name, as the vendor demands.
func encodeFile(w *member.Writer, m *genwayv1.Media) {
	w.Str("type", typeInputFile)
	filename := m.Filename
	switch m.GetSource().(type) {
	case *genwayv1.Media_FileId:
		w.Str("file_id", m.GetFileId())
	case *genwayv1.Media_Url:
		w.Str("file_url", m.GetUrl())
	default:
		if filename == "" {
			filename = "document" + fileSuffixes[m.MimeType]
		}
		w.DataURL("file_data", m)
	}
	w.StrOpt("filename", filename)
	w.StrOpt("detail", m.Detail)
}

var fileSuffixes = map[string]string{
	"application/pdf":  ".pdf",
	"text/plain":       ".txt",
	"text/markdown":    ".md",
	"text/html":        ".html",
	"text/csv":         ".csv",
	"application/json": ".json",
}

// audioFormat is the inverse of wirePart.audio.
func audioFormat(m *genwayv1.Media, path string) (string, error) {
	if _, ok := m.GetSource().(*genwayv1.Media_Data); !ok {
		return "", fault.Unsupported(path, "%s: the upstream this model is routed to takes audio by its bytes only", path)
	}
	switch m.MimeType {
	case "audio/wav", "audio/x-wav", "audio/wave":
		return "wav", nil
	case "audio/mpeg", "audio/mp3":
		return "mp3", nil
	}
	format, ok := strings.CutPrefix(m.MimeType, "audio/")
	if !ok || format == "" {
		return "", fault.Unsupported(path, "%s: the upstream this model is routed to takes audio of a known format only", path)
	}
	return format, nil
}

// encodeBreakpoint writes a cache mark of this protocol. A mark of another is a
// loss: only newer models take marks, and the vendor caches by itself.
func encodeBreakpoint(w *member.Writer, c *genwayv1.CacheControl, path string, losses *codec.Losses) {
	if c == nil {
		return
	}
	extra := extras(c.NativeFields, path+".cache_control", nil)
	if extra == nil {
		losses.Add(path+".cache_control", "the target protocol caches by itself")
		return
	}
	w.Object("prompt_cache_breakpoint")
	if ttl := member.TTL(c); ttl > 0 {
		w.Str("ttl", ttlText(int64(ttl/time.Second)))
	}
	w.Spliced(extra)
	w.End()
}

func ttlText(seconds int64) string {
	switch {
	case seconds%3600 == 0:
		return strconv.FormatInt(seconds/3600, 10) + "h"
	case seconds%60 == 0:
		return strconv.FormatInt(seconds/60, 10) + "m"
	}
	return strconv.FormatInt(seconds, 10) + "s"
}

// result writes a tool's output: as a string where it is no more than text.
func (e *inputEncoder) result(r *genwayv1.ToolResult, part *genwayv1.Part, path, id, status string, extra []byte) error {
	if r.IsError {
		e.losses.Add(path+".tool_result.is_error", noPlace)
	}
	w := e.w
	w.Begin()
	callID := r.ToolCallId
	encodeOutputHead(w, r, id, callID, status)
	if callID == "" {
		at := spaces(nil).place(part.NativeFields, r.Name)
		w.StrOpt("namespace", at.space)
		w.StrOpt("name", at.name)
	}
	if err := e.output(r, path+".tool_result"); err != nil {
		return err
	}
	encodeBreakpoint(w, part.CacheControl, path, e.losses)
	w.Spliced(extra)
	w.End()
	return nil
}

func encodeOutputHead(w *member.Writer, r *genwayv1.ToolResult, id, callID, status string) {
	w.StrOpt("id", id)
	if r.Custom {
		w.Str("type", typeCustomOutput)
	} else {
		w.Str("type", typeFunctionOutput)
	}
	w.StrOpt("call_id", callID)
	w.StrOpt("status", status)
}

func (e *inputEncoder) output(r *genwayv1.ToolResult, path string) error {
	w := e.w
	text, plain := plainText(r.Parts)
	switch {
	case !slices.ContainsFunc(r.Parts, func(p *genwayv1.Part) bool { return !skipped(p) }):
		w.Str("output", r.GetResultJson())
		return nil
	case plain && text != "" && r.ResultJson == nil:
		w.Str("output", text)
		return nil
	}
	w.List("output")
	if r.ResultJson != nil {
		if err := e.content(textPart("", r.GetResultJson()), path); err != nil {
			return err
		}
	}
	for i, p := range r.Parts {
		if skipped(p) {
			continue
		}
		if err := e.content(p, member.Within(path, ".parts", i)); err != nil {
			return err
		}
	}
	w.EndList()
	return nil
}

// typeAdditionalTools is the item that offers tools within the conversation (SDK:
// ResponseInputItemAdditionalToolsParam). Its tools are lifted into those of the
// request, where every upstream finds them; the item stays what it was for upstreams
// of this protocol.
const typeAdditionalTools = "additional_tools"

// wireAdditionalTools is what is read of the item.
//
//wire:read
type wireAdditionalTools struct {
	Tools []jsontext.Value `json:"tools"`
	Extra jsontext.Value   `json:",embed"`
}

func decodeAdditionalTools(raw jsontext.Value, place member.Place) (item, error) {
	var w wireAdditionalTools
	if err := member.DecodeAt(raw, &w, place); err != nil {
		return item{}, err
	}
	tools, err := decodeTools(w.Tools, place.Join("tools"))
	if err != nil {
		return item{}, err
	}
	it := opaqueItem(raw, typeAdditionalTools)
	it.parts[0].NativeFields = append(it.parts[0].NativeFields, member.Mark(protocol, member.LiftedMark))
	for _, t := range tools {
		t.NativeFields = append(t.NativeFields, member.Mark(protocol, typeAdditionalTools))
	}
	it.tools = tools
	return it, nil
}

// lift adds the tools of an item to those known. A tool of the same place is the
// same tool, newly defined.
func lift(tools, lifted []*genwayv1.Tool) []*genwayv1.Tool {
	for _, t := range lifted {
		name, at := toolName(t), spacedIn(t.NativeFields)
		if name != "" {
			tools = slices.DeleteFunc(tools, func(known *genwayv1.Tool) bool {
				return toolName(known) == name && spacedIn(known.NativeFields) == at
			})
		}
		tools = append(tools, t)
	}
	return tools
}

// offered reports for each tool whether it belongs into the member tools: those that
// an item of the conversation brings do not, nor hosted ones of other protocols.
func offered(req *genwayv1.GenerateTextRequest) func(*genwayv1.Tool) bool {
	brought := slices.ContainsFunc(req.Messages, func(m *genwayv1.Message) bool {
		return slices.ContainsFunc(m.Parts, func(p *genwayv1.Part) bool {
			return p.GetOpaque().GetType() == typeAdditionalTools
		})
	})
	return func(t *genwayv1.Tool) bool {
		return !fit.Hosted(t, protocol) && (!brought || !member.Marked(protocol, t.NativeFields, typeAdditionalTools))
	}
}
