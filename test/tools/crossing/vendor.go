package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/catalog"
	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/upstream/remote"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	table "github.com/genway/genway/protocol"
	"github.com/genway/genway/protocol/deferred"
	"github.com/genway/genway/test/strict"
)

// models are the models of each vendor that bodies are sent to: of each generation whose rules differ.
var models = map[string][]string{
	"chat":            {"gpt-4o", "gpt-5", "gpt-5.6", "gpt-6.2-sol"},
	"responses":       {"gpt-4o", "gpt-5", "gpt-5.6", "gpt-6.2-sol"},
	"messages":        {"claude-sonnet-4-5", "claude-opus-4-6", "claude-opus-4-7", "claude-opus-5-5"},
	"generatecontent": {"gemini-2.5-flash", "gemini-2.5-pro", "gemini-3-flash-preview", "gemini-3-pro-preview"},
}

// tolerated are refusals by a vendor's rules that are not mended, with the reason: the pattern is "protocol: rule".
var tolerated = map[string]string{}

// vendor sends requests to a model of a vendor through a router, as the gateway does, up to the call itself.
type vendor struct {
	strict.Target
	router *route.Router
	sent   []byte
}

// vendorsOf returns those of a protocol.
func vendorsOf(protocol string) ([]*vendor, error) {
	var all []*vendor
	for _, model := range models[protocol] {
		v := &vendor{Target: strict.Target{Protocol: protocol, Model: model}}
		spec := table.ByKind(protocol)
		adapter, err := remote.New(remote.Config{Protocol: spec.ID, BaseURL: "http://vendor.invalid/v1", HTTP: v})
		if err != nil {
			return nil, err
		}
		v.router = route.New([]route.Route{{Model: "*", Targets: []route.Target{{
			Name: model, Upstream: adapter, Protocol: spec.ID, Model: model, Catalog: catalog.Shipped(),
			Guard: route.NewGuard(route.Limits{Retries: -1, BreakAfter: -1}),
		}}}})
		all = append(all, v)
	}
	return all, nil
}

var errKept = errors.New("the body is kept, and nothing is sent")

// RoundTrip keeps a body.
func (v *vendor) RoundTrip(r *http.Request) (*http.Response, error) {
	defer r.Body.Close()
	var err error
	if v.sent, err = io.ReadAll(r.Body); err != nil {
		return nil, err
	}
	return nil, errKept
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
			if _, ok := tolerated[v.Protocol+": "+refusal.Rule]; ok {
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
	model := x.model()
	if model == "" {
		var asked struct{ Model string }
		_ = json.Unmarshal(x.Request, &asked) // the vendor has read it
		model = asked.Model
	}
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
