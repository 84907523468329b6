package coreproc

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/genway/genway/codec"
	"github.com/genway/genway/core/config"
	"github.com/genway/genway/core/route"
	"github.com/genway/genway/core/upstream"
	"github.com/genway/genway/core/upstream/check"
	"github.com/genway/genway/core/upstream/credential"
	"github.com/genway/genway/core/upstream/discover"
	"github.com/genway/genway/core/upstream/generation"
	"github.com/genway/genway/core/upstream/provider"
	"github.com/genway/genway/core/upstream/remote"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
	"github.com/genway/genway/internal/stamp"
	"github.com/genway/genway/protocol"
	"github.com/genway/genway/protocol/deferred"
)

// Upstreams are the upstreams of one configuration, and the routes to them.
type Upstreams struct {
	Routes     []route.Route
	memory     *remote.AnswerMemory
	called     map[string]Called
	retainDays int
	reportCost bool
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
			FirstByte: time.Duration(c.FirstByte), Idle: time.Duration(c.Idle), MaxAnswerBytes: int64(c.MaxAnswerBytes), NoTrace: !c.Traces(),
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

		MaxAnswerBytes: int64(c.MaxAnswerBytes),
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

// fewTokens is how long the answer to a check may be: the least that all vendors take.
const fewTokens = 16

// asks returns the cheapest call that checks an upstream: its list of models, a count of tokens
// where the upstream counts, or else an answer of a few tokens.
func asks(u config.Upstream, made adapter) func(context.Context) error {
	if u.Check.Model == "" {
		return func(ctx context.Context) error {
			_, err := made.ListModels(ctx, "")
			return err
		}
	}
	req := &genwayv1.GenerateTextRequest{
		Model: u.Check.Model, MaxOutputTokens: new(int64(fewTokens)),
		Messages: []*genwayv1.Message{{
			Role:  genwayv1.Role_ROLE_USER,
			Parts: []*genwayv1.Part{{Kind: &genwayv1.Part_Text{Text: &genwayv1.Text{Text: "hi"}}}},
		}},
	}
	if p, place := protocol.ByKind(u.Kind), u.Place(); p != nil && (place == nil || !place.NoCount) {
		if _, counts := p.Codec.(codec.TokenCounter); counts {
			return func(ctx context.Context) error {
				_, err := made.CountTokens(ctx, &genwayv1.CountTokensRequest{Request: &genwayv1.GenerateTextRequest{Model: req.GetModel(), Messages: req.GetMessages()}})
				return err
			}
		}
	}
	return func(ctx context.Context) error {
		_, err := made.GenerateText(ctx, deferred.New(req))
		return err
	}
}

// credentialOf makes the credential that an upstream's auth describes; nil without one.
func credentialOf(name string, u config.Upstream) credential.Credential {
	name = u.AuthName(name)
	var place provider.Endpoint
	if e := u.Place(); e != nil {
		place = *e
	}
	switch a := u.Auth; a.Way() {
	case "entra":
		return credential.NewEntra(name, credential.Entra{
			Authority: strings.TrimRight(a.Entra.Authority, "/"), Tenant: a.Entra.Tenant, ClientID: a.Entra.ClientID, Scope: cmp.Or(a.Entra.Scope, place.Scope),
			ClientSecret: a.Entra.ClientSecret, ClientSecretFile: a.Entra.ClientSecretFile, TokenFile: a.Entra.TokenFile,
		})
	case "managed_identity":
		return credential.NewManagedIdentity(name, credential.ManagedIdentity{
			ClientID: a.ManagedIdentity.ClientID, Resource: strings.TrimSuffix(cmp.Or(a.ManagedIdentity.Scope, place.Scope), "/.default"),
			Endpoint: os.Getenv("IDENTITY_ENDPOINT"), Header: os.Getenv("IDENTITY_HEADER"),
		})
	case "google":
		return credential.NewGoogle(name, credential.Google{File: a.Google.CredentialsFile, Metadata: a.Google.Metadata})
	case "aws":
		return credential.NewAWS(name, credential.AWS{
			Source: a.AWS.SourceOrDefault(), Profile: a.AWS.Profile,
			AccessKeyID: a.AWS.AccessKeyID, SecretAccessKey: a.AWS.SecretAccessKey, SessionToken: a.AWS.SessionToken,
			RoleARN: a.AWS.RoleARN, TokenFile: a.AWS.TokenFile,
			Region: u.SigningRegion(), Service: cmp.Or(a.AWS.Service, place.Service, "bedrock"),
		})
	case "command":
		return credential.NewCommand(name, credential.Command{Args: a.Command.Run, Lifetime: time.Duration(a.Command.Lifetime), Header: a.Command.Header})
	}
	return nil
}

// secret is a file with an upstream's key, which is read again when it changes. It is used
// by one goroutine at a time.
type secret struct {
	upstream, file string
	// key is what the upstream is asked with, use has it asked with another.
	key string
	use func(key string)
	// seen is the stamp of the file when it was read last, good or bad, and looked the stamp
	// when it was looked at last.
	seen, looked string
}

// refresh reads the file if it has changed, and has stayed the same since the look before:
// half a key reads like a key. It reports whether to look again soon. A file that cannot be
// read, or that holds no key, changes nothing; the log says so once for each state of the file.
func (s *secret) refresh(log *slog.Logger) (again bool) {
	now := stamp.Of(s.file) // taken first: what changes while it is read is read again
	settled := now == s.looked
	s.looked = now
	if now == s.seen || !settled {
		return now != s.seen
	}
	s.seen = now
	key, err := config.ReadSecret(s.file)
	switch {
	case err != nil:
		log.Error("the upstream's key cannot be read again; the old one stays", "upstream", s.upstream, "error", err)
	case key != s.key:
		s.key = key
		s.use(key)
		log.Info("the upstream's key was read again", "upstream", s.upstream, "file", s.file)
	}
	return false
}
