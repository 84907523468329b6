package coreproc

import (
	"cmp"
	"crypto/x509"
	"errors"
	"io"
	"net/url"
	"slices"
	"time"

	"github.com/genway/genway/core/config"
	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/upstream"
	"github.com/genway/genway/core/upstream/check"
	"github.com/genway/genway/core/upstream/discover"
	"github.com/genway/genway/core/upstream/generation"
	"github.com/genway/genway/core/upstream/remote"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/protocol"
)

// Upstreams are the upstreams of one configuration, and the routes to them.
type Upstreams struct {
	Routes     []route.Route
	memory     *remote.AnswerMemory
	called     map[string]Called
	retainDays int
	oidc       *config.OIDC // of the console; nil for none
	listings   []*discover.Listing
	checks     []*check.Check
	secrets    []*secret
	closers    []io.Closer
	// certificates are those that upstreams are shown, by file.
	certificates map[string]*x509.Certificate
}

// Close ends the connections that upstreams keep.
func (u *Upstreams) Close() error {
	var errs []error
	for _, c := range u.closers {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

func (u *Upstreams) upstream(name string, c config.Upstream) (adapter, error) {
	encryption, err := c.TLSConfig()
	if err != nil {
		return nil, err
	}
	for _, shown := range encryption.Certificates {
		u.certificates[c.CertFile] = shown.Leaf
	}
	if c.Kind == "generation" {
		if !c.TLS {
			encryption = nil
		}
		made, err := generation.New(generation.Config{
			Target: c.Target, APIKey: c.APIKey, TLS: encryption, Models: configured(c),
			FirstByte: time.Duration(c.FirstByte), Idle: time.Duration(c.Idle), MaxAnswerBytes: c.MaxAnswerBytes, NoTrace: !c.Traces(),
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
	settings := remote.Config{
		Name:      name,
		Protocol:  protocolOf(c.Kind),
		BaseURL:   c.BaseURL,
		Path:      c.Path,
		Query:     c.Query,
		APIKey:    c.APIKey,
		Version:   c.Version(),
		Headers:   c.Headers,
		Models:    configured(c),
		HTTP:      transport,
		FirstByte: time.Duration(c.FirstByte),
		Idle:      time.Duration(c.Idle),

		MaxAnswerBytes: c.MaxAnswerBytes,
		Memory:         u.memory,
		Trace:          c.Traces(),
		LeaveUsage:     c.StreamUsage == config.Leave,
	}
	settings.Place, settings.Dialect = c.Place(), c.Dialect()
	if found := credentialOf(name, c); found != nil {
		settings.Credential = found
		u.closers = append(u.closers, found)
	}
	return remote.New(settings)
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
	p := protocol.ByKind(c.Kind)
	images := p != nil && p.Images
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

// adapter is an upstream that can be asked for its models, and whose key may change.
type adapter interface {
	upstream.Upstream
	discover.Lister
	Called
	SetAPIKey(key string)
}

// listed returns the models that a target is listed with whose upstream is asked for its
// own: of a target that asks for only one model, that one, if the upstream has it.
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
