package images

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/fit"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/codec/openai"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/proto"
)

// wireResponse is the answer's body.
//
//wire:read,write,head
type wireResponse struct {
	Created      int64          `json:"created" wire:"always"`
	Background   string         `json:"background"`
	Data         []wireImage    `json:"data" wire:"array,main"`
	OutputFormat string         `json:"output_format"`
	Quality      string         `json:"quality"`
	Size         string         `json:"size"`
	Usage        *wireUsage     `json:"usage"`
	Extra        jsontext.Value `json:",embed"`
}

type wireImage struct {
	B64JSON       wireBytes      `json:"b64_json"`
	URL           string         `json:"url"`
	GenerationID  string         `json:"generation_id"`
	Model         string         `json:"model"`
	Size          string         `json:"size"`
	RevisedPrompt string         `json:"revised_prompt"`
	Extra         jsontext.Value `json:",embed"`
}

type wireUsage struct {
	InputTokens         int64          `json:"input_tokens" wire:"always"`
	OutputTokens        int64          `json:"output_tokens" wire:"always"`
	TotalTokens         int64          `json:"total_tokens" wire:"always"`
	InputTokensDetails  *wireDetails   `json:"input_tokens_details"`
	OutputTokensDetails *wireDetails   `json:"output_tokens_details"`
	Extra               jsontext.Value `json:",embed"`
}

type wireDetails struct {
	ImageTokens *int64         `json:"image_tokens"`
	TextTokens  *int64         `json:"text_tokens"`
	Extra       jsontext.Value `json:",embed"`
}

const (
	ofInputDetails  = "input_tokens_details."
	ofOutputDetails = "output_tokens_details."
)

// wireBytes is an image as base64 text, decoded straight from the body and
// encoded straight into it: images are large.
type wireBytes []byte

func (b *wireBytes) UnmarshalJSON(raw []byte) error {
	if jsontext.Value(raw).Kind() == 'n' {
		*b = nil
		return nil
	}
	text, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		return fault.Invalid("", "expected a base64 string")
	}
	*b = make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(*b, text)
	if *b = (*b)[:n]; err != nil {
		return fault.Invalid("", "expected base64: %v", err)
	}
	return nil
}

// ReadJSON implements member.ValueReader.
func (b *wireBytes) ReadJSON(r *member.Reader) bool {
	v, ok := r.Value()
	return ok && b.UnmarshalJSON(v) == nil
}

// writeOpt leaves out what is not there.
func (b *wireBytes) writeOpt(w *member.Writer, name string) {
	if *b != nil {
		w.Base64(name, *b)
	}
}

// withoutData is the error of an answer without data: the one that it reports, if it does.
func withoutData(body []byte) error {
	var w watched
	if member.Fit(body, &w); len(w.Error) > 0 && w.Error.Kind() != 'n' {
		return Codec{}.DecodeError(0, body)
	}
	return malformed(noImages)
}

// DecodeResponse reads the body of a successful answer. A body that is an error after all gives
// that error.
func (Codec) DecodeResponse(body []byte) (*genwayv1.GenerateImageResponse, error) {
	var w wireResponse
	if err := member.DecodeAnswer(body, &w); err != nil {
		return nil, err
	}
	if w.Data == nil {
		return nil, withoutData(body)
	}
	resp := w.settings()
	for _, i := range w.Data {
		image := &genwayv1.GeneratedImage{
			GenerationId:  i.GenerationID,
			Model:         i.Model,
			Size:          i.Size,
			RevisedPrompt: i.RevisedPrompt,
			NativeFields:  member.Natives(protocol, i.Extra, nil),
		}
		switch {
		case len(i.B64JSON) > 0:
			image.Source = &genwayv1.GeneratedImage_Data{Data: i.B64JSON}
		case i.URL != "":
			image.Source = &genwayv1.GeneratedImage_Url{Url: i.URL}
		}
		resp.Images = append(resp.Images, image)
	}
	return resp, nil
}

// EncodeResponse writes the body of a successful answer.
func (Codec) EncodeResponse(resp *genwayv1.GenerateImageResponse, losses *codec.Losses) ([]byte, error) {
	others, err := extra(resp.GetNativeFields(), "", losses)
	if err != nil {
		return nil, err
	}
	w := wireResponse{
		Created:      resp.GetCreateTime().GetSeconds(),
		Background:   resp.GetBackground(),
		Data:         make([]wireImage, 0, len(resp.GetImages())),
		OutputFormat: resp.GetOutputFormat(),
		Quality:      resp.GetQuality(),
		Size:         resp.GetSize(),
		Extra:        others,
	}
	if w.Usage, err = encodeUsage(resp.GetUsage(), losses); err != nil {
		return nil, err
	}
	for n, i := range resp.GetImages() {
		others, err := extra(i.GetNativeFields(), member.Index("data", n), losses)
		if err != nil {
			return nil, err
		}
		w.Data = append(w.Data, wireImage{
			B64JSON:       i.GetData(),
			URL:           i.GetUrl(),
			GenerationID:  i.GetGenerationId(),
			Model:         i.GetModel(),
			Size:          i.GetSize(),
			RevisedPrompt: i.GetRevisedPrompt(),
			Extra:         others,
		})
	}
	out := member.NewWriter(sizeOf(resp))
	w.write(out)
	return finish(out)
}

// svgUsage is the member of an answer, and of an event, that counts the tokens of the author of an SVG.
const svgUsage = "svg_usage"

// withSVG adds to a usage what the author of an SVG has used, which is outside of the totals.
func withSVG(u *genwayv1.Usage, raw jsontext.Value) *genwayv1.Usage {
	models := openai.ModelUsage("svg", "", raw)
	if len(models) == 0 {
		return u
	}
	if u == nil {
		u = &genwayv1.Usage{}
	}
	u.Models = append(u.Models, models...)
	return u
}

func (w *wireUsage) canonical() *genwayv1.Usage {
	if w == nil {
		return nil
	}
	u := &genwayv1.Usage{
		InputTokens:  w.InputTokens,
		OutputTokens: w.OutputTokens,
		TotalTokens:  w.TotalTokens,
		NativeFields: member.Natives(protocol, w.Extra, nil),
	}
	if d := w.InputTokensDetails; d != nil {
		u.InputImageTokens, u.InputTextTokens = d.ImageTokens, d.TextTokens
		u.NativeFields = append(u.NativeFields, member.NativesUnder(protocol, ofInputDetails, d.Extra)...)
	}
	if d := w.OutputTokensDetails; d != nil {
		u.OutputImageTokens, u.OutputTextTokens = d.ImageTokens, d.TextTokens
		u.NativeFields = append(u.NativeFields, member.NativesUnder(protocol, ofOutputDetails, d.Extra)...)
	}
	return codec.Completed(u)
}

func encodeUsage(u *genwayv1.Usage, losses *codec.Losses) (*wireUsage, error) {
	if u == nil {
		return nil, nil
	}
	u = withDrawn(u)
	fit.UnplacedCounts(u, protocol, losses)
	natives, ofInput := split(u.GetNativeFields(), ofInputDetails)
	natives, ofOutput := split(natives, ofOutputDetails)
	w := &wireUsage{InputTokens: u.GetInputTokens(), OutputTokens: u.GetOutputTokens(), TotalTokens: u.GetTotalTokens()}
	var err error
	if w.Extra, err = extra(natives, "usage", losses); err != nil {
		return nil, err
	}
	if w.InputTokensDetails, err = details(u.InputImageTokens, u.InputTextTokens, ofInput); err != nil {
		return nil, err
	}
	w.OutputTokensDetails, err = details(u.OutputImageTokens, u.OutputTextTokens, ofOutput)
	return w, err
}

// withDrawn adds to the totals what the model of an image tool has used (ModelUsage, kind image_gen): the protocol counts the
// tokens of an answer in one figure. Texts are what the other model has said.
func withDrawn(u *genwayv1.Usage) *genwayv1.Usage {
	drew := func(m *genwayv1.ModelUsage) bool { return m.GetKind() == "image_gen" }
	if !slices.ContainsFunc(u.GetModels(), drew) {
		return u
	}
	sum := proto.CloneOf(u)
	inText(sum)
	for _, m := range u.GetModels() {
		if drew(m) {
			own := proto.CloneOf(m.GetUsage())
			inText(own)
			own.Models = nil
			sum = AddUsage(sum, own)
		}
	}
	return sum
}

// inText counts as text the tokens that are counted as nothing else.
func inText(u *genwayv1.Usage) {
	if u.InputTextTokens == nil {
		u.InputTextTokens = new(max(u.GetInputTokens()-u.GetInputImageTokens(), 0))
	}
	if u.OutputTextTokens == nil {
		u.OutputTextTokens = new(max(u.GetOutputTokens()-u.GetOutputImageTokens(), 0))
	}
	if u.InputImageTokens == nil {
		u.InputImageTokens = new(int64)
	}
	if u.OutputImageTokens == nil {
		u.OutputImageTokens = new(int64)
	}
}

// details is left out where the upstream gave none, and never half there.
func details(image, text *int64, natives []*genwayv1.NativeField) (*wireDetails, error) {
	if image == nil && text == nil && len(natives) == 0 {
		return nil, nil
	}
	others, err := extra(natives, "", nil)
	return &wireDetails{ImageTokens: image, TextTokens: text, Extra: others}, err
}

// split parts the protocol's own fields whose names begin with prefix, without it, from the rest.
func split(fields []*genwayv1.NativeField, prefix string) (rest, inner []*genwayv1.NativeField) {
	for _, f := range fields {
		if name, ok := strings.CutPrefix(f.GetName(), prefix); ok && f.GetProtocol() == protocol {
			inner = append(inner, &genwayv1.NativeField{Protocol: protocol, Name: name, Json: f.GetJson()})
		} else {
			rest = append(rest, f)
		}
	}
	return rest, inner
}

// finish returns what was written. What can go wrong is the JSON of a native field.
func finish(w *member.Writer) ([]byte, error) {
	body, err := w.Finish()
	if err != nil {
		return nil, unwritable(err)
	}
	return body, nil
}

func unwritable(err error) error {
	return fault.Wrap(err, fault.Internal, "ENCODE", "%s", fault.InternalMessage)
}

// extra returns the native fields of an object as members, whose strings are spelled with no
// more escapes than they need.
func extra(fields []*genwayv1.NativeField, path string, losses *codec.Losses) (jsontext.Value, error) {
	members, err := member.Extra(protocol, fields, path, losses)
	if err != nil || len(members) == 0 {
		return nil, err
	}
	plain, err := jsontext.AppendFormat(nil, members, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, unwritable(err)
	}
	return plain, nil
}

// sizeOf is about how long the body of an answer will be.
func sizeOf(resp *genwayv1.GenerateImageResponse) int {
	size := 512
	for _, i := range resp.GetImages() {
		size += 256 + len(i.GetData())/3*4 + len(i.GetUrl()) + len(i.GetRevisedPrompt())*9/8
	}
	return size
}
