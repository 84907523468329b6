package console

import (
	"net/http"
	"strings"
	"time"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
)

type upstreamRow struct {
	*adminv1.Upstream
	BreakerName string
	Used        *adminv1.UsageRow // of the last two days
}

type upstreamsPage struct {
	Upstreams []upstreamRow
	Routes    []*adminv1.Route
}

// showUpstreams shows the upstreams and the routes, as the core that is asked finds them.
func showUpstreams(c *call) error {
	list, err := c.admin.ListUpstreams(c.ctx, &adminv1.ListUpstreamsRequest{})
	if err != nil {
		return err
	}
	routes, err := c.admin.ListRoutes(c.ctx, &adminv1.ListRoutesRequest{})
	if err != nil {
		return err
	}
	today := c.console.config.Clock().UTC().Truncate(24 * time.Hour)
	used, err := c.usage(today.AddDate(0, 0, -1), today.AddDate(0, 0, 1), adminv1.Dimension_DIMENSION_UPSTREAM)
	if err != nil {
		return err
	}
	of := map[string]*adminv1.UsageRow{}
	for _, r := range used {
		of[r.GetValues()[0]] = r
	}
	p := upstreamsPage{Routes: routes.GetRoutes()}
	for _, u := range list.GetUpstreams() {
		row := upstreamRow{u, strings.ToLower(strings.TrimPrefix(u.GetBreaker().String(), "BREAKER_")), of[u.GetName()]}
		if row.BreakerName == "unspecified" {
			row.BreakerName = ""
		}
		if row.Used == nil {
			row.Used = &adminv1.UsageRow{}
		}
		p.Upstreams = append(p.Upstreams, row)
	}
	c.show(http.StatusOK, "upstreams.html", "Upstreams and routes", p)
	return nil
}

type nodesPage struct {
	Nodes []*adminv1.Node
	// Differ says that nodes that are alive have different configurations or versions.
	Differ bool
	Now    time.Time
}

// silentAfter is when a node that said nothing more is taken for ended: several signs of life.
const silentAfter = 10 * time.Second

// showNodes shows the cores of the store.
func showNodes(c *call) error {
	resp, err := c.admin.ListNodes(c.ctx, &adminv1.ListNodesRequest{})
	if err != nil {
		return err
	}
	p := nodesPage{Nodes: resp.GetNodes(), Now: c.console.config.Clock()}
	var first *adminv1.Node
	for _, n := range p.Nodes {
		if n.GetVersion() == "" || p.Now.Sub(n.GetSeenTime().AsTime()) > silentAfter {
			continue // it has not said what it is, or has ended
		}
		if first == nil {
			first = n
		}
		p.Differ = p.Differ || n.GetConfigurationHash() != first.GetConfigurationHash() || n.GetVersion() != first.GetVersion()
	}
	c.show(http.StatusOK, "nodes.html", "Nodes", p)
	return nil
}
