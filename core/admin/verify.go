package admin

import (
	"context"
	"crypto/sha256"
	"errors"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/audit"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
)

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
