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

func (r *wireRequest) write(w *member.Writer) {
	w.Begin()
	w.Str("model", r.Model)
	w.Str("prompt", r.Prompt)
	w.StrOpt("size", r.Size)
	member.IntOpt(w, "n", r.N)
	w.StrOpt("quality", r.Quality)
	w.StrOpt("output_format", r.OutputFormat)
	w.StrOpt("background", r.Background)
	member.IntOpt(w, "output_compression", r.OutputCompression)
	w.StrOpt("moderation", r.Moderation)
	w.StrOpt("style", r.Style)
	w.StrOpt("user", r.User)
	w.StrOpt("response_format", r.ResponseFormat)
	members(w, r.Extra)
	w.End()
}

// sizeOf is about how long the body of an answer will be.
func sizeOf(resp *genwayv1.GenerateImageResponse) int {
	size := 512
	for _, i := range resp.GetImages() {
		size += 256 + len(i.GetData())/3*4 + len(i.GetUrl()) + len(i.GetRevisedPrompt())*9/8
	}
	return size
}

func (r *wireResponse) write(w *member.Writer) {
	w.Begin()
	w.Int("created", r.Created)
	w.StrOpt("background", r.Background)
	w.List("data")
	for i := range r.Data {
		r.Data[i].write(w)
	}
	w.EndList()
	w.StrOpt("output_format", r.OutputFormat)
	w.StrOpt("quality", r.Quality)
	w.StrOpt("size", r.Size)
	if r.Usage != nil {
		r.Usage.write(w)
	}
	members(w, r.Extra)
	w.End()
}

func (i *wireImage) write(w *member.Writer) {
	w.Begin()
	if i.B64JSON != nil {
		w.Base64("b64_json", i.B64JSON)
	}
	w.StrOpt("url", i.URL)
	w.StrOpt("generation_id", i.GenerationID)
	w.StrOpt("model", i.Model)
	w.StrOpt("size", i.Size)
	w.StrOpt("revised_prompt", i.RevisedPrompt)
	members(w, i.Extra)
	w.End()
}

func (u *wireUsage) write(w *member.Writer) {
	w.Object("usage")
	w.Int("input_tokens", u.InputTokens)
	w.Int("output_tokens", u.OutputTokens)
	w.Int("total_tokens", u.TotalTokens)
	u.InputTokensDetails.write(w, "input_tokens_details")
	u.OutputTokensDetails.write(w, "output_tokens_details")
	members(w, u.Extra)
	w.End()
}

func (d *wireDetails) write(w *member.Writer, name string) {
	if d == nil {
		return
	}
	w.Object(name)
	member.IntOpt(w, "image_tokens", d.ImageTokens)
	member.IntOpt(w, "text_tokens", d.TextTokens)
	w.End()
}

func (e *completedEvent) write(w *member.Writer) {
	w.Begin()
	w.Str("type", e.Type)
	w.Base64("b64_json", e.B64JSON)
	w.Str("background", e.Background)
	w.Int("created_at", e.CreatedAt)
	w.Str("output_format", e.OutputFormat)
	w.Str("quality", e.Quality)
	w.Str("size", e.Size)
	e.Usage.write(w)
	w.End()
}
