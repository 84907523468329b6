package console

import (
	"net/http"
	"slices"
	"strings"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

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
