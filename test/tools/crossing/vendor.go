package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/catalog"
	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/upstream/provider"
	"github.com/genway/genway/core/upstream/remote"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	table "github.com/genway/genway/protocol"
	"github.com/genway/genway/protocol/deferred"
	"github.com/genway/genway/test/strict"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// targets are what bodies of each protocol are sent to: models of each generation whose rules differ, and places.
var targets = map[string][]strict.Target{
	"chat":      {{Model: "gpt-4o"}, {Model: "gpt-5"}, {Model: "gpt-5.6"}, {Model: "gpt-6.2-sol"}},
	"responses": {{Model: "gpt-4o"}, {Model: "gpt-5"}, {Model: "gpt-5.6"}, {Model: "gpt-6.2-sol"}},
	"messages": {
		{Model: "claude-sonnet-4-5"}, {Model: "claude-opus-4-6"}, {Model: "claude-opus-4-7"}, {Model: "claude-opus-5-5"},
		{Place: "bedrock", Model: "us.anthropic.claude-sonnet-4-5-20250929-v1:0"}, {Place: "vertex", Model: "claude-opus-4-7@20260416"},
	},
	relayed:           {{Model: "gemini-2.5-flash"}, {Model: "gemini-3-pro-preview"}},
	"generatecontent": {{Model: "gemini-2.5-flash"}, {Model: "gemini-2.5-pro"}, {Model: "gemini-3-flash-preview"}, {Place: "vertex", Model: "gemini-3-pro-preview"}},
}

// tolerated are refusals by a vendor's rules that are not mended, with the reason: the pattern is "exchange: rule".
var tolerated = map[string]string{
	"3a0e71de21c1: effort is a word that the model takes":           newWord,
	"3a0e71de21c1: a level of thinking is one that the model takes": newWord,
	"3a0e71de21c1: a level of thinking is a word of the vendor's":   newWord,
}

const newWord = "an engine's own effort, \"default\": words that no vendor has are sent, since the catalogue may be older than they are"

// vendor sends requests to a model of a vendor through a router, as the gateway does, up to the call itself.
type vendor struct {
	strict.Target
	router *route.Router
	// answer is that of each call; nil has it fail.
	answer, sent []byte
}

// vendorsOf returns those of a protocol.
func vendorsOf(kind string) (all []*vendor, err error) {
	for _, target := range targets[kind] {
		target.Protocol = kind
		v, err := newVendor(target, catalog.Shipped())
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

// newVendor returns one whose models are those of the catalogue; nil knows none.
func newVendor(target strict.Target, models *catalog.Catalog) (*vendor, error) {
	v := &vendor{Target: target}
	config := remote.Config{Protocol: table.ByKind(target.Protocol).ID, BaseURL: "http://vendor.invalid/v1", HTTP: v}
	if target.Place != "" {
		config.Place, _ = provider.Find(target.Place).Endpoint(target.Protocol, "")
	}
	adapter, err := remote.New(config)
	if err != nil {
		return nil, err
	}
	v.router = route.New([]route.Route{{Model: "*", Targets: []route.Target{{
		Name: target.Model, Upstream: adapter, Protocol: config.Protocol, Model: target.Model, Catalog: models,
		Guard: route.NewGuard(route.Limits{Retries: -1, BreakAfter: -1}),
	}}}})
	return v, nil
}

var errKept = errors.New("the body is kept, and nothing is sent")

// RoundTrip keeps a body.
func (v *vendor) RoundTrip(r *http.Request) (*http.Response, error) {
	defer r.Body.Close()
	var err error
	if v.sent, err = io.ReadAll(r.Body); err != nil {
		return nil, err
	}
	if v.answer == nil {
		return nil, errKept
	}
	return &http.Response{
		StatusCode: http.StatusOK, ProtoMajor: 1, Request: r, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(v.answer)),
	}, nil
}

// newEngine returns an upstream of which only the protocol is known.
func newEngine(kind string) (*vendor, error) {
	v, err := newVendor(strict.Target{Protocol: kind}, nil)
	if err == nil {
		v.answer, err = protocols[kind].codec.EncodeResponse(&genwayv1.GenerateTextResponse{Id: "1", Model: "m", CreateTime: timestamppb.Now(), Candidates: []*genwayv1.Candidate{{
			Parts: []*genwayv1.Part{{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{Text: "."}}}}, StopReason: genwayv1.StopReason_STOP_REASON_END_TURN,
		}}}, codec.Answer{})
	}
	return v, err
}

// asks returns the body of a request and what that loses, or the gateway's refusal.
func (v *vendor) asks(asked *codec.Request) ([]byte, []*genwayv1.Loss, error) {
	ctx := call.With(context.Background(), &call.Record{})
	resp, err := v.router.GenerateText(ctx, deferred.New(clone(asked).GenerateTextRequest))
	if err == nil && asked.Stream {
		_ = v.router.StreamGenerateText(ctx, deferred.New(clone(asked).GenerateTextRequest), func(*genwayv1.StreamGenerateTextResponse) error { return errKept })
	}
	return v.sent, resp.GetLosses(), err
}

// refusals returns what the vendor refuses of a request, and its body. The body is nil if the gateway refuses it.
func (v *vendor) refusals(asked *codec.Request) ([]strict.Refusal, []byte) {
	ctx := call.With(context.Background(), &call.Record{})
	v.sent = nil
	if req := deferred.New(clone(asked).GenerateTextRequest); asked.Stream {
		_ = v.router.StreamGenerateText(ctx, req, func(*genwayv1.StreamGenerateTextResponse) error { return errKept })
	} else {
		_, _ = v.router.GenerateText(ctx, req)
	}
	if v.sent == nil {
		return nil, nil
	}
	return strict.Judge(v.Target, v.sent), v.sent
}

// judged notes what the vendors of a protocol refuse of a request.
func (r *row) judged(x exchange, asked *codec.Request, all []*vendor) {
	refused := false
	for _, v := range all {
		refusals, body := v.refusals(asked)
		counted := map[string]bool{}
		for _, refusal := range refusals {
			if r.show != nil {
				fmt.Fprintf(r.show, "%s %s refuses %s\n", r.pair, v.Model, refusal)
			}
			if counted[refusal.Rule] {
				continue
			}
			counted[refusal.Rule] = true
			if _, ok := tolerated[x.ID+": "+refusal.Rule]; ok {
				r.count(x, "tolerated  ", refusal.Rule)
				continue
			}
			refused = true
			r.count(x, vendorKey, refusal.Rule+" ("+v.Model+")")
		}
		if r.show != nil && len(refusals) > 0 {
			fmt.Fprintf(r.show, "%s\n\n", body)
		}
	}
	if refused {
		r.unwanted++
	}
}

// vendorKey begins what is counted as refused by a vendor's rule.
const vendorKey = "REFUSED BY THE VENDOR  "

// ownHosts are the hosts of the vendors themselves.
var ownHosts = regexp.MustCompile(`^(api\.anthropic\.com|api\.openai\.com|.*generativelanguage\.googleapis\.com|.*aiplatform\.googleapis\.com)$`)

// accepted judges a body as its caller sent it, where its own vendor answered it with 200: a rule that refuses it is wrong.
func (r *report) accepted(x exchange) {
	if x.Status != http.StatusOK || !ownHosts.MatchString(x.Host) {
		return
	}
	model := x.Model()
	row := r.row("recorded", x.Protocol, "its vendor")
	refusals := strict.Judge(strict.Target{Protocol: x.Protocol, Model: model}, x.Request)
	for _, refusal := range refusals {
		row.count(x, vendorKey, refusal.Rule+" ("+model+", which answered)")
	}
	if len(refusals) > 0 {
		row.unwanted++
	} else {
		row.whole++
	}
}
