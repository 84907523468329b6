package fit_test

import (
	"strings"
	"testing"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/codec/fit"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"google.golang.org/protobuf/proto"
)

func TestSettings(t *testing.T) {
	long := strings.Repeat("é", 300)
	object := &genwayv1.ResponseFormat{Kind: genwayv1.ResponseFormat_KIND_JSON_OBJECT}
	tools := offering("{}", nil).Tools
	says := func(role genwayv1.Role, text string) []*genwayv1.Message {
		return []*genwayv1.Message{turn(role, codec.TextPart(text))}
	}
	many := map[string]string{}
	for i := range 17 {
		many[strings.Repeat("a", i+1)] = "v"
	}
	for name, c := range map[string]struct {
		in, out *genwayv1.GenerateTextRequest
		lost    string
		to      genwayv1.Protocol
	}{
		"a small limit":       {&genwayv1.GenerateTextRequest{MaxOutputTokens: new(int64(1))}, &genwayv1.GenerateTextRequest{MaxOutputTokens: new(int64(16))}, "max_output_tokens", responses},
		"a limit":             {&genwayv1.GenerateTextRequest{MaxOutputTokens: new(int64(16))}, nil, "", responses},
		"a limit of 0":        {&genwayv1.GenerateTextRequest{MaxOutputTokens: new(int64(0))}, nil, "", responses},
		"a limit to chat":     {&genwayv1.GenerateTextRequest{MaxOutputTokens: new(int64(1))}, nil, "", chat},
		"keys":                {&genwayv1.GenerateTextRequest{PromptCacheKey: strings.Repeat("k", 64), SafetyIdentifier: strings.Repeat("é", 64)}, nil, "", chat},
		"a user":              {&genwayv1.GenerateTextRequest{User: strings.Repeat("é", 256)}, nil, "", messages},
		"metadata":            {&genwayv1.GenerateTextRequest{Metadata: map[string]string{"a": long, long: "", "b": strings.Repeat("é", 512) + "x", "c": strings.Repeat("é", 512)}}, &genwayv1.GenerateTextRequest{Metadata: map[string]string{"a": long, "c": strings.Repeat("é", 512)}}, "metadata", chat},
		"metadata elsewhere":  {&genwayv1.GenerateTextRequest{Metadata: map[string]string{long: ""}}, nil, "", messages},
		"a choice of nothing": {&genwayv1.GenerateTextRequest{ToolChoice: &genwayv1.ToolChoice{Mode: genwayv1.ToolChoice_MODE_AUTO, Parallel: new(false)}}, &genwayv1.GenerateTextRequest{}, "", chat},
		"a demand of nothing": {&genwayv1.GenerateTextRequest{ToolChoice: &genwayv1.ToolChoice{Mode: genwayv1.ToolChoice_MODE_REQUIRED}}, &genwayv1.GenerateTextRequest{}, "tool_choice", responses},
		"a choice":            {&genwayv1.GenerateTextRequest{Tools: tools, ToolChoice: &genwayv1.ToolChoice{Names: []string{"f"}}}, nil, "", generateContent},
		"names of none":       {&genwayv1.GenerateTextRequest{Tools: tools, ToolChoice: &genwayv1.ToolChoice{Names: []string{"g", "f"}}}, &genwayv1.GenerateTextRequest{Tools: tools, ToolChoice: &genwayv1.ToolChoice{Names: []string{"f"}}}, "tool_choice.names", generateContent},
		"JSON":                {&genwayv1.GenerateTextRequest{ResponseFormat: object, Messages: says(genwayv1.Role_ROLE_SYSTEM, "as Json")}, nil, "", chat},
		"JSON elsewhere":      {&genwayv1.GenerateTextRequest{ResponseFormat: object, Messages: says(genwayv1.Role_ROLE_USER, "hi")}, nil, "", generateContent},
		"JSON unsaid":         {&genwayv1.GenerateTextRequest{ResponseFormat: object, Messages: says(genwayv1.Role_ROLE_USER, "hi")}, &genwayv1.GenerateTextRequest{ResponseFormat: object, Messages: append(says(genwayv1.Role_ROLE_USER, "hi"), says(genwayv1.Role_ROLE_SYSTEM, "Answer in JSON.")...)}, "", chat},
		"JSON apart":          {&genwayv1.GenerateTextRequest{ResponseFormat: object, Messages: says(genwayv1.Role_ROLE_SYSTEM, "as json")}, &genwayv1.GenerateTextRequest{ResponseFormat: object, Messages: append(says(genwayv1.Role_ROLE_SYSTEM, "as json"), says(genwayv1.Role_ROLE_SYSTEM, "Answer in JSON.")...)}, "", responses},
	} {
		before := proto.CloneOf(c.in)
		var losses codec.Losses
		got := fit.Settings(c.in, rulesOf(c.to), &losses)
		lost := ""
		if l := losses.List(); len(l) > 0 {
			lost = l[0].Member
		}
		if c.out == nil && got != c.in || c.out != nil && !proto.Equal(got, c.out) || lost != c.lost || !proto.Equal(c.in, before) {
			t.Errorf("%s: %v becomes %v, lost %q", name, before, got, lost)
		}
	}
	got := fit.Settings(&genwayv1.GenerateTextRequest{PromptCacheKey: long, SafetyIdentifier: long, User: long, Metadata: many}, rulesOf(responses), nil)
	if len(got.PromptCacheKey) != 64 || got.SafetyIdentifier != got.PromptCacheKey || got.User != long || len(got.Metadata) != 16 {
		t.Errorf("%v", got)
	}
	if got := fit.Settings(&genwayv1.GenerateTextRequest{User: long}, rulesOf(messages), nil); len(got.User) != 64 {
		t.Errorf("%v", got)
	}
}

// Types of images and PDF are written as vendors compare them, within results, too.
func TestMediaTypes(t *testing.T) {
	image := func(kind string) *genwayv1.Part {
		return &genwayv1.Part{Kind: &genwayv1.Part_Image{Image: &genwayv1.Media{MimeType: kind}}}
	}
	for in, want := range map[string]string{"image/jpg": "image/jpeg", "IMAGE/PNG": "image/png", "image/webp; q=1": "image/webp", "image/png": "image/png", "": "", "audio/L16;rate=24000": "audio/L16;rate=24000"} {
		req := &genwayv1.GenerateTextRequest{Messages: []*genwayv1.Message{turn(genwayv1.Role_ROLE_USER, image(in), result("1", image(in)))}}
		got := fit.MediaTypes(req)
		parts := got.Messages[0].Parts
		if parts[0].GetImage().MimeType != want || parts[1].GetToolResult().Parts[0].GetImage().MimeType != want || (got == req) != (in == want) || req.Messages[0].Parts[0].GetImage().MimeType != in {
			t.Errorf("%q: %v", in, parts)
		}
	}
	pdf := &genwayv1.Part{Kind: &genwayv1.Part_File{File: &genwayv1.Media{MimeType: "Application/PDF; x"}}}
	got := fit.MediaTypes(&genwayv1.GenerateTextRequest{Messages: []*genwayv1.Message{turn(genwayv1.Role_ROLE_USER, pdf)}})
	if kind := got.Messages[0].Parts[0].GetFile().MimeType; kind != "application/pdf" {
		t.Errorf("%q", kind)
	}
}
