// Package listing reads the lists of models that services of the JSON protocols give at
// their own paths, one page at a time.
//
// It reads leniently: a member of an unknown type is taken for absent, and an entry
// without a name is left out, since a list is for pickers and no request depends on it.
// Like all codecs it must not import net/http, grpc or anything of ours but the contract.
package listing

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/codec/member"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// page is a page of any of the protocols: Page[Model] of openai-go, Page[ModelInfo] of
// @anthropic-ai/sdk, ListModelsResponse of genai.
type page struct {
	Data          []jsontext.Value `json:"data"`
	Models        []jsontext.Value `json:"models"`
	HasMore       jsontext.Value   `json:"has_more"`
	LastID        jsontext.Value   `json:"last_id"`
	NextPageToken jsontext.Value   `json:"nextPageToken"`
}

// Form is the form in which one vendor's services list models.
type Form struct {
	// images reports that the models draw images, and generate no text.
	images bool
	// list returns the entries of a page; nil for a body that is no page.
	list func(*page) []jsontext.Value
	read func(*entry) *genwayv1.Model
	// next returns the token of the page after a page; nil for lists without pages.
	next func(*page) string
	// size and after are the query parameters with the most models of a page, and the token
	// of a page; empty for lists without pages.
	size, after string
}

// The forms.
var (
	// OpenAI is the list of chat completions, responses and most self-hosted engines.
	OpenAI = &Form{list: data, read: vendorA}
	// Images is the same list of services that draw images.
	Images = &Form{list: data, read: vendorA, images: true}
	// Anthropic is the list of messages.
	Anthropic = &Form{list: data, read: vendorB, next: lastID, size: "limit", after: "after_id"}
	// Gemini is the list of generateContent.
	Gemini = &Form{
		list: func(p *page) []jsontext.Value { return p.Models }, read: vendorC,
		next: func(p *page) string { return text(p.NextPageToken) }, size: "pageSize", after: "pageToken",
	}
)

func data(p *page) []jsontext.Value { return p.Data }

func lastID(p *page) string {
	if string(p.HasMore) != "true" {
		return ""
	}
	return text(p.LastID)
}

// Decode reads a page. NextPageToken is what Query takes for the page after it. The error is
// a *fault.Error of kind BadUpstream.
func (f *Form) Decode(body []byte) (*genwayv1.ListModelsResponse, error) {
	var p page
	var err error
	if trimmed := bytes.TrimLeft(body, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '[' {
		err = json.Unmarshal(body, &p.Data) // some services of chat completions have no envelope
	} else {
		err = json.Unmarshal(body, &p, jsontext.AllowDuplicateNames(true))
	}
	if err != nil {
		return nil, fault.Wrap(err, fault.BadUpstream, fault.ReasonMalformedAnswer, "the upstream's list of models could not be read")
	}
	entries := f.list(&p)
	if entries == nil {
		return nil, fault.New(fault.BadUpstream, fault.ReasonMalformedAnswer, "the upstream's answer is no list of models")
	}
	list := &genwayv1.ListModelsResponse{}
	if f.next != nil {
		list.NextPageToken = f.next(&p)
	}
	for _, raw := range entries {
		var e entry
		if json.Unmarshal(raw, &e, jsontext.AllowDuplicateNames(true)) != nil {
			continue
		}
		if m := f.read(&e); m.GetName() != "" {
			m.GeneratesImages = m.GeneratesImages || f.images
			m.GeneratesText = m.GeneratesText && !f.images
			list.Models = append(list.Models, m)
		}
	}
	return list, nil
}

// pageSize is the most models in a page that both protocols with pages allow.
const pageSize = "1000"

// Query returns the query of the request for a page: parameters by name. token is empty for
// the first page.
func (f *Form) Query(token string) map[string]string {
	if f.size == "" {
		return nil
	}
	query := map[string]string{f.size: pageSize}
	if token != "" {
		query[f.after] = token
	}
	return query
}

// entry is a model of any of the protocols.
type entry struct {
	ID          jsontext.Value `json:"id"`
	OwnedBy     jsontext.Value `json:"owned_by"`
	Created     jsontext.Value `json:"created"`
	CreatedAt   jsontext.Value `json:"created_at"`
	Display     jsontext.Value `json:"display_name"`
	MaxInput    jsontext.Value `json:"max_input_tokens"`
	MaxTokens   jsontext.Value `json:"max_tokens"`
	Name        jsontext.Value `json:"name"`
	DisplayName jsontext.Value `json:"displayName"`
	Description jsontext.Value `json:"description"`
	InputLimit  jsontext.Value `json:"inputTokenLimit"`
	OutputLimit jsontext.Value `json:"outputTokenLimit"`
	Methods     jsontext.Value `json:"supportedGenerationMethods"`
	Context     jsontext.Value `json:"context_length"` // of OpenRouter, and of this gateway
	MaxModelLen jsontext.Value `json:"max_model_len"`  // of vLLM
}

// vendorA reads Model of openai-go.
func vendorA(e *entry) *genwayv1.Model {
	m := &genwayv1.Model{Name: text(e.ID), OwnedBy: text(e.OwnedBy), GeneratesText: true, ContextTokenLimit: number(e.Context)}
	if m.ContextTokenLimit == nil {
		m.ContextTokenLimit = number(e.MaxModelLen)
	}
	if created := number(e.Created); created != nil {
		m.CreateTime = member.Time(*created)
	}
	return m
}

// vendorB reads ModelInfo of @anthropic-ai/sdk.
func vendorB(e *entry) *genwayv1.Model {
	m := &genwayv1.Model{
		Name: text(e.ID), DisplayName: text(e.Display), GeneratesText: true,
		InputTokenLimit: number(e.MaxInput), OutputTokenLimit: number(e.MaxTokens),
	}
	if created, err := time.Parse(time.RFC3339, text(e.CreatedAt)); err == nil {
		if t := timestamppb.New(created); t.IsValid() {
			m.CreateTime = t
		}
	}
	return m
}

// vendorC reads Model of the generateContent API, whose names are resource names. Models
// that cannot generate (embeddings and the like) have no name here, and are left out.
func vendorC(e *entry) *genwayv1.Model {
	var methods []string
	if json.Unmarshal(e.Methods, &methods) == nil && len(methods) > 0 && !slices.Contains(methods, "generateContent") {
		return nil
	}
	return &genwayv1.Model{
		Name: strings.TrimPrefix(text(e.Name), "models/"), DisplayName: text(e.DisplayName), Description: text(e.Description),
		InputTokenLimit: number(e.InputLimit), OutputTokenLimit: number(e.OutputLimit), GeneratesText: true,
	}
}

// text returns a string; empty for anything else.
func text(v jsontext.Value) string {
	var s string
	if len(v) == 0 || v.Kind() != '"' || json.Unmarshal(v, &s) != nil {
		return ""
	}
	return s
}

// number returns a whole number above 0; nil for anything else.
func number(v jsontext.Value) *int64 {
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil || n <= 0 {
		return nil
	}
	return &n
}
