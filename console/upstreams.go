package console

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

type upstreamRow struct {
	*adminv1.Upstream
	BreakerName string
	Used        *adminv1.UsageRow // of the last two days
	// Failed are those of Used that failed, without those that the upstream refused for what the caller sent.
	Failed int64
}

type upstreamsPage struct {
	Upstreams []upstreamRow
	Routes    []routeRow
	// Model is one whose route is asked for, for callers of one of Protocols. Answer says where it goes, and Taken is
	// the number of its route, from 1.
	Model, Answer string
	Protocols     []choice
	Taken         int
	// Mixes are the failures of the upstreams that had any. From is when they begin, where there are
	// more than are counted; zero otherwise.
	Mixes []failureMix
	From  time.Time
	Since time.Time
}

// routeRow is a route as the page draws it.
type routeRow struct{ *adminv1.Route }

// Summary lists the strategy, stickiness, strictness and deadline of the route.
func (r routeRow) Summary() string {
	var parts []string
	if len(r.GetTargets()) > 1 && r.GetStrategy() != "" {
		parts = append(parts, "by "+strings.ReplaceAll(r.GetStrategy(), "_", " "))
	}
	if r.GetSticky() {
		parts = append(parts, "sticky")
	}
	if r.GetStrict() {
		parts = append(parts, "strict")
	}
	if r.GetDeadline() != nil {
		parts = append(parts, took(r.GetDeadline().AsDuration())+" in all")
	}
	return strings.Join(parts, " · ")
}

// weighed is the share of the load that a target of several gets; empty for one alone and for fallbacks.
func weighed(t *adminv1.RouteTarget, all []*adminv1.RouteTarget) string {
	var sum int64
	for _, other := range all {
		sum += int64(other.GetWeight())
	}
	if len(all) < 2 || sum == 0 {
		return ""
	}
	return percent(int64(t.GetWeight()), sum)
}

// causes says when a fallback is tried; empty for other targets, and for one that is tried after failures alone.
func causes(t *adminv1.RouteTarget) string {
	if words := t.GetOn(); len(words) > 1 || len(words) == 1 && words[0] != "failure" {
		return "on " + strings.Join(words, ", ")
	}
	return ""
}

// find says which route a model takes, and where it goes first.
func (p *upstreamsPage) find(c *call, protocol example) error {
	resp, err := c.admin.Explain(c.ctx, &adminv1.ExplainRequest{Protocol: protocolNamed(protocol.Protocol), Body: []byte(protocol.Body), Model: p.Model})
	if wrong, ok := wrongInput(err); ok {
		p.Answer = wrong
		return nil
	}
	if err != nil {
		return err
	}
	if resp.GetUpstream() == "" {
		p.Answer = resp.GetRefusal().GetMessage()
		return nil
	}
	p.Taken = 1 + slices.IndexFunc(p.Routes, func(r routeRow) bool {
		return r.GetModel() == resp.GetRoute() && (len(r.GetProtocols()) == 0 || slices.Contains(r.GetProtocols(), protocolNamed(protocol.Protocol)))
	})
	p.Answer = fmt.Sprintf("%s takes route %d, %s. Of its targets it would go to %s now, as %s.", p.Model, p.Taken, resp.GetRoute(), resp.GetUpstream(), resp.GetUpstreamModel())
	if p.Taken == 0 { // the routes have changed meanwhile
		p.Answer = fmt.Sprintf("%s would go to %s now, as %s.", p.Model, resp.GetUpstream(), resp.GetUpstreamModel())
	}
	return nil
}

// showUpstreams shows the upstreams and the routes, as the core that is asked finds them. Where a model is asked for, it shows the
// routes alone.
func showUpstreams(c *call) error {
	routes, err := c.admin.ListRoutes(c.ctx, &adminv1.ListRoutesRequest{})
	if err != nil {
		return err
	}
	p := upstreamsPage{Model: strings.TrimSpace(c.r.FormValue("model"))}
	for _, r := range routes.GetRoutes() {
		p.Routes = append(p.Routes, routeRow{r})
	}
	asked := examples[0]
	for _, e := range examples {
		if e.Protocol == c.r.FormValue("protocol") {
			asked = e
		}
	}
	for _, e := range examples {
		p.Protocols = append(p.Protocols, choice{Value: e.Protocol, Title: e.Protocol, Current: e.Protocol == asked.Protocol})
	}
	if p.Model == "" {
		err = c.listUpstreams(&p)
	} else {
		err = p.find(c, asked)
	}
	if err != nil {
		return err
	}
	c.show(http.StatusOK, "upstreams.html", "Upstreams and routes", p)
	return nil
}

// listUpstreams adds the upstreams, with what they were used for in the last two days.
func (c *call) listUpstreams(p *upstreamsPage) error {
	today := c.console.config.Clock().UTC().Truncate(24 * time.Hour)
	since, until := today.AddDate(0, 0, -1), today.AddDate(0, 0, 1)
	list, err := c.admin.ListUpstreams(c.ctx, &adminv1.ListUpstreamsRequest{FailuresSince: timestamppb.New(since), FailuresUntil: timestamppb.New(until)})
	if err != nil {
		return err
	}
	used, err := c.usage(since, until, adminv1.Dimension_DIMENSION_UPSTREAM)
	if err != nil {
		return err
	}
	of := map[string]*adminv1.UsageRow{}
	for _, r := range used {
		of[r.GetValues()[0]] = r
	}
	for _, u := range list.GetUpstreams() {
		row := upstreamRow{u, strings.ToLower(strings.TrimPrefix(u.GetBreaker().String(), "BREAKER_")), of[u.GetName()], of[u.GetName()].GetFailed()}
		if row.BreakerName == "unspecified" {
			row.BreakerName = ""
		}
		if row.Used == nil {
			row.Used = &adminv1.UsageRow{}
		}
		p.Upstreams = append(p.Upstreams, row)
	}
	p.Mixes, p.Since = mixesOf(list.GetUpstreams()), since
	for _, mix := range p.Mixes {
		for i := range p.Upstreams {
			if row := &p.Upstreams[i]; row.GetName() == mix.Upstream {
				row.Failed = max(0, row.Used.GetFailed()-mix.Refused)
			}
		}
	}
	if from := list.GetFailuresFrom(); from != nil {
		p.From = from.AsTime()
	}
	return nil
}

type nodesPage struct {
	Nodes []*adminv1.Node
	// Differ says that nodes that are alive have different configurations or versions.
	Differ bool
	Now    time.Time
}

// silentAfter is how long after its last sign of life a node is taken for ended: several signs of life.
const silentAfter = 10 * time.Second

// showNodes shows the cores of the store.
func showNodes(c *call) error {
	resp, err := c.admin.ListNodes(c.ctx, &adminv1.ListNodesRequest{})
	if err != nil {
		return err
	}
	now := c.console.config.Clock()
	c.show(http.StatusOK, "nodes.html", "Nodes", nodesPage{Nodes: resp.GetNodes(), Differ: differ(resp.GetNodes(), now), Now: now})
	return nil
}

// silent reports whether a node has ended, or does not reach the store.
func silent(now time.Time, seen *timestamppb.Timestamp) bool {
	return now.Sub(seen.AsTime()) > silentAfter
}

// differ reports whether nodes that are alive and have described themselves have different configurations or versions.
func differ(nodes []*adminv1.Node, now time.Time) bool {
	var first *adminv1.Node
	for _, n := range nodes {
		if n.GetVersion() == "" || silent(now, n.GetSeenTime()) {
			continue
		}
		if first == nil {
			first = n
		}
		if n.GetConfigurationHash() != first.GetConfigurationHash() || n.GetVersion() != first.GetVersion() {
			return true
		}
	}
	return false
}

// tryPage asks an upstream for one small answer.
type tryPage struct {
	Upstreams []choice
	// Models are those that routes ask the upstream for.
	Models       []string
	Model, Wrong string
	Image        bool
	Asked        string // the upstream that was tried
	Tried        *adminv1.TryUpstreamResponse
}

// showTry shows the form. Nothing is sent.
func showTry(c *call) error {
	if !c.writes() {
		return &pageError{http.StatusForbidden, "A viewer cannot try upstreams."}
	}
	return c.tryForm(http.StatusOK, &tryPage{}, c.r.FormValue("upstream"))
}

// tryUpstream sends the request by the Admin service.
func tryUpstream(c *call) error {
	name := c.r.PostFormValue("upstream")
	p := &tryPage{Model: strings.TrimSpace(c.r.PostFormValue("model")), Image: c.r.PostFormValue("image") != "", Asked: name}
	resp, err := c.admin.TryUpstream(c.ctx, &adminv1.TryUpstreamRequest{Upstream: strings.ToValidUTF8(name, "\uFFFD"), Model: strings.ToValidUTF8(p.Model, "\uFFFD"), Image: p.Image})
	code := http.StatusOK
	if err != nil {
		refused := status.Convert(err)
		if !slices.Contains([]codes.Code{codes.InvalidArgument, codes.NotFound, codes.ResourceExhausted}, refused.Code()) {
			return err
		}
		code, p.Wrong = httpCodes[refused.Code()], refused.Message()
	}
	p.Tried = resp
	return c.tryForm(code, p, name)
}

// tryForm shows the page for an upstream.
func (c *call) tryForm(code int, p *tryPage, name string) error {
	upstreams, err := c.admin.ListUpstreams(c.ctx, &adminv1.ListUpstreamsRequest{})
	if err != nil {
		return err
	}
	routes, err := c.admin.ListRoutes(c.ctx, &adminv1.ListRoutesRequest{})
	if err != nil {
		return err
	}
	for _, u := range upstreams.GetUpstreams() {
		chosen := u.GetName() == name
		p.Upstreams = append(p.Upstreams, choice{Value: u.GetName(), Title: u.GetName(), Current: chosen})
	}
	for _, r := range routes.GetRoutes() {
		for _, t := range slices.Concat(r.GetTargets(), r.GetFallback()) {
			model := t.GetModel()
			if model == "" && !strings.Contains(r.GetModel(), "*") {
				model = r.GetModel()
			}
			if t.GetUpstream() == name && model != "" && !slices.Contains(p.Models, model) {
				p.Models = append(p.Models, model)
			}
		}
	}
	if p.Model == "" && p.Asked == "" && len(p.Models) > 0 {
		p.Model = p.Models[0]
	}
	c.show(code, "try.html", "Try an upstream", p)
	return nil
}
