package console

import (
	"encoding/hex"
	"net/http"
	"net/url"
	"strings"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
)

type auditPage struct {
	Entries       []auditRow
	Subject, Next string
	First         string
	// Oldest says that the oldest are first, and Other is the page in the other order.
	Oldest   bool
	Other    string
	Verified *adminv1.VerifyAuditResponse
	Head     string
}

// auditRow is an entry, and the names of the keys that made it and that it is about; empty for what is no key,
// or has none.
type auditRow struct {
	*adminv1.AuditEntry
	ActorName, SubjectName string
}

// auditRows is how many entries a page has.
const auditRows = 100

// showAudit shows a page of the audit, the newest first unless asked otherwise.
func showAudit(c *call) error { return c.showAudit(nil) }

func (c *call) showAudit(verified *adminv1.VerifyAuditResponse) error {
	p := auditPage{Subject: c.r.FormValue("subject"), Verified: verified, Head: hex.EncodeToString(verified.GetHead())}
	p.Oldest = c.r.FormValue("order") == "oldest"
	link := func(oldest bool, after string) string {
		q := url.Values{"subject": {p.Subject}}
		if oldest {
			q.Set("order", "oldest")
		}
		if after != "" {
			q.Set("after", after)
		}
		return "/audit?" + q.Encode()
	}
	after := c.r.FormValue("after")
	resp, err := c.admin.ListAuditEntries(c.ctx, &adminv1.ListAuditEntriesRequest{PageSize: auditRows, Subject: p.Subject, PageToken: after, NewestFirst: !p.Oldest})
	if err != nil {
		return err
	}
	names := resp.GetKeyNames()
	for _, e := range resp.GetEntries() {
		p.Entries = append(p.Entries, auditRow{e, names[strings.TrimPrefix(e.GetActor(), "key:")], names[e.GetSubject()]})
	}
	p.Other = link(!p.Oldest, "")
	if next := resp.GetNextPageToken(); next != "" {
		p.Next = link(p.Oldest, next)
	}
	if after != "" {
		p.First = link(p.Oldest, "")
	}
	c.show(http.StatusOK, "audit.html", "Audit", p)
	return nil
}

// verifyAudit walks the audit and shows whether it is whole.
func verifyAudit(c *call) error {
	known, err := hex.DecodeString(c.r.PostFormValue("known"))
	if err != nil {
		return &pageError{http.StatusBadRequest, "The known head is no hash: expected 64 hexadecimal digits, or nothing."}
	}
	resp, err := c.admin.VerifyAudit(c.ctx, &adminv1.VerifyAuditRequest{KnownHash: known})
	if err != nil {
		return err
	}
	return c.showAudit(resp)
}
