package responses

import (
	"bytes"
	"slices"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/codec/passthrough"
	"github.com/genway/genway/codec/setting"
	edgev1 "github.com/genway/genway/gen/genway/edge/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/types/known/timestamppb"
)

var heads = passthrough.Text{
	Look:     member.Look{Sign: sign, Kind: "type", ID: "call_id"},
	Request:  requestHead,
	Response: responseHead,
}

// sign knows seals, identifiers of ours, and results, which are refused without an
// identifier by every upstream (case T19).
func sign(value []byte) member.Signs {
	switch {
	case bytes.HasSuffix(value, []byte("_output")):
		return member.Result
	case mayBeSealed(value), mayBeSynthetic(value):
		return member.Foreign
	}
	return 0
}

// BodyStatistics implements codec.HeadDecoder.
func (Codec) BodyStatistics(body []byte) *edgev1.BodyStatistics {
	return heads.BodyStatistics(body)
}

// DecodeRequestHead implements codec.HeadDecoder.
func (Codec) DecodeRequestHead(body []byte) (*codec.Request, bool) { return heads.DecodeRequest(body) }

// DecodeResponseHead implements codec.HeadDecoder.
func (Codec) DecodeResponseHead(body []byte) (*genwayv1.GenerateTextResponse, bool) {
	resp, ok := heads.DecodeResponse(body)
	if ok {
		resp.Usage = withTools(resp.Usage, body)
	}
	return resp, ok
}

// requestHead decodes the light members of a request.
func requestHead(index *member.TopIndex) (*codec.Request, bool) {
	var w wireRequest
	if _, ok := w.readHead(index); !ok {
		return nil, false
	}
	w.Input = textOrList{kind: '"', text: "-"}
	req, err := w.open()
	if err != nil {
		return nil, false
	}
	out, err := w.close(req)
	if err != nil {
		return nil, false
	}
	return out, true
}

// responseHead decodes the light members of an answer.
func responseHead(index *member.TopIndex) (*genwayv1.GenerateTextResponse, bool) {
	var w wireResponse
	if _, ok := w.readHead(index); !ok || w.failed() {
		return nil, false
	}
	return w.head(nil), true
}

// head is a response object but for its output and its end.
type head struct {
	id, model string
	created   int64
	// ended is when the response was completed, if the answer says so; else now returns it, and nil is the time it was
	// created.
	ended   *timestamppb.Timestamp
	now     func() time.Time
	tier    string
	echo    []byte
	natives []*genwayv1.NativeField
	// failed is the value of error; empty is null.
	failed []byte
}

// completed is the time at which the response was completed, in seconds.
func (h *head) completed() int64 {
	switch {
	case h.ended != nil:
		return h.ended.GetSeconds()
	case h.now == nil:
		return h.created
	}
	return h.now().Unix()
}

// begin writes the response object as far as the items of its output, which follow, and
// end what stands behind them.
func (h *head) begin(w *member.Writer, end ending) {
	w.Begin()
	w.Str("id", h.id)
	w.Str("object", "response")
	w.Int("created_at", h.created)
	w.Str("status", end.status)
	if h.failed == nil {
		w.Null("error")
	} else {
		w.Raw("error", h.failed)
	}
	if end.reason == "" {
		w.Null("incomplete_details")
	} else {
		w.Object("incomplete_details")
		w.Str("reason", end.reason)
		w.StrOpt("native_reason", end.native)
		w.End()
	}
	if end.status == statusCompleted {
		w.Int("completed_at", max(h.created, h.completed()))
	} else {
		w.Null("completed_at")
	}
	w.Str("model", h.model)
	w.List("output")
}

func (h *head) end(w *member.Writer, usage *genwayv1.Usage, losses *codec.Losses) {
	w.EndList()
	w.Str("service_tier", setting.Tier(protocol, h.tier))
	encodeUsage(w, usage, losses)
	w.Value(h.echo)
	w.Spliced(extras(h.natives, "", losses))
	w.End()
}

// echo returns the members of an answer that repeat the request, the vendor's
// defaults where it is silent, and null for what the vendor's types call
// nullable (SDK: Response). stored says that Genway stores the response.
func echo(req *codec.Request, stored bool) []byte {
	r := &genwayv1.GenerateTextRequest{}
	if req != nil && req.GenerateTextRequest != nil {
		r = req.GenerateTextRequest
	}
	w := member.NewWriter(1024)
	echoKnobs(w, r, stored)
	echoTools(w, r)
	natives, ofText := split(r.NativeFields, "text.")
	echoText(w, r, ofText)
	w.Object("reasoning")
	encodeNullable(w, "effort", r.GetThinking().GetEffort())
	encodeNullable(w, "summary", r.GetThinking().GetSummary())
	w.Spliced(extras(r.GetThinking().GetNativeFields(), "", nil))
	w.End()
	for _, m := range []struct{ name, fallback string }{
		{"access_programs", `{"cyber":"standard"}`},
		{"background", "false"},
		{"max_tool_calls", "null"},
		{"previous_response_id", "null"},
		{"prompt", "null"},
		{"truncation", `"disabled"`},
	} {
		value := member.Native(protocol, natives, m.name)
		if value == nil {
			value = jsontext.Value(m.fallback)
		}
		w.Raw(m.name, value)
	}
	if value := member.Native(protocol, natives, "conversation"); value.Kind() == '"' {
		w.Object("conversation")
		w.Raw("id", value)
		w.End()
	} else if value != nil {
		w.Raw("conversation", value)
	}
	return text(w)
}

func echoKnobs(w *member.Writer, r *genwayv1.GenerateTextRequest, stored bool) {
	text := ""
	if len(r.Messages) > 0 {
		text, _ = instructions(r.Messages[0])
	}
	encodeNullable(w, "instructions", text)
	echoSettings(w, r)
	w.Bool("store", stored)
}

// echoTools repeats the tools and the choice; a request of another protocol may
// have some this one cannot spell, and is then answered as if it had none.
func echoTools(w *member.Writer, r *genwayv1.GenerateTextRequest) {
	own := member.NewWriter(256)
	own.Begin()
	if parallel(r.ToolChoice) == nil {
		own.Bool("parallel_tool_calls", true)
	}
	err := encodeToolChoice(own, r)
	if err == nil && modeWord(r.ToolChoice) == "" && r.GetToolChoice().GetNative() == nil {
		own.Str("tool_choice", "auto")
	}
	if err == nil {
		err = encodeTools(own, r, nil, true)
	}
	if err != nil {
		own = member.NewWriter(64)
		own.Begin()
		own.Bool("parallel_tool_calls", true)
		own.Str("tool_choice", "auto")
	}
	if err != nil || !slices.ContainsFunc(r.Tools, offered(r)) {
		own.RawText("tools", "[]")
	}
	own.End()
	w.Spliced(text(own))
}

// unformatted is the format of an answer whose request names none.
var unformatted = &genwayv1.ResponseFormat{Kind: genwayv1.ResponseFormat_KIND_TEXT}

func echoText(w *member.Writer, r *genwayv1.GenerateTextRequest, natives []*genwayv1.NativeField) {
	format := r.ResponseFormat
	if format == nil {
		format = unformatted
	}
	own := member.NewWriter(128)
	own.Begin()
	if encodeText(own, r, format, natives, nil) != nil {
		own = member.NewWriter(64)
		own.Begin()
		own.RawText("text", `{"format":{"type":"text"}}`)
	}
	own.End()
	w.Spliced(text(own))
}

// Repeats implements codec.Repeater: an answer has the request's tools and instructions,
// which may stand in its input, too; and a trigger makes it a compaction item.
func (Codec) Repeats(body []byte) bool {
	return member.Mentions(body, "tools", "instructions", "system", typeTrigger)
}
