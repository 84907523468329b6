package coreproc

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/genway/genway/core/admin"
	"github.com/genway/genway/core/catalog"
	"github.com/genway/genway/core/config"
	"github.com/genway/genway/core/override"
	"github.com/genway/genway/core/price"
	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/upstream/check"
	"github.com/genway/genway/core/upstream/discover"
	"github.com/genway/genway/core/upstream/remote"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
	"github.com/genway/genway/sandbox"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Build makes the upstreams of a configuration, whose answers share the memory. Without
// routes, the sandbox answers everything.
func Build(c *config.Config, embedded *sandbox.Sandbox, memory *remote.AnswerMemory) (*Upstreams, error) {
	known, err := catalogOf(c.Catalog)
	if err != nil {
		return nil, err
	}
	built := &Upstreams{memory: memory, retainDays: int(c.Ledger.RetainDays), reportCost: c.ReportCost, oidc: c.OIDC(), called: map[string]Called{}, certificates: map[string]*x509.Certificate{}}
	made := map[string]route.Target{config.Sandbox: {Name: config.Sandbox, Upstream: embedded, Catalog: known}}
	listings := map[string]*discover.Listing{}
	for name, u := range c.Upstreams {
		target := route.Target{Name: name, Upstream: embedded, Protocol: protocolOf(u.Kind), Version: u.Version(), Catalog: known}
		if u.Kind != config.Sandbox {
			made, err := built.upstream(name, u)
			if err != nil {
				return nil, errors.Join(fmt.Errorf("upstream %s: %w", name, err), built.Close())
			}
			target.Upstream, built.called[name] = made, made
			if u.APIKeyFile != "" {
				built.secrets = append(built.secrets, &secret{upstream: name, file: u.APIKeyFile, key: u.APIKey, use: made.SetAPIKey})
			}
			if u.Models.Discover {
				// Two listings of one address list the same.
				listing := discover.New(name, strings.Join([]string{u.Kind, u.BaseURL, u.Path, u.Target}, " "), made)
				built.listings = append(built.listings, listing)
				listings[name] = listing
			}
			target.Guard = route.NewGuard(route.Limits{
				MaxConcurrent: u.MaxConcurrent, Fixed: !u.Concurrency.Adapts(),
				Retries: u.Retries, BreakAfter: u.BreakAfter, BreakFor: time.Duration(u.BreakFor),
				Deadline: time.Duration(u.Deadline), DrainFor: drainFor(u),
			})
			if u.Check != nil {
				built.checks = append(built.checks, &check.Check{
					Name: name, Every: time.Duration(u.Check.Every), Ask: asks(u, made), Report: target.Guard.Checked,
				})
			}
		}
		made[name] = target
	}
	if len(c.Routes) == 0 {
		built.Routes = []route.Route{{Model: "*", Targets: []route.Target{made[config.Sandbox]}}}
	}
	for i, r := range c.Routes {
		one := route.Route{Model: r.Model, Strict: r.Strict, Deadline: time.Duration(r.Deadline), Strategy: strategies[r.Strategy], Capture: r.Capture.Rule()}
		for _, p := range r.Protocols {
			one.Protocols = append(one.Protocols, protocolOf(p))
		}
		var err, fallen error
		one.Targets, err = targets(r.Targets, made, listings)
		one.Fallback, fallen = targets(r.Fallback, made, listings)
		if err := errors.Join(err, fallen); err != nil {
			return nil, errors.Join(fmt.Errorf("routes[%d]: %w", i, err), built.Close())
		}
		if one.Sticky = one.SeveralAccounts(); r.Sticky != nil {
			one.Sticky = *r.Sticky
		}
		built.Routes = append(built.Routes, one)
	}
	return built, nil
}

// show has lists of models state what the models cost. Without prices they state none.
func (u *Upstreams) show(prices *price.Catalogue) {
	if prices == nil {
		return
	}
	for i := range u.Routes {
		for j := range u.Routes[i].Targets {
			target := &u.Routes[i].Targets[j]
			target.Price = func(model string) *genwayv1.ModelPrice {
				p, found := prices.Find(target.Name, model, time.Now())
				if !found {
					return nil
				}
				shown := &genwayv1.ModelPrice{InputNanoDollars: p.Input, OutputNanoDollars: p.Output, CacheReadNanoDollars: p.CacheRead, CacheWriteNanoDollars: p.CacheWrite}
				if p.Image != price.NoPrice {
					shown.ImageNanoDollars = &p.Image
				}
				return shown
			}
		}
	}
}

// strategies are the words of a route's strategy.
var strategies = map[string]route.Strategy{"least_busy": route.LeastBusy, "fastest": route.Fastest}

// protocolOf returns the protocol of a kind of upstreams or of a route's callers; unspecified for
// direct callers, and for upstreams that take the contract's own messages.
func protocolOf(kind string) genwayv1.Protocol {
	if p := protocol.ByKind(kind); p != nil {
		return p.ID
	}
	return protocol.Direct.ID
}

// catalogOf reads a file of what models accept; without one, what ships is known.
func catalogOf(file string) (*catalog.Catalog, error) {
	if file == "" {
		return catalog.Shipped(), nil
	}
	return catalog.Load(file)
}

func targets(list []config.Target, made map[string]route.Target, listings map[string]*discover.Listing) ([]route.Target, error) {
	var all []route.Target
	for _, t := range list {
		target := made[t.Upstream]
		target.Model, target.Cache, target.Fit = t.Model, t.Cache == config.CacheAuto, t.Fit
		if t.Weight != nil {
			target.Weight = *t.Weight
		}
		for _, cause := range t.On {
			target.On |= route.CauseOf(cause)
		}
		if listing := listings[t.Upstream]; listing != nil {
			target.Models = listed(listing, t.Model)
		}
		var err error
		if target.Overrides, err = overrides(t.Overrides); err != nil {
			return nil, fmt.Errorf("upstream %s: %w", t.Upstream, err)
		}
		all = append(all, target)
	}
	return all, nil
}

// overrides prepares a target's overrides.
func overrides(o config.Overrides) (*override.Overrides, error) {
	rules := override.Rules{Drop: o.Drop, Set: o.Set.Values(), Default: o.Default.Values(), Bound: map[string]override.Range{}}
	for name, b := range o.Bound.Values() {
		rules.Bound[name] = override.Range{Min: b.Min, Max: b.Max}
	}
	return override.New(rules)
}

// Called is an upstream that is called over a network.
type Called interface {
	// URL shows what is called for a model, without the credentials in it.
	URL(model string) string
}

// Upstreams are the upstreams of the routes in force.
func (r *Routing) Upstreams() []*adminv1.Upstream {
	called := r.Called()
	var list []*adminv1.Upstream
	for _, s := range r.Router.Upstreams() {
		u := &adminv1.Upstream{
			Name: s.Target.Name, Protocol: s.Target.Protocol, Breaker: breakers[s.Breaker], FailingChecks: s.Unfit, Healthy: !s.Unfit && s.Breaker < 2,
			InFlight: int64(s.InFlight), Waiting: int64(s.Waiting), Most: int64(s.Most), Routes: s.Routes,
		}
		if c := called[s.Target.Name]; c != nil {
			u.Address = c.URL("{model}")
		}
		list = append(list, u)
	}
	return list
}

var breakers = map[int]adminv1.Breaker{0: adminv1.Breaker_BREAKER_CLOSED, 1: adminv1.Breaker_BREAKER_HALF_OPEN, 2: adminv1.Breaker_BREAKER_OPEN}

// Routes are those in force.
func (r *Routing) Routes() []*adminv1.Route {
	var list []*adminv1.Route
	for _, from := range r.Router.Routes() {
		m := &adminv1.Route{Model: from.Model, Strategy: strategyNames[from.Strategy], Sticky: from.Sticky, Strict: from.Strict, Protocols: from.Protocols}
		m.Capture = admin.CaptureMessage(from.Capture)
		if from.Deadline > 0 {
			m.Deadline = durationpb.New(from.Deadline)
		}
		for i := range from.Targets {
			t := &from.Targets[i]
			m.Targets = append(m.Targets, &adminv1.RouteTarget{Upstream: t.Name, Model: t.Model, Weight: int32(cmp.Or(t.Weight, 1)), Overrides: t.Changes()})
		}
		for i := range from.Fallback {
			t := &from.Fallback[i]
			m.Fallback = append(m.Fallback, &adminv1.RouteTarget{Upstream: t.Name, Model: t.Model, Overrides: t.Changes(), On: t.Causes()})
		}
		list = append(list, m)
	}
	return list
}

var strategyNames = map[route.Strategy]string{route.ByWeight: "weight", route.LeastBusy: "least_busy", route.Fastest: "fastest"}

// Configuration is the one in force, without what may be a secret.
func (r *Routing) Configuration() *adminv1.GetConfigurationResponse {
	r.mu.Lock()
	file, hash, running, members := r.file, r.hash, r.shown, r.members
	r.mu.Unlock()
	resp := &adminv1.GetConfigurationResponse{
		Source: file, Hash: hash, FileHash: hashOf(file), Writable: r.writable && file != "", Members: bySource(r.settings, members),
	}
	if resp.Current = resp.FileHash == hash; !resp.Current {
		resp.RunningYaml = running
	}
	if file == "" {
		return resp
	}
	masked, err := config.Masked(file)
	resp.Yaml = string(masked)
	if err != nil {
		resp.Problem = err.Error()
	}
	return resp
}
