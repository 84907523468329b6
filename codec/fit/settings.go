package fit

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/genway/genway/codec"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Bounds are what a vendor takes of settings. A bound of 0 is none.
type Bounds struct {
	// MinOutput is the least limit of tokens.
	MinOutput int64
	// Key is how many characters a prompt_cache_key and a safety_identifier have, User how many the caller's end user.
	Key, User int
	// Pairs is how many pairs metadata has, Name and Value how many characters their names and values.
	Pairs, Name, Value int
}

// Settings returns the request with settings within the vendor's bounds. A limit of tokens below its least is raised,
// and pairs of metadata beyond them are left out: both are named. An identifier that is too long is replaced by its
// hash, which identifies as well. A choice among no tools is left out, and a name in it that no tool has.
func Settings(req *genwayv1.GenerateTextRequest, rules Rules, losses *codec.Losses) *genwayv1.GenerateTextRequest {
	f, b := codec.Change{Req: req}, rules.Bounds
	if limit := req.MaxOutputTokens; limit != nil && *limit > 0 && *limit < b.MinOutput {
		f.Own().MaxOutputTokens = new(b.MinOutput)
		losses.Add("max_output_tokens", "the vendor takes no limit below it")
	}
	if key := req.GetPromptCacheKey(); beyond(key, b.Key) {
		f.Own().PromptCacheKey = hashed(key, b.Key)
	}
	if id := req.GetSafetyIdentifier(); beyond(id, b.Key) {
		f.Own().SafetyIdentifier = hashed(id, b.Key)
	}
	if user := req.GetUser(); beyond(user, b.User) {
		f.Own().User = hashed(user, b.User)
	}
	pairs(&f, b, losses)
	choice(&f, losses)
	if rules.NeedsJSON && req.GetResponseFormat().GetKind() == genwayv1.ResponseFormat_KIND_JSON_OBJECT && !saysJSON(req.GetMessages(), rules) {
		f.Own().Messages = append(slices.Clip(req.GetMessages()), &genwayv1.Message{Role: genwayv1.Role_ROLE_SYSTEM, Parts: []*genwayv1.Part{codec.TextPart("Answer in JSON.")}})
	}
	return f.Req
}

func beyond(text string, most int) bool {
	return most > 0 && len(text) > most && len([]rune(text)) > most
}

// hashed returns a text of at most so many characters that identifies another one.
func hashed(text string, most int) string {
	sum := sha256.Sum256([]byte(text))
	name := hex.EncodeToString(sum[:])
	return name[:min(len(name), most)]
}

func pairs(f *codec.Change, b Bounds, losses *codec.Losses) {
	pairs := f.Req.GetMetadata()
	if b.Pairs == 0 || len(pairs) == 0 {
		return
	}
	names := make([]string, 0, len(pairs))
	for name := range pairs {
		names = append(names, name)
	}
	slices.Sort(names)
	kept := make(map[string]string, len(pairs))
	for _, name := range names {
		if len(kept) < b.Pairs && !beyond(name, b.Name) && !beyond(pairs[name], b.Value) {
			kept[name] = pairs[name]
		}
	}
	if len(kept) < len(pairs) {
		f.Own().Metadata = kept
		losses.Add("metadata", fmt.Sprintf("the vendor takes at most %d pairs, names of %d and values of %d characters", b.Pairs, b.Name, b.Value))
	}
}

func choice(f *codec.Change, losses *codec.Losses) {
	c := f.Req.GetToolChoice()
	switch {
	case c == nil || c.GetNative() != nil:
	case len(f.Req.GetTools()) == 0:
		f.Own().ToolChoice = nil
		if c.GetMode() == genwayv1.ToolChoice_MODE_REQUIRED {
			losses.Add("tool_choice", "there is no tool to choose")
		}
	default:
		kept := slices.DeleteFunc(slices.Clone(c.GetNames()), func(name string) bool {
			return !slices.ContainsFunc(f.Req.GetTools(), func(t *genwayv1.Tool) bool { return t.GetFunction().GetName()+t.GetCustom().GetName() == name })
		})
		if len(kept) == len(c.GetNames()) || len(kept) == 0 {
			return
		}
		own := codec.Shared(c)
		own.Names = kept
		f.Own().ToolChoice = own
		losses.Add("tool_choice.names", "no tool has one of the names")
	}
}

// saysJSON reports whether the conversation has the word json. Where system text that begins it is written apart, the
// vendor does not count it.
func saysJSON(messages []*genwayv1.Message, rules Rules) bool {
	if rules.Instructs && len(messages) > 0 && messages[0].GetRole() == genwayv1.Role_ROLE_SYSTEM {
		messages = messages[1:]
	}
	return slices.ContainsFunc(messages, func(m *genwayv1.Message) bool {
		return slices.ContainsFunc(m.GetParts(), func(p *genwayv1.Part) bool {
			return strings.Contains(strings.ToLower(p.GetText().GetText()), "json")
		})
	})
}

// MediaTypes returns the request with types of images and PDF as vendors compare them: in lower case, without parameters,
// and with the registered name of JPEG.
func MediaTypes(req *genwayv1.GenerateTextRequest) *genwayv1.GenerateTextRequest {
	messages, changed := codec.RewrittenParts(req.GetMessages(), func(_, _ int, p *genwayv1.Part) *genwayv1.Part { return typed(p) })
	if !changed {
		return req
	}
	out := codec.Shared(req)
	out.Messages = messages
	return out
}

// typed returns a part with another type of its media; nil where it stays.
func typed(p *genwayv1.Part) *genwayv1.Part {
	var media *genwayv1.Media
	switch k := p.GetKind().(type) {
	case *genwayv1.Part_ToolResult:
		parts, changed := codec.Rewritten(k.ToolResult.GetParts(), func(_ int, in *genwayv1.Part) *genwayv1.Part { return typed(in) })
		if !changed {
			return nil
		}
		return codec.WithResult(p, func(r *genwayv1.ToolResult) { r.Parts = parts })
	case *genwayv1.Part_Image:
		media = k.Image
	case *genwayv1.Part_File:
		media = k.File
	default:
		return nil
	}
	kind, _, _ := strings.Cut(media.GetMimeType(), ";")
	if kind = strings.ToLower(strings.TrimSpace(kind)); kind == "image/jpg" {
		kind = "image/jpeg"
	}
	if kind == media.GetMimeType() || !strings.HasPrefix(kind, "image/") && kind != "application/pdf" {
		return nil
	}
	out, own := codec.Shared(p), codec.Shared(media)
	own.MimeType = kind
	if p.GetImage() != nil {
		out.Kind = &genwayv1.Part_Image{Image: own}
	} else {
		out.Kind = &genwayv1.Part_File{File: own}
	}
	return out
}
