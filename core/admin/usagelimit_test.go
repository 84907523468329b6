package admin_test

import (
	"context"
	"strings"
	"testing"

	"github.com/genway/genway/core/admin"
	"github.com/genway/genway/core/audit"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/ledger"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
)

// noAudit is not used.
type noAudit struct{ audit.Store }

// wide is a report of as many rows as are asked for.
type wide struct{ ledger.Store }

// noRequests finds nothing.
type noRequests struct{ ledger.Searcher }

func (wide) Report(_ context.Context, query ledger.Query) ([]ledger.Row, error) {
	return make([]ledger.Row, query.Limit), nil
}

// A report that is too large for a message is refused by the name of the member, and is not
// made as a whole.
func TestUsageOfTooManyRows(t *testing.T) {
	service, err := admin.New(admin.Config{Keys: &keys.Service{}, Audit: noAudit{}, Usage: wide{}, Requests: noRequests{}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = service.GetUsage(t.Context(), &adminv1.GetUsageRequest{})
	if err == nil || !strings.Contains(err.Error(), "by: the report has more than 100000 rows") {
		t.Errorf("%v", err)
	}
}
