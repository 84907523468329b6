package coreproc

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/genway/genway/core/config"
	"github.com/genway/genway/core/override"
	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/sandbox"
	"github.com/genway/genway/core/upstream"
	"github.com/genway/genway/core/upstream/discover"
	"github.com/genway/genway/core/upstream/generation"
	"github.com/genway/genway/core/upstream/remote"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Protocols are the configuration's words for protocols.
var Protocols = map[string]genwayv1.Protocol{
	"chat":            genwayv1.Protocol_PROTOCOL_CHAT_COMPLETIONS,
	"responses":       genwayv1.Protocol_PROTOCOL_RESPONSES,
	"messages":        genwayv1.Protocol_PROTOCOL_MESSAGES,
	"generatecontent": genwayv1.Protocol_PROTOCOL_GENERATE_CONTENT,
	"images":          genwayv1.Protocol_PROTOCOL_IMAGES,
	"grpc":            genwayv1.Protocol_PROTOCOL_UNSPECIFIED,
}

// Upstreams are the upstreams of one configuration, and the routes to them.
type Upstreams struct {
	Routes     []route.Route
	called     map[string]Called
	retainDays int
	listings   []*discover.Listing
	secrets    []*secret
	closers    []io.Closer
}

// Close ends the connections that upstreams keep.
func (u *Upstreams) Close() error {
	var errs []error
	for _, c := range u.closers {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// Build makes the upstreams of a configuration. Without routes, the sandbox answers
// everything.
func Build(c *config.Config, embedded *sandbox.Sandbox) (*Upstreams, error) {
	built := &Upstreams{retainDays: c.Ledger.RetainDays, called: map[string]Called{}}
	made := map[string]route.Target{config.Sandbox: {Name: config.Sandbox, Upstream: embedded}}
	listings := map[string]*discover.Listing{}
	for name, u := range c.Upstreams {
		target := route.Target{Name: name, Upstream: embedded, Protocol: Protocols[u.Kind]}
		if u.Kind != config.Sandbox {
			made, err := built.upstream(u)
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
				MaxConcurrent: u.MaxConcurrent, Retries: u.Retries, BreakAfter: u.BreakAfter, BreakFor: time.Duration(u.BreakFor),
				Deadline: time.Duration(u.Deadline), DrainFor: drainFor(u),
			})
		}
		made[name] = target
	}
	if len(c.Routes) == 0 {
		built.Routes = []route.Route{{Model: "*", Targets: []route.Target{made[config.Sandbox]}}}
	}
	for i, r := range c.Routes {
		one := route.Route{Model: r.Model, Strict: r.Strict, Deadline: time.Duration(r.Deadline)}
		for _, p := range r.Protocols {
			one.Protocols = append(one.Protocols, Protocols[p])
		}
		var err, fallen error
		one.Targets, err = targets(r.Targets, made, listings)
		one.Fallback, fallen = targets(r.Fallback, made, listings)
		if err := errors.Join(err, fallen); err != nil {
			return nil, errors.Join(fmt.Errorf("routes[%d]: %w", i, err), built.Close())
		}
		built.Routes = append(built.Routes, one)
	}
	return built, nil
}

func targets(list []config.Target, made map[string]route.Target, listings map[string]*discover.Listing) ([]route.Target, error) {
	var all []route.Target
	for _, t := range list {
		target := made[t.Upstream]
		target.Model = t.Model
		if t.Weight != nil {
			target.Weight = *t.Weight
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

// adapter is an upstream that can be asked for its models, and whose key may change.
type adapter interface {
	upstream.Upstream
	discover.Lister
	Called
	SetAPIKey(key string)
}

// listed gives the models that a target is listed with whose upstream is asked for its
// own: of a target that asks for one model alone, that one, if the upstream has it.
func listed(listing *discover.Listing, only string) func() []*genwayv1.Model {
	if only == "" {
		return listing.Models
	}
	return func() []*genwayv1.Model {
		models := listing.Models()
		at := slices.IndexFunc(models, func(m *genwayv1.Model) bool { return m.GetName() == only })
		if at < 0 {
			return nil
		}
		return models[at : at+1]
	}
}

func (u *Upstreams) upstream(c config.Upstream) (adapter, error) {
	encryption, err := c.TLSConfig()
	if err != nil {
		return nil, err
	}
	if c.Kind == "generation" {
		if !c.TLS {
			encryption = nil
		}
		made, err := generation.New(generation.Config{
			Target: c.Target, APIKey: c.APIKey, TLS: encryption, Models: configured(c),
			FirstByte: time.Duration(c.FirstByte), Idle: time.Duration(c.Idle),
		})
		if err != nil {
			return nil, err
		}
		u.closers = append(u.closers, made)
		return made, nil
	}
	way := remote.Way{TLS: encryption}
	switch c.Proxy {
	case "":
	case config.NoProxy:
		way.Direct = true
	default:
		if way.Proxy, err = url.Parse(c.Proxy); err != nil {
			return nil, err
		}
	}
	transport := remote.NewTransport(way)
	u.closers = append(u.closers, idleCloser{transport})
	return remote.New(remote.Config{
		Protocol:  Protocols[c.Kind],
		BaseURL:   c.BaseURL,
		Path:      c.Path,
		Query:     c.Query,
		APIKey:    c.APIKey,
		Headers:   c.Headers,
		Models:    configured(c),
		HTTP:      transport,
		FirstByte: time.Duration(c.FirstByte),
		Idle:      time.Duration(c.Idle),

		LeaveUsage: c.StreamUsage == config.Leave,
	})
}

// drainFor is how long calls are read on whose callers left; 0 is not at all.
func drainFor(u config.Upstream) time.Duration {
	if u.OnCancel != config.Drain {
		return 0
	}
	return cmp.Or(time.Duration(u.DrainFor), 30*time.Second)
}

// configured are the models that an upstream is listed with by name.
func configured(c config.Upstream) []*genwayv1.Model {
	images := c.Kind == "images"
	var list []*genwayv1.Model
	for _, name := range c.Models.Names {
		list = append(list, &genwayv1.Model{Name: name, DisplayName: name, OwnedBy: c.Kind, GeneratesImages: images, GeneratesText: !images})
	}
	return list
}

// idleCloser closes a transport's idle connections; those in use end with their
// calls.
type idleCloser struct {
	transport interface{ CloseIdleConnections() }
}

func (c idleCloser) Close() error {
	c.transport.CloseIdleConnections()
	return nil
}
