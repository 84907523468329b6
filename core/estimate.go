package core

import (
	"slices"
	"strconv"

	"github.com/genway/genway/codec/member"
	"github.com/genway/genway/core/amount"
	"github.com/genway/genway/core/price"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Estimates are what is reserved of limits before an upstream has reported what a request
// takes. They cost a walk over the request's parts, not over their bytes.
const (
	// bytesPerToken leans to too many tokens: English has four or five bytes a token,
	// code and JSON three, and most other scripts three.
	bytesPerToken = 3
	// mediaTokens is an image or any other attachment: what vendors count for a picture
	// of a megapixel.
	mediaTokens = 1500
	// drawnTokens is an image that is made: the most that vendors count for one of a
	// megapixel in high quality.
	drawnTokens = 6500
	// frameTokens and frameBytes describe an upstream's own events, which are mostly
	// names: a token each, and more in those that are longer.
	frameTokens, frameBytes = 1, 256
	// unknownOutput is an answer of a model whose maximum is not known: the most that the models of the catalogue have.
	unknownOutput = 128_000
)

// estimate is what a request may take. A figure of 0 takes nothing.
type estimate struct {
	input, output, images int64
	// weighs is set for requests that take tokens and money at all: counting does not.
	weighs bool
	// open is set for a text request without a maximum: each of its answers is as long as the model, and the caller's
	// budgets, let it be. answers is how many there are, and output then only what is reserved of the tokens a minute.
	open    bool
	answers int64
	// by is the request member that decides how much output there is.
	by string
}

// maximum is the request member that bounds an answer.
const maximum = "max_output_tokens"

// tokens are those in and out.
func (e estimate) tokens() int64 { return amount.Sum(e.input, e.output) }

// member is the request member to lower where the tokens are too many; empty where they
// are the input's.
func (e estimate) member() string {
	if e.output < e.input {
		return ""
	}
	return e.by
}

// estimate takes a maximum below 0 for none: engines take it for "as much as there is".
func (r textRequest) estimate(outputTokens int64) estimate {
	req := r.Head()
	e := estimate{weighs: true, open: true, answers: max(int64(req.GetSampling().GetCandidateCount()), 1), by: "sampling.candidate_count"}
	if req.MaxOutputTokens != nil && req.GetMaxOutputTokens() >= 0 {
		outputTokens, e.open, e.by = req.GetMaxOutputTokens(), false, maximum
	}
	e.output = amount.Times(outputTokens, e.answers)
	return e
}

// input scans the body of a deferred request whose statistics the edge has not sent.
func (r textRequest) input() int64 {
	if statistics := r.Statistics(); statistics != nil {
		return statistics.GetTextBytes()/bytesPerToken + statistics.GetAttachments()*mediaTokens + 1
	}
	return textOf(r.Head())
}

// hostedCalls are the calls of vendors' own tools that a request allows.
type hostedCalls struct {
	// tools are by type, which a date may end. Those of types beyond maxToolTypes have the empty one, and the dearest price.
	tools map[string]hostedUses
	// most bounds the calls of all tools; nil does not.
	most *int64
}

// hostedUses are the calls that tools of one type allow: those that have bounds in all, and whether another has none.
type hostedUses struct {
	most int64
	open bool
}

// maxToolTypes and maxToolType bound the types of tools that are told apart, and the length of one: a body has room for
// millions.
const maxToolTypes, maxToolType = 64, 64

// add adds a tool.
func (h *hostedCalls) add(tool []byte) {
	var bounded struct {
		Most *int64 `json:"max_uses"`
	}
	if uses := member.Value(tool, "max_uses"); uses != nil {
		if n, err := strconv.ParseInt(string(uses), 10, 64); err == nil {
			bounded.Most = &n
		} else {
			member.Fit(tool, &bounded)
		}
	}
	kind := member.Raw(member.Value(tool, "type")).String()
	if kind == "" {
		return
	}
	if _, known := h.tools[kind]; !known && (len(h.tools) >= maxToolTypes || len(kind) > maxToolType) {
		kind = ""
	}
	uses := h.tools[kind]
	if bounded.Most == nil {
		uses.open = true
	} else {
		uses.most = amount.Sum(uses.most, *bounded.Most)
	}
	h.tools[kind] = uses
}

// hosted returns the calls of hosted tools that the request allows. It looks for them once.
func (a *admission) hosted() *hostedCalls {
	if a.tools != nil {
		return a.tools
	}
	a.tools = &hostedCalls{tools: map[string]hostedUses{}}
	req, ok := a.req.(textRequest)
	if !ok {
		return a.tools
	}
	if req.Deferred() {
		member.Edit(member.Value(req.Head().GetWire().GetJson(), "tools"), func(_ int, _, tool []byte) member.Change {
			if tool[0] == '{' {
				a.tools.add(tool)
			}
			return member.Change{Drop: true} // what is in it is read
		})
	}
	for _, t := range req.Head().GetTools() {
		if t.GetHosted() != nil {
			a.tools.add(t.GetHosted().GetJson())
		}
	}
	for _, f := range req.Head().GetNativeFields() {
		var bounded struct {
			Most *int64 `json:"max_tool_calls"`
		}
		if f.GetName() == "max_tool_calls" {
			member.Fit(slices.Concat([]byte(`{"max_tool_calls":`), f.GetJson(), []byte("}")), &bounded)
			a.tools.most = bounded.Most
		}
	}
	return a.tools
}

// cost is the most that the calls cost by a price, as far as the request bounds them.
func (h *hostedCalls) cost(p price.Price) int64 {
	sum, dearest := int64(0), int64(0)
	for kind, uses := range h.tools {
		each := p.Call(kind)
		if kind == "" {
			for _, price := range p.PerCall {
				each = max(each, price)
			}
		}
		dearest = max(dearest, each)
		sum = amount.Sum(sum, amount.Times(uses.most, each))
		if uses.open && h.most != nil {
			sum = amount.Sum(sum, amount.Times(*h.most, each))
		}
	}
	if h.most != nil {
		sum = min(sum, amount.Times(*h.most, dearest))
	}
	return sum
}

func textOf(req *genwayv1.GenerateTextRequest) int64 {
	size, media := len(req.GetResponseFormat().GetSchemaJson()), 0
	for _, m := range req.GetMessages() {
		size += partsOf(m.GetParts(), &media) + 4*bytesPerToken
	}
	for _, t := range req.GetTools() {
		size += len(t.GetFunction().GetName()) + len(t.GetFunction().GetDescription()) + len(t.GetFunction().GetParametersJson()) +
			len(t.GetCustom().GetDescription()) + len(t.GetCustom().GetFormatJson()) + len(t.GetHosted().GetJson())
	}
	return int64(size)/bytesPerToken + int64(media)*mediaTokens + 1
}

// partsOf returns the bytes of parts that are text, and counts those that are not.
func partsOf(parts []*genwayv1.Part, media *int) int {
	size := 0
	for _, p := range parts {
		switch k := p.GetKind().(type) {
		case *genwayv1.Part_Text:
			size += len(k.Text.GetText())
		case *genwayv1.Part_Thinking:
			size += len(k.Thinking.GetText())
		case *genwayv1.Part_ToolCall:
			size += len(k.ToolCall.GetName()) + len(k.ToolCall.GetArgumentsJson()) + len(k.ToolCall.GetInput())
		case *genwayv1.Part_ToolResult:
			size += len(k.ToolResult.GetResultJson()) + partsOf(k.ToolResult.GetParts(), media)
		case *genwayv1.Part_Refusal:
			size += len(k.Refusal.GetText())
		case *genwayv1.Part_Opaque:
			size += len(k.Opaque.GetJson())
		default: // an image, audio, a video, a file
			*media++
		}
	}
	return size
}
