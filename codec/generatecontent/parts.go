package generatecontent

import (
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/google"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json"
)

// uploaded leads the names of files the vendor keeps (SDK type File.Name).
const uploaded = "files/"

func (r reader) inlineData(w *part, p *genwayv1.Part, path string) error {
	path += ".inlineData"
	if w.InlineData.Data == nil && !r.answer {
		return fault.Missing(path + ".data")
	}
	setMedia(p, &genwayv1.Media{
		MimeType: w.InlineData.MIMEType,
		Source:   &genwayv1.Media_Data{Data: w.InlineData.Data},
		Filename: w.InlineData.DisplayName,
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
	m := &genwayv1.Media{MimeType: w.FileData.MIMEType, Filename: w.FileData.DisplayName}
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
	kind, _, _ := strings.Cut(strings.ToLower(m.MimeType), "/")
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
	if codec.Detail(m) != "" {
		e.losses.Add(path+".detail", "the resolution of one medium cannot be chosen for every model of the target protocol")
	}
	uri := m.GetUrl()
	switch source := m.GetSource().(type) {
	case *genwayv1.Media_Data:
		w.InlineData = &blob{MIMEType: m.MimeType, Data: source.Data, DisplayName: m.Filename}
		w.InlineData.Extra, err = member.Extra(protocol, lists[inlineDataNatives], path, e.losses)
		return err
	case *genwayv1.Media_FileId:
		if uri = source.FileId; !strings.HasPrefix(uri, uploaded) {
			return e.refuse(path+".file_id", "a file kept by another vendor cannot be sent")
		}
	case nil:
		return e.refuse(path, "the media has neither data nor a reference")
	}
	w.FileData = &fileData{MIMEType: m.MimeType, FileURI: uri, DisplayName: m.Filename}
	w.FileData.Extra, err = member.Extra(protocol, lists[fileDataNatives], path, e.losses)
	return err
}

// decode reads how speech sounds. A voice that is more than the name of a
// prebuilt one stays a native field.
func (w *speechConfig) decode(path string) (*genwayv1.AudioOutput, error) {
	out := &genwayv1.AudioOutput{}
	var err error
	if out.NativeFields, err = natives(w.Extra, path, nil); err != nil {
		return nil, err
	}
	voice := w.VoiceConfig
	switch {
	case voice == nil:
	case len(voice.Extra) == 0 && voice.PrebuiltVoiceConfig != nil && voice.PrebuiltVoiceConfig.VoiceName != "" &&
		len(voice.PrebuiltVoiceConfig.Extra) == 0:
		out.Voice = voice.PrebuiltVoiceConfig.VoiceName
	default:
		whole, err := spelled(voice)
		if err != nil {
			return nil, fault.Invalid(path+".voiceConfig", "%s.voiceConfig could not be read", path)
		}
		out.NativeFields = append(out.NativeFields, native("voiceConfig", whole))
	}
	return out, nil
}

// encodeSpeech writes how speech sounds. The vendor chooses the container.
func encodeSpeech(out *genwayv1.AudioOutput, losses *codec.Losses) (*speechConfig, error) {
	if out == nil {
		return nil, nil
	}
	w := &speechConfig{}
	if out.Voice != "" {
		w.VoiceConfig = &voiceConfig{PrebuiltVoiceConfig: &prebuiltVoiceConfig{VoiceName: out.Voice}}
	}
	var err error
	w.Extra, err = member.Extra(protocol, out.NativeFields, "audio_output", losses)
	return w, err
}

// The members of a candidate that say what supports it. They stay native fields,
// and callers of other protocols see them as citations of the text; where a
// native field is there, it and not the citations is written back.
const (
	groundingMember = "groundingMetadata"
	citationMember  = "citationMetadata"
)

// groundingMetadata is the part of SDK type GroundingMetadata that has a place in
// citations: offsets count bytes of one part's text.
//
//wire:read,write
type groundingMetadata struct {
	GroundingChunks   []groundingChunk   `json:"groundingChunks"`
	GroundingSupports []groundingSupport `json:"groundingSupports"`
}

type groundingChunk struct {
	Web              *groundingSource `json:"web"`
	RetrievedContext *groundingSource `json:"retrievedContext"`
	Maps             *groundingSource `json:"maps"`
}

type groundingSource struct {
	URI   string `json:"uri"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

type groundingSupport struct {
	Segment               groundingSegment `json:"segment"`
	GroundingChunkIndices []int            `json:"groundingChunkIndices"`
}

type groundingSegment struct {
	PartIndex  int    `json:"partIndex"`
	StartIndex int    `json:"startIndex"`
	EndIndex   int    `json:"endIndex"`
	Text       string `json:"text"`
}

// citationMetadata is SDK type CitationMetadata; citationSources is how the list
// was called before.
//
//wire:read
type citationMetadata struct {
	Citations       []citationSource `json:"citations"`
	CitationSources []citationSource `json:"citationSources"`
}

type citationSource struct {
	StartIndex int    `json:"startIndex"`
	EndIndex   int    `json:"endIndex"`
	URI        string `json:"uri"`
	Title      string `json:"title"`
}

// citations are what the natives of a candidate say supports a text. Metadata
// that cannot be read says nothing here; it is still a native field.
func citations(fields []*genwayv1.NativeField, text string) []*genwayv1.Citation {
	var out []*genwayv1.Citation
	var g groundingMetadata
	if raw := member.Native(protocol, fields, groundingMember); raw != nil && json.Unmarshal(raw, &g, member.Options()) == nil {
		for _, s := range g.GroundingSupports {
			for _, i := range s.GroundingChunkIndices {
				if i < 0 || i >= len(g.GroundingChunks) {
					continue
				}
				out = append(out, g.GroundingChunks[i].citation(text, s.Segment))
			}
		}
	}
	var c citationMetadata
	if raw := member.Native(protocol, fields, citationMember); raw != nil && json.Unmarshal(raw, &c, member.Options()) == nil {
		for _, s := range append(c.Citations, c.CitationSources...) {
			cited := &genwayv1.Citation{Title: s.Title, Url: s.URI}
			cited.StartIndex, cited.EndIndex = google.Characters(text, s.StartIndex, s.EndIndex)
			out = append(out, cited)
		}
	}
	return out
}

func (c *groundingChunk) citation(text string, s groundingSegment) *genwayv1.Citation {
	out := &genwayv1.Citation{}
	for _, source := range []*groundingSource{c.Web, c.RetrievedContext, c.Maps} {
		if source != nil {
			out.Title, out.Url, out.CitedText = source.Title, source.URI, source.Text
			break
		}
	}
	out.StartIndex, out.EndIndex = google.Characters(text, s.StartIndex, s.EndIndex)
	return out
}

// groundingBuilder gathers citations of other protocols into grounding metadata.
type groundingBuilder struct{ groundingMetadata }

func (b *groundingBuilder) add(text string, partIndex int, cited []*genwayv1.Citation) {
	for _, c := range cited {
		source := &groundingSource{URI: c.Url, Title: c.Title, Text: c.CitedText}
		chunk := groundingChunk{RetrievedContext: source}
		if c.Url != "" {
			chunk = groundingChunk{Web: &groundingSource{URI: c.Url, Title: c.Title}}
		}
		if c.Title == "" {
			source.Title = c.Filename
		}
		support := groundingSupport{GroundingChunkIndices: []int{len(b.GroundingChunks)}}
		support.Segment.PartIndex = partIndex
		if c.StartIndex != nil && c.EndIndex != nil {
			from, to := google.Bytes(text, c.GetStartIndex(), c.GetEndIndex())
			support.Segment.StartIndex, support.Segment.EndIndex, support.Segment.Text = from, to, text[from:to]
		}
		b.GroundingChunks = append(b.GroundingChunks, chunk)
		b.GroundingSupports = append(b.GroundingSupports, support)
	}
}

// field returns the metadata as a native field; nil when there is none, or when
// fields has the vendor's own.
func (b *groundingBuilder) field(fields []*genwayv1.NativeField) *genwayv1.NativeField {
	if len(b.GroundingSupports) == 0 || hasSupport(fields) {
		return nil
	}
	raw, err := spelled(&b.groundingMetadata)
	if err != nil {
		return nil
	}
	return native(groundingMember, raw)
}

func hasSupport(fields []*genwayv1.NativeField) bool {
	return member.Native(protocol, fields, groundingMember) != nil || member.Native(protocol, fields, citationMember) != nil
}
