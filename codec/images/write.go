package images

import (
	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
)

// finish gives what was written. What can go wrong is the JSON of a native field.
func finish(w *member.Writer) ([]byte, error) {
	body, err := w.Finish()
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "ENCODE", "%s", fault.InternalMessage)
	}
	return body, nil
}

// members writes native fields, whose strings are spelled with no more escapes than they
// need.
func members(w *member.Writer, extra jsontext.Value) {
	if len(extra) == 0 {
		return
	}
	plain, err := jsontext.AppendFormat(nil, extra, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		w.Fail(err)
		return
	}
	w.Members(plain)
}

func (w *wireRequest) write(to *member.Writer) {
	to.Begin()
	to.Str("model", w.Model)
	to.Str("prompt", w.Prompt)
	to.StrOpt("size", w.Size)
	member.IntOpt(to, "n", w.N)
	to.StrOpt("quality", w.Quality)
	to.StrOpt("output_format", w.OutputFormat)
	to.StrOpt("background", w.Background)
	member.IntOpt(to, "output_compression", w.OutputCompression)
	to.StrOpt("moderation", w.Moderation)
	to.StrOpt("style", w.Style)
	to.StrOpt("user", w.User)
	to.StrOpt("response_format", w.ResponseFormat)
	if w.Stream {
		to.Bool("stream", true)
	}
	member.IntOpt(to, "partial_images", w.PartialImages)
	members(to, w.Extra)
	to.End()
}

// sizeOf is about how long the body of an answer will be.
func sizeOf(resp *genwayv1.GenerateImageResponse) int {
	size := 512
	for _, i := range resp.GetImages() {
		size += 256 + len(i.GetData())/3*4 + len(i.GetUrl()) + len(i.GetRevisedPrompt())*9/8
	}
	return size
}

func (w *wireResponse) write(to *member.Writer) {
	to.Begin()
	to.Int("created", w.Created)
	to.StrOpt("background", w.Background)
	to.List("data")
	for i := range w.Data {
		w.Data[i].write(to)
	}
	to.EndList()
	to.StrOpt("output_format", w.OutputFormat)
	to.StrOpt("quality", w.Quality)
	to.StrOpt("size", w.Size)
	if w.Usage != nil {
		w.Usage.write(to)
	}
	members(to, w.Extra)
	to.End()
}

func (w *wireImage) write(to *member.Writer) {
	to.Begin()
	if w.B64JSON != nil {
		to.Base64("b64_json", w.B64JSON)
	}
	to.StrOpt("url", w.URL)
	to.StrOpt("generation_id", w.GenerationID)
	to.StrOpt("model", w.Model)
	to.StrOpt("size", w.Size)
	to.StrOpt("revised_prompt", w.RevisedPrompt)
	members(to, w.Extra)
	to.End()
}

func (w *wireUsage) write(to *member.Writer) {
	to.Object("usage")
	to.Int("input_tokens", w.InputTokens)
	to.Int("output_tokens", w.OutputTokens)
	to.Int("total_tokens", w.TotalTokens)
	w.InputTokensDetails.write(to, "input_tokens_details")
	w.OutputTokensDetails.write(to, "output_tokens_details")
	members(to, w.Extra)
	to.End()
}

func (w *wireDetails) write(to *member.Writer, name string) {
	if w == nil {
		return
	}
	to.Object(name)
	member.IntOpt(to, "image_tokens", w.ImageTokens)
	member.IntOpt(to, "text_tokens", w.TextTokens)
	to.End()
}

func (w *wireEvent) write(to *member.Writer) {
	to.Begin()
	to.Str("type", w.Type)
	to.Base64("b64_json", w.B64JSON)
	to.Str("background", w.Background)
	to.Int("created_at", w.CreatedAt)
	to.Str("output_format", w.OutputFormat)
	member.IntOpt(to, "partial_image_index", w.PartialImageIndex)
	to.Str("quality", w.Quality)
	to.Str("size", w.Size)
	if w.Usage != nil {
		w.Usage.write(to)
	}
	members(to, w.Extra)
	to.End()
}
