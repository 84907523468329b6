package admin

import (
	"context"
	"crypto/sha256"
	"errors"
	"strconv"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/audit"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/ledger"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/types/known/timestamppb"
)

const (
	defaultPage = 100
	maxPage     = 1000
)

// pageSize returns how much a page has.
func pageSize(asked int32) (int, error) {
	switch {
	case asked < 0 || asked > maxPage:
		return 0, fault.Invalid("page_size", "page_size: expected 0 to %d, got %d", maxPage, asked)
	case asked == 0:
		return defaultPage, nil
	}
	return int(asked), nil
}

func badToken() error {
	return fault.Invalid("page_token", "page_token: expected the next_page_token of an earlier answer")
}

// ListKeys lists keys. A page ends with the id of its last key: keys are never
// deleted, and new ones come at the end.
func (s *Service) ListKeys(ctx context.Context, req *adminv1.ListKeysRequest) (*adminv1.ListKeysResponse, error) {
	size, err := pageSize(req.GetPageSize())
	if err != nil {
		return nil, err
	}
	if req.GetWithLastUse() {
		size = min(size, defaultPage)
	}
	query := keys.Query{After: req.GetPageToken(), Limit: size + 1, Owner: req.GetOwner()}
	if req.GetGroup() != adminv1.Group_GROUP_UNSPECIFIED {
		if query.Group, err = group(req.GetGroup(), "group"); err != nil {
			return nil, err
		}
	}
	if req.GetLive() {
		query.LiveAt = s.config.Clock()
	}
	page, err := s.config.Keys.List(ctx, query)
	if errors.Is(err, keys.ErrNotFound) {
		return nil, badToken()
	}
	if err != nil {
		return nil, failure(ctx, err, inSettings)
	}
	resp := &adminv1.ListKeysResponse{}
	if len(page) > size {
		page = page[:size]
		resp.NextPageToken = page[size-1].ID
	}
	for _, key := range page {
		resp.Keys = append(resp.Keys, s.message(key))
	}
	if req.GetWithLastUse() {
		err = s.addLastUses(ctx, resp.GetKeys()...)
	}
	return resp, err
}

// addLastUses sets when keys were used last.
func (s *Service) addLastUses(ctx context.Context, list ...*adminv1.Key) error {
	const atOnce = 4
	uses, ctx := errgroup.WithContext(ctx)
	uses.SetLimit(atOnce)
	for _, key := range list {
		uses.Go(func() error {
			page, err := s.config.Requests.Search(ctx, ledger.Filter{KeyID: key.GetId()}, nil, 1)
			if err != nil {
				return unavailable(ctx, err)
			}
			if len(page.Entries) > 0 {
				key.LastUseTime = timestamppb.New(page.Entries[0].Start)
			}
			return nil
		})
	}
	return uses.Wait()
}

// ListAuditEntries lists what was changed. A page ends with the number of its last
// entry.
func (s *Service) ListAuditEntries(ctx context.Context, req *adminv1.ListAuditEntriesRequest) (*adminv1.ListAuditEntriesResponse, error) {
	size, err := pageSize(req.GetPageSize())
	if err != nil {
		return nil, err
	}
	query := audit.Query{Subject: req.GetSubject(), Newest: req.GetNewestFirst()}
	if token := req.GetPageToken(); token != "" {
		last, err := strconv.ParseInt(token, 10, 64)
		if err != nil || last < 1 {
			return nil, badToken()
		}
		if query.Newest {
			query.Before = last
		} else {
			query.After = last
		}
	}
	resp := &adminv1.ListAuditEntriesResponse{}
	for e, err := range s.config.Audit.Entries(ctx, query) {
		if err != nil {
			return nil, unavailable(ctx, err)
		}
		if len(resp.Entries) == size {
			resp.NextPageToken = strconv.FormatInt(resp.Entries[size-1].GetNumber(), 10)
			break
		}
		resp.Entries = append(resp.Entries, &adminv1.AuditEntry{
			Number: e.Number, Time: timestamppb.New(e.Time), Actor: e.Actor, Action: e.Action, Subject: e.Subject,
			DetailJson: e.Detail, PreviousHash: e.Previous[:], Hash: e.Hash[:],
		})
	}
	if resp.KeyNames, err = s.names(ctx, keysOfAudit(resp.Entries)); err != nil {
		return nil, err
	}
	return resp, nil
}

// VerifyAudit says whether the audit is as it was written. One that is not is an
// answer, and no error.
func (s *Service) VerifyAudit(ctx context.Context, req *adminv1.VerifyAuditRequest) (*adminv1.VerifyAuditResponse, error) {
	var known [sha256.Size]byte
	if hash := req.GetKnownHash(); len(hash) != 0 && len(hash) != len(known) {
		return nil, fault.Invalid("known_hash", "known_hash: expected %d bytes, got %d", len(known), len(hash))
	}
	copy(known[:], req.GetKnownHash())
	head, err := audit.Verify(s.config.Audit.Entries(ctx, audit.Query{}), known)
	resp := &adminv1.VerifyAuditResponse{Whole: err == nil, Entries: head.Number, Head: head.Hash[:]}
	if err == nil {
		return resp, nil
	}
	broken, ok := errors.AsType[*audit.BrokenError](err)
	if !ok && !errors.Is(err, audit.ErrHeadMissing) {
		return nil, unavailable(ctx, err)
	}
	if ok {
		resp.Broken = &broken.Number
	}
	resp.Problem = err.Error()
	return resp, nil
}
