// Package discover keeps the lists of models that upstreams are asked for. Asking is never
// a part of a caller's request: a list is refreshed in the background, and while an
// upstream does not give one, the last is kept.
//
// It must not import an adapter, nor net/http or grpc.
package discover

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// Lister is an upstream that says which models it serves.
type Lister interface {
	// ListModels returns a page of its list. token is empty for the first page, and the
	// NextPageToken of the page before for all others. It returns when ctx ends.
	ListModels(ctx context.Context, token string) (*genwayv1.ListModelsResponse, error)
}

const (
	// refreshEvery is how old a list may be, retryEvery how soon an upstream that gave
	// none is asked again.
	refreshEvery = 5 * time.Minute
	retryEvery   = 30 * time.Second
	// deadline bounds the asking for one list, all its pages together.
	deadline = 15 * time.Second
	// maxModels and maxPages bound a list, maxName and maxText what it says of a model,
	// in bytes.
	maxModels = 10_000
	maxPages  = 100
	maxName   = 256
	maxText   = 1024
)

// Listing is the list of one upstream. It is safe for concurrent use.
type Listing struct {
	name, address string
	lister        Lister
	models        atomic.Pointer[[]*genwayv1.Model]

	failed bool // refresh's own
}

// New makes an empty listing of the upstream of that name. address is where the upstream
// is and what it speaks: two listings of one address list the same.
func New(name, address string, lister Lister) *Listing {
	l := &Listing{name: name, address: address, lister: lister}
	l.models.Store(&[]*genwayv1.Model{})
	return l
}

// Models returns the last list. It must not be changed.
func (l *Listing) Models() []*genwayv1.Model { return *l.models.Load() }

// Adopt takes over the list of the one among others that has the same address, so that a
// new configuration does not begin with empty lists.
func (l *Listing) Adopt(others []*Listing) {
	for _, other := range others {
		if other.address == l.address {
			l.models.Store(other.models.Load())
		}
	}
}

// Watch keeps the listings fresh until ctx ends: each by itself, so that an upstream which
// hangs holds up no other. Failures are logged when they begin and when they end.
func Watch(ctx context.Context, listings []*Listing, log *slog.Logger) {
	var group sync.WaitGroup
	for _, l := range listings {
		group.Go(func() {
			for ctx.Err() == nil {
				next := time.NewTimer(l.refresh(ctx, log))
				select {
				case <-ctx.Done():
				case <-next.C:
				}
				next.Stop()
			}
		})
	}
	group.Wait()
}

// refresh asks the upstream once, and says when it is to be asked again.
func (l *Listing) refresh(ctx context.Context, log *slog.Logger) time.Duration {
	models, err := l.ask(ctx)
	if ctx.Err() != nil {
		return 0 // the process ends, or the configuration is replaced
	}
	failed := l.failed
	l.failed = err != nil
	if err != nil {
		if !failed {
			log.Warn("the upstream's list of models cannot be read; the last one stays", "upstream", l.name, "models", len(l.Models()), "error", err)
		}
		return retryEvery
	}
	switch {
	case failed:
		log.Info("the upstream gives its list of models again", "upstream", l.name, "models", len(models))
	case len(models) != len(l.Models()):
		log.Info("the upstream's models are listed", "upstream", l.name, "models", len(models))
	}
	l.models.Store(&models)
	return refreshEvery
}

var errPages = errors.New("the list's pages do not end")

// ask returns the whole list.
func (l *Listing) ask(ctx context.Context) ([]*genwayv1.Model, error) {
	ctx, stop := context.WithTimeout(ctx, deadline)
	defer stop()
	list, seen := []*genwayv1.Model{}, map[string]bool{}
	token, tokens := "", map[string]bool{"": true}
	for range maxPages {
		page, err := l.lister.ListModels(ctx, token)
		if err != nil {
			return nil, err
		}
		for _, m := range page.GetModels() {
			if !listable(m.GetName()) || seen[m.GetName()] {
				continue
			}
			if len(list) == maxModels {
				return nil, fmt.Errorf("the list has more than %d models", maxModels)
			}
			seen[m.GetName()] = true
			list = append(list, l.tidy(m))
		}
		if token = page.GetNextPageToken(); token == "" {
			return list, nil
		}
		if tokens[token] {
			break
		}
		tokens[token] = true
	}
	return nil, errPages
}

// listable reports whether a name can be shown, and put into a request.
func listable(name string) bool { return name != "" && len(name) <= maxName && shown(name) }

// shown reports whether all of a text is characters that can be seen, and single spaces.
func shown(text string) bool {
	if !utf8.ValidString(text) {
		return false
	}
	for _, c := range text {
		if !unicode.IsPrint(c) {
			return false
		}
	}
	return true
}

// tidy leaves out what a picker could not show, and has the upstream's name for an owner
// that is not there.
func (l *Listing) tidy(m *genwayv1.Model) *genwayv1.Model {
	for _, text := range []*string{&m.DisplayName, &m.OwnedBy, &m.Description} {
		if len(*text) > maxText || !shown(*text) {
			*text = ""
		}
	}
	m.DisplayName, m.OwnedBy = cmp.Or(m.DisplayName, m.Name), cmp.Or(m.OwnedBy, l.name)
	return m
}
