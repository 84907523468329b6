package sandbox

import (
	"fmt"
	"strings"

	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// findings are what the sandbox carries without acting on it: members that only a
// vendor's protocol has, and cache marks.
type findings struct {
	// natives are the members by path, as in messages[0].parts[1].foo.
	natives []string
	marks   int
}

// maxNatives is how many members a reply names.
const maxNatives = 40

func find(req *genwayv1.GenerateTextRequest) *findings {
	f := &findings{}
	f.fields("", req.GetNativeFields())
	f.mark(req.GetCacheControl())
	for i, m := range req.GetMessages() {
		where := fmt.Sprintf("messages[%d].", i)
		f.fields(where, m.GetNativeFields())
		f.parts(where, m.GetParts())
	}
	for i, t := range req.GetTools() {
		f.fields(fmt.Sprintf("tools[%d].", i), t.GetNativeFields())
		f.mark(t.GetCacheControl())
	}
	f.fields("thinking.", req.GetThinking().GetNativeFields())
	f.fields("audio_output.", req.GetAudioOutput().GetNativeFields())
	return f
}

func (f *findings) parts(where string, parts []*genwayv1.Part) {
	for i, p := range parts {
		here := fmt.Sprintf("%sparts[%d].", where, i)
		f.fields(here, p.GetNativeFields())
		f.mark(p.GetCacheControl())
		f.parts(here+"tool_result.", p.GetToolResult().GetParts())
	}
}

func (f *findings) fields(where string, fields []*genwayv1.NativeField) {
	for _, n := range fields {
		if member.IsMark(n) {
			continue // the canonical fields have it
		}
		f.natives = append(f.natives, where+clip(n.GetName(), 60))
	}
}

func (f *findings) mark(c *genwayv1.CacheControl) {
	if c != nil {
		f.marks++
	}
}

func (f *findings) report(r *report, s seals) {
	if f.marks > 0 {
		r.addf("Cache marks: %d", f.marks)
	}
	var o options
	if s.own > 0 {
		o.addf("%d of the sandbox accepted", s.own)
	}
	if s.foreign > 0 {
		o.addf("%d foreign", s.foreign)
	}
	o.line(r, "Signatures")
	if n := len(f.natives); n > 0 {
		list := strings.Join(f.natives[:min(n, maxNatives)], ", ")
		if n > maxNatives {
			list += fmt.Sprintf(", … (%d)", n)
		}
		r.addf("Also given: %s", list)
	}
}

// losses names what bears on the answer but needs a service behind it.
func losses(req *genwayv1.GenerateTextRequest, forgot bool) []*genwayv1.Loss {
	var list []*genwayv1.Loss
	if forgot {
		list = append(list, &genwayv1.Loss{Member: previousResponse, Reason: "the sandbox does not remember that response"})
	}
	for _, n := range req.GetNativeFields() {
		if n.GetBinding() && n.GetName() != previousResponse {
			list = append(list, &genwayv1.Loss{Member: n.GetName(), Reason: "the sandbox has nothing that could act on it"})
		}
	}
	for i, t := range req.GetTools() {
		if t.GetHosted() != nil {
			list = append(list, &genwayv1.Loss{Member: fmt.Sprintf("tools[%d]", i), Reason: "the sandbox runs no hosted tools"})
		}
	}
	return list
}
