package messages

import (
	"slices"
	"strings"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/types/known/durationpb"
)

// cachedTurns is how many turns of the user Breakpoints marks. With the tools and the system text they are the four
// breakpoints that the vendor takes.
const cachedTurns = 2

// Breakpoints returns a request that is translated to this protocol with prompt-cache breakpoints where the vendor
// documents them (platform.claude.com/docs/en/build-with-claude/prompt-caching; read 2026-11-27): after the last
// tool, after the system text, and after the last two turns of the user, the earlier of which ended the request
// before. A request whose caller has set a breakpoint is returned as it is. The breakpoints have the vendor's
// default lifetime. Where they are depends on the conversation alone, so that what precedes a breakpoint is the same
// in the next request.
func Breakpoints(req *genwayv1.GenerateTextRequest) *genwayv1.GenerateTextRequest {
	if setsBreakpoint(req) {
		return req
	}
	marked := cachedParts(req.GetMessages())
	out := codec.Shared(req)
	out.Messages, _ = codec.RewrittenParts(req.GetMessages(), func(i, j int, p *genwayv1.Part) *genwayv1.Part {
		if !slices.Contains(marked, [2]int{i, j}) {
			return nil
		}
		cached := codec.Shared(p)
		cached.CacheControl = &genwayv1.CacheControl{}
		return cached
	})
	only := chosen(req.GetToolChoice())
	for i, t := range slices.Backward(req.GetTools()) {
		if isSent(t, only) {
			out.Tools = slices.Clone(req.GetTools())
			out.Tools[i] = codec.Shared(t)
			out.Tools[i].CacheControl = &genwayv1.CacheControl{}
			break
		}
	}
	return out
}

// setsBreakpoint reports whether the caller has set a breakpoint anywhere, also in a member that is not carried.
func setsBreakpoint(req *genwayv1.GenerateTextRequest) bool {
	inFields := func(fields []*genwayv1.NativeField) bool {
		return slices.ContainsFunc(fields, func(f *genwayv1.NativeField) bool {
			return f.GetName() == "cache_control" || f.GetName() == "prompt_cache_breakpoint"
		})
	}
	var inParts func(parts []*genwayv1.Part) bool
	inParts = func(parts []*genwayv1.Part) bool {
		return slices.ContainsFunc(parts, func(p *genwayv1.Part) bool {
			return p.GetCacheControl() != nil || inFields(p.GetNativeFields()) ||
				member.Value(p.GetOpaque().GetJson(), "cache_control") != nil || inParts(p.GetToolResult().GetParts())
		})
	}
	return req.GetCacheControl() != nil || inFields(req.GetNativeFields()) ||
		slices.ContainsFunc(req.GetTools(), func(t *genwayv1.Tool) bool {
			return t.GetCacheControl() != nil || inFields(t.GetNativeFields()) || member.Value(t.GetHosted().GetJson(), "cache_control") != nil
		}) ||
		slices.ContainsFunc(req.GetMessages(), func(m *genwayv1.Message) bool {
			return inFields(m.GetNativeFields()) || inParts(m.GetParts())
		})
}

// cachedParts returns the places of the parts that end the system text and the last turns of the user, as the
// encoder writes them: neighbouring messages of users and tools are one turn, in which results come first.
func cachedParts(messages []*genwayv1.Message) [][2]int {
	var system *[2]int
	var turns [][2]int
	within, result := false, false // a turn of the user that has a place already, which is a result
	for i, m := range messages {
		switch m.GetRole() { //nolint:exhaustive // the others are refused
		case genwayv1.Role_ROLE_SYSTEM, genwayv1.Role_ROLE_DEVELOPER:
			for j, p := range m.GetParts() {
				if m.GetNativeRole() == "" && p.GetText() != nil && cacheable(p) {
					system = &[2]int{i, j}
				}
			}
		case genwayv1.Role_ROLE_ASSISTANT:
			within = false
		case genwayv1.Role_ROLE_USER, genwayv1.Role_ROLE_TOOL:
			for j, p := range m.GetParts() {
				isResult := p.GetToolResult() != nil
				switch {
				case !cacheable(p), within && isResult && !result:
				case within:
					turns[len(turns)-1], result = [2]int{i, j}, isResult
				default:
					turns, within, result = append(turns, [2]int{i, j}), true, isResult
				}
			}
		}
	}
	places := turns[max(0, len(turns)-cachedTurns):]
	if system != nil {
		places = append(slices.Clip(places), *system)
	}
	return places
}

// cacheable reports whether a part is surely written as a block that may have a breakpoint: no blank text, and no
// content of another vendor.
func cacheable(p *genwayv1.Part) bool {
	switch k := p.GetKind().(type) {
	case *genwayv1.Part_Text:
		return strings.TrimSpace(k.Text.GetText()) != ""
	case *genwayv1.Part_Image, *genwayv1.Part_File, *genwayv1.Part_ToolResult:
		return true
	}
	return false
}

// The two lifetimes of a prompt-cache entry (CacheControlEphemeralTTL).
const (
	ttl5m, lives5m = "5m", 5 * time.Minute
	ttl1h, lives1h = "1h", time.Hour
)

func (c *cacheControl) canonical() *genwayv1.CacheControl {
	if c == nil {
		return nil
	}
	out := &genwayv1.CacheControl{}
	if c.Type != "ephemeral" && c.Type != "" {
		out.NativeFields = append(out.NativeFields, word("type", c.Type))
	}
	switch c.TTL {
	case "":
	case ttl5m:
		out.Ttl = durationpb.New(lives5m)
	case ttl1h:
		out.Ttl = durationpb.New(lives1h)
	default:
		out.NativeFields = append(out.NativeFields, word("ttl", c.TTL))
	}
	out.NativeFields = append(out.NativeFields, natives(c.Extra)...)
	return out
}

// cacheControl writes a breakpoint; nothing for nil. Another lifetime than the
// vendor's two becomes the shortest that is not shorter.
func (w *writer) cacheControl(c *genwayv1.CacheControl, path string, losses *codec.Losses) {
	if c == nil {
		return
	}
	path = member.Join(path, "cache_control")
	w.Object("cache_control")
	if native(c.NativeFields, "type") == nil {
		w.Str("type", "ephemeral")
	}
	if asked := member.TTL(c); asked > 0 && native(c.NativeFields, "ttl") == nil {
		ttl, lives := ttl5m, lives5m
		if asked > lives5m {
			ttl, lives = ttl1h, lives1h
		}
		if asked != lives {
			losses.Add(path+".ttl", "the messages protocol keeps cache entries for 5 minutes or an hour")
		}
		w.Str("ttl", ttl)
	}
	w.natives(c.NativeFields, path, losses)
	w.End()
}
