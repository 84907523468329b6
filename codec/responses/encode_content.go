package responses

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

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
	w.Str("detail", cmp.Or(m.Detail, defaultDetail))
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
			filename = "document" + fileSuffixes[m.MediaType]
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
	switch m.MediaType {
	case "audio/wav", "audio/x-wav", "audio/wave":
		return "wav", nil
	case "audio/mpeg", "audio/mp3":
		return "mp3", nil
	}
	format, ok := strings.CutPrefix(m.MediaType, "audio/")
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
	if c.TtlSeconds > 0 {
		w.Str("ttl", ttlText(int64(c.TtlSeconds)))
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
