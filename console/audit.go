package console

import (
	"encoding/hex"
	"net/http"
	"net/url"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
)

type auditPage struct {
	Entries       []*adminv1.AuditEntry
	Subject, Next string
	First         string
	Verified      *adminv1.VerifyAuditResponse
	Head          string
}

// auditRows is how many entries a page has.
const auditRows = 100

// showAudit shows a page of the audit, the oldest first.
func showAudit(c *call) error { return c.showAudit(nil) }

func (c *call) showAudit(verified *adminv1.VerifyAuditResponse) error {
	p := auditPage{Subject: c.r.FormValue("subject"), Verified: verified, Head: hex.EncodeToString(verified.GetHead())}
	after := c.r.FormValue("after")
	resp, err := c.admin.ListAuditEntries(c.ctx, &adminv1.ListAuditEntriesRequest{PageSize: auditRows, Subject: p.Subject, PageToken: after})
	if err != nil {
		return err
	}
	p.Entries = resp.GetEntries()
	if next := resp.GetNextPageToken(); next != "" {
		p.Next = "?" + url.Values{"after": {next}, "subject": {p.Subject}}.Encode()
	}
	if after != "" {
		p.First = "?" + url.Values{"subject": {p.Subject}}.Encode()
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
