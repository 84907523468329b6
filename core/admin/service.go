// Package admin implements the Admin service: what the administrator's commands do, for
// programs. It turns the contract's messages into calls of core/keys, core/audit and
// core/ledger, and back; it decides nothing itself.
//
// Package core/auth decides before it who may call. It must not import core, the
// gateway or a store.
package admin

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/audit"
	"github.com/genway/genway/core/call"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/ledger"
	"github.com/genway/genway/core/limit"
	"github.com/genway/genway/core/refusals"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"golang.org/x/time/rate"
)

// Config configures a Service. All but Explainer, Topology, Configurator, Recorder,
// Prices, Captures, Trier, Limiter, Refused and Clock must be set; methods of what is not set are unimplemented.
type Config struct {
	// Keys makes and changes keys.
	Keys *keys.Service
	// Names has the names of keys; nil knows none.
	Names Namer
	// Audit is the record of that.
	Audit audit.Store
	// Usage reports what requests used. A ledger.Store does.
	Usage Reporter
	// Requests finds entries of the ledger.
	Requests ledger.Searcher
	// Explainer says what translations do. A core/explain.Explainer does.
	Explainer Explainer
	// Topology is what is configured, and how it is.
	Topology Topology
	// Configurator changes that, and Recorder has the audit's entries of it.
	Configurator Configurator
	Recorder     audit.Recorder
	// Prices say how costs were reckoned; nil knows no price.
	Prices Prices
	// Captures are the captured bodies. A vault.Vault has them.
	Captures Captures
	// Trier sends requests to one upstream, which takes Topology and Recorder. A core.Service does.
	Trier Trier
	// Limiter knows the limits of keys and owners; nil has none.
	Limiter *limit.Limiter
	// Refused has the requests that this process has refused.
	Refused *refusals.Log
	// Clock is time.Now unless set.
	Clock func() time.Time
}

// Explainer says what translations do to bodies. Its errors are *fault.Error values.
type Explainer interface {
	Explain(ctx context.Context, req *adminv1.ExplainRequest) (*adminv1.ExplainResponse, error)
}

// Topology is what is configured in the process that is asked.
type Topology interface {
	// Upstreams are the routes' upstreams, by name.
	Upstreams() []*adminv1.Upstream
	// Routes are in the order in which they are tried.
	Routes() []*adminv1.Route
	// Configuration is the one in force.
	Configuration() *adminv1.GetConfigurationResponse
}

// Reporter sums the ledger up, and knows the processes that write it. Its methods are as in
// ledger.Store.
type Reporter interface {
	Report(ctx context.Context, query ledger.Query) ([]ledger.Row, error)
	Spent(ctx context.Context, since time.Time, keyID, owner string) ([]ledger.Spend, error)
	Processes(ctx context.Context, since time.Time) ([]ledger.Process, error)
}

// Service is the Admin service. Its errors are *fault.Error values.
type Service struct {
	adminv1.UnimplementedAdminServer
	config Config
	tail   tail
	trials *rate.Limiter
}

var _ adminv1.AdminServer = (*Service)(nil)

// New makes the service.
func New(config Config) (*Service, error) {
	if config.Keys == nil || config.Audit == nil || config.Usage == nil || config.Requests == nil {
		return nil, errors.New("admin: keys, audit, usage and requests are all needed")
	}
	if config.Clock == nil {
		config.Clock = time.Now
	}
	s := &Service{config: config, trials: rate.NewLimiter(rate.Every(trialEvery), trialBurst)}
	s.tail = tail{requests: config.Requests, names: s.names}
	return s, nil
}

// acting returns a context in which changes are made by the caller's key.
func acting(ctx context.Context) context.Context {
	return audit.WithActor(ctx, "key:"+call.Of(ctx).Caller.KeyID)
}

// Reasons of this service, besides the reasons of all services.
const (
	ReasonKeyNotFound  = "KEY_NOT_FOUND"
	ReasonKeyAmbiguous = "KEY_AMBIGUOUS"
	ReasonKeyRevoked   = "KEY_REVOKED"
	ReasonKeyExpired   = "KEY_EXPIRED"
	ReasonLinkUsed     = "LINK_USED"
	ReasonStore        = "STORE_UNAVAILABLE"
)

// failure makes a fault of an error of the keys. at is the path under which the
// request has the settings, "settings" or "keys[2].settings".
func failure(ctx context.Context, err error, at func(*keys.InvalidError, keys.FieldError) string) error {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f
	}
	if invalid, ok := errors.AsType[*keys.InvalidError](err); ok {
		f := fault.Invalid("", "")
		for _, field := range invalid.Fields {
			f.Fields = append(f.Fields, fault.Field{Param: at(invalid, field), Message: field.Reason})
		}
		f.Param, f.Message = f.Fields[0].Param, f.Fields[0].Param+": "+f.Fields[0].Message
		return f
	}
	var f *fault.Error
	switch {
	case errors.Is(err, keys.ErrNotFound):
		f = fault.New(fault.NotFound, ReasonKeyNotFound, "no key has that id, and no key that is not revoked has that name")
		f.Param = "key"
	case errors.Is(err, keys.ErrAmbiguous):
		f = fault.New(fault.InvalidRequest, ReasonKeyAmbiguous, "several keys have that name; name it by its id, or as GROUP/NAME")
		f.Param = "key"
	case errors.Is(err, keys.ErrRaw):
		f = fault.Invalid("key", "%v", keys.ErrRaw)
	case errors.Is(err, keys.ErrRevoked):
		f = fault.New(fault.Unprocessable, ReasonKeyRevoked, "the key is revoked")
	case errors.Is(err, keys.ErrLinkUsed):
		f = fault.New(fault.Unprocessable, ReasonLinkUsed, "the sign-in link was used; make another, or sign in with an admin key")
	case errors.Is(err, keys.ErrExpired):
		f = fault.New(fault.Unprocessable, ReasonKeyExpired, "the key has expired; give it more time first")
	default:
		return unavailable(ctx, err)
	}
	return f
}

// unavailable is a store that does not answer, or a caller who does not wait.
func unavailable(ctx context.Context, err error) error {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fault.Wrap(err, fault.Timeout, "DEADLINE_EXCEEDED", "the answer was not ready in time")
	case ctx.Err() != nil:
		return fault.Wrap(err, fault.Cancelled, "CANCELLED", "the call was cancelled")
	}
	return fault.Wrap(err, fault.Unavailable, ReasonStore, "the store does not answer; try again")
}

// inSettings are the paths of a request with one key's settings.
func inSettings(_ *keys.InvalidError, field keys.FieldError) string {
	switch field.Field {
	case "group", "grace", "key_id", "secret_sha256":
		return field.Field
	}
	return "settings." + field.Field
}

// Namer knows the names of keys. A store.Store does.
type Namer interface {
	// KeyNames returns the names of the keys that have those ids and a name.
	KeyNames(ctx context.Context, ids []string) (map[string]string, error)
}

// maxNames bounds the rows of a report whose keys are named: those that cost most.
const maxNames = 1000

// names returns the names of keys, each of which ids may have several times, and empty ones.
func (s *Service) names(ctx context.Context, ids []string) (map[string]string, error) {
	slices.Sort(ids)
	ids = slices.DeleteFunc(slices.Compact(ids), func(id string) bool { return id == "" })
	if s.config.Names == nil || len(ids) == 0 {
		return nil, nil
	}
	names, err := s.config.Names.KeyNames(ctx, ids)
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	return names, nil
}

// keysOf are the ids of the keys of requests.
func keysOf(requests ...*adminv1.LoggedRequest) []string {
	ids := make([]string, len(requests))
	for i, r := range requests {
		ids[i] = r.GetKeyId()
	}
	return ids
}

// keysOfAudit are the ids of the keys that made entries, or that entries are about.
func keysOfAudit(entries []*adminv1.AuditEntry) []string {
	var ids []string
	for _, e := range entries {
		if id, ok := strings.CutPrefix(e.GetActor(), "key:"); ok {
			ids = append(ids, id)
		}
		ids = append(ids, e.GetSubject())
	}
	return ids
}

// keysOfUsage are the ids of the keys in the rows of a report that cost most.
func keysOfUsage(by []ledger.Dimension, rows []ledger.Row) []string {
	at := slices.Index(by, ledger.ByKey)
	if at < 0 {
		return nil
	}
	if len(rows) > maxNames {
		rows = slices.Clone(rows)
		slices.SortFunc(rows, func(a, b ledger.Row) int {
			return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(b.Requests, a.Requests))
		})
		rows = rows[:maxNames]
	}
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r.Values[at]
	}
	return ids
}

const (
	// namesFor is how long the live tail takes a key's name for what it was.
	namesFor = time.Minute
	// maxNamed bounds how many keys it knows.
	maxNamed = 10_000
)

// namer remembers the names of the keys of the live tail, so that it does not ask for each request. It
// is for one goroutine.
type namer struct {
	names func(ctx context.Context, ids []string) (map[string]string, error)
	known map[string]string // with the empty names of keys that have none
	until time.Time
}

// of returns the names of the keys of requests. A failure leaves names out.
func (n *namer) of(ctx context.Context, requests []*adminv1.LoggedRequest) map[string]string {
	if n.names == nil || len(requests) == 0 {
		return nil
	}
	if now := time.Now(); now.After(n.until) || len(n.known) > maxNamed {
		n.known, n.until = map[string]string{}, now.Add(namesFor)
	}
	var unknown []string
	for _, r := range requests {
		if _, ok := n.known[r.GetKeyId()]; !ok {
			unknown = append(unknown, r.GetKeyId())
		}
	}
	if len(unknown) > 0 {
		found, err := n.names(ctx, unknown)
		if err == nil {
			for _, id := range unknown {
				n.known[id] = ""
			}
			maps.Copy(n.known, found)
		}
	}
	named := map[string]string{}
	for _, r := range requests {
		if name := n.known[r.GetKeyId()]; name != "" {
			named[r.GetKeyId()] = name
		}
	}
	return named
}
