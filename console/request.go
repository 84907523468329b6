package console

import (
	"cmp"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/genway/genway/console/chart"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
)

type requestPage struct {
	*adminv1.GetRequestResponse
	Row        requestRow
	Stages     []chart.Stage
	Chart      template.HTML
	Prices     []formField
	Neighbours []requestRow
	Columns    []string
	GRPCurl    string
	XRay       string
	// Playground is where one like it can be sent.
	Playground string
	// Like are requests like it, for a shell and for SDKs.
	Like []snippet
	// Reads says that the reader may see its captured bodies, if there are any.
	Reads bool
}

// showRequest shows one request and what it went through.
func showRequest(c *call) error {
	resp, err := c.admin.GetRequest(c.ctx, &adminv1.GetRequestRequest{Id: c.r.PathValue("id")})
	if err != nil {
		return err
	}
	r := resp.GetRequest()
	p := requestPage{GetRequestResponse: resp, Row: rowOf(r, resp.GetKeyNames()), Columns: requestColumns, Stages: stages(resp), Reads: c.readsCaptures(), Like: c.snippetsLike(r)}
	if len(p.Stages) > 0 {
		p.Chart = template.HTML(chart.Waterfall{ //nolint:gosec // package chart escapes its texts
			Title: "What the request went through", Description: "A row for each stage, on one scale of time. The table below has the same figures.", Stages: p.Stages, Format: fromBeginning,
		}.SVG())
	}
	for name, nano := range resp.GetPrice().GetNanoDollars() {
		p.Prices = append(p.Prices, formField{Name: name, Value: money(nano)})
	}
	slices.SortFunc(p.Prices, func(a, b formField) int { return cmp.Compare(a.Name, b.Name) })
	for _, n := range resp.GetNeighbours() {
		p.Neighbours = append(p.Neighbours, rowOf(n, resp.GetKeyNames()))
	}
	p.GRPCurl = fmt.Sprintf("grpcurl -plaintext -H \"authorization: Bearer $ADMIN_KEY\" -d '{\"id\":%q}' \\\n  %s genway.admin.v1.Admin/GetRequest", r.GetId(), cmp.Or(c.console.config.GRPC, "127.0.0.1:9090"))
	p.XRay = "/xray?" + url.Values{"protocol": {r.GetProtocol()}, "model": {r.GetModel()}, "upstream": {r.GetUpstream()}}.Encode()
	p.Playground = "/playground?" + url.Values{"protocol": {playLike(r)}, "model": {r.GetModel()}}.Encode()
	c.show(http.StatusOK, "request.html", "Request "+r.GetId(), p)
	return nil
}

// stages are the rows of the waterfall.
func stages(resp *adminv1.GetRequestResponse) []chart.Stage {
	t := resp.GetTimeline()
	if t == nil {
		return nil
	}
	var list []chart.Stage
	if t.GetAdmitted() != nil {
		list = append(list, chart.Stage{Name: "admission", Took: t.GetAdmitted().AsDuration(), Class: "wait"})
	}
	if begin := t.GetLimitsBegin().AsDuration(); t.GetLimitsEnd() != nil {
		list = append(list, chart.Stage{Name: "limits", Start: begin, Took: max(0, t.GetLimitsEnd().AsDuration()-begin), Class: "wait", Part: true})
	}
	if begin := t.GetRouteBegin().AsDuration(); t.GetRouteEnd() != nil {
		list = append(list, chart.Stage{Name: "route", Start: begin, Took: max(0, t.GetRouteEnd().AsDuration()-begin), Class: "wait"})
	}
	for i, a := range t.GetAttempts() {
		class := "ok"
		if a.GetKind() != "" {
			class = "failed"
		}
		begin := a.GetBegin().AsDuration()
		list = append(list, chart.Stage{Name: fmt.Sprintf("%d. %s", i+1, a.GetUpstream()), Start: begin, Took: a.GetEnd().AsDuration() - begin, Class: class})
		from := begin
		for _, part := range []struct {
			name string
			to   *durationpb.Duration
		}{{"connect", a.GetConnected()}, {"headers", a.GetHeaders()}, {"first event", a.GetFirstEvent()}, {"held back", a.GetReleased()}, {"last event", a.GetEnd()}} {
			if part.to == nil {
				continue
			}
			to := part.to.AsDuration()
			if part.to == a.GetEnd() && a.GetFirstEvent() == nil && to <= from {
				continue // there was none
			}
			list = append(list, chart.Stage{Name: part.name, Start: from, Took: max(0, to-from), Class: class, Part: true})
			from = to
		}
	}
	if t.GetSettled() != nil {
		from := time.Duration(0)
		if n := len(t.GetAttempts()); n > 0 {
			from = t.GetAttempts()[n-1].GetEnd().AsDuration()
		}
		list = append(list, chart.Stage{Name: "settle", Start: from, Took: max(0, t.GetSettled().AsDuration()-from), Class: "wait"})
	}
	return list
}

// requestFile returns a request for a report of a bug: without whose it is.
func requestFile(c *call) error {
	resp, err := c.admin.GetRequest(c.ctx, &adminv1.GetRequestRequest{Id: c.r.PathValue("id")})
	if err != nil {
		return err
	}
	resp = proto.CloneOf(resp)
	resp.KeyNames = nil
	for _, r := range append(resp.GetNeighbours(), resp.GetRequest()) {
		r.KeyId, r.Owner, r.RequestId, r.TraceId = redacted(r.GetKeyId()), redacted(r.GetOwner()), redacted(r.GetRequestId()), redacted(r.GetTraceId())
	}
	text, err := protojson.MarshalOptions{Multiline: true}.Marshal(resp)
	if err != nil {
		return err
	}
	c.w.Header().Set("Content-Type", "application/json")
	c.w.Header().Set("Content-Disposition", `attachment; filename="genway-request.json"`)
	_, _ = c.w.Write(text) // the browser may have left
	return nil
}

func redacted(s string) string {
	if s == "" {
		return ""
	}
	return "[REDACTED " + strings.Repeat("x", min(len(s), 8)) + "]"
}
