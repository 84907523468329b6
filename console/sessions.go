package console

import (
	"net/http"
	"net/url"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
)

type sessionsPage struct {
	Sessions []keyView
	Own      string
	Link     string // shown this once
	ReadOnly bool
}

// listSessions shows the sessions and links that are good.
func listSessions(c *call) error { return c.showSessions("", false) }

func (c *call) showSessions(link string, readOnly bool) error {
	p := sessionsPage{Own: c.session.GetId(), Link: link, ReadOnly: readOnly}
	req := &adminv1.ListKeysRequest{Group: adminv1.Group_GROUP_ADMIN, Live: true, PageSize: 1000}
	for {
		resp, err := c.admin.ListKeys(c.ctx, req)
		if err != nil {
			return err
		}
		for _, key := range resp.GetKeys() {
			if key.GetSettings().GetLabels()[consoleLabel] != "" {
				p.Sessions = append(p.Sessions, viewOf(key))
			}
		}
		if req.PageToken = resp.GetNextPageToken(); req.PageToken == "" {
			break
		}
	}
	c.show(http.StatusOK, "sessions.html", "Sessions", p)
	return nil
}

// makeLink makes a one-time link, with which somebody else signs in.
func makeLink(c *call) error {
	readOnly := c.r.PostFormValue("role") != "admin"
	made, err := c.admin.CreateSession(c.ctx, &adminv1.CreateSessionRequest{Link: true, ReadOnly: readOnly})
	if err != nil {
		return err
	}
	scheme := "http"
	if c.r.TLS != nil {
		scheme = "https"
	}
	link := url.URL{Scheme: scheme, Host: c.r.Host, Path: "/sign-in", Fragment: made.GetRawKey()}
	return c.showSessions(link.String(), readOnly)
}

// endSession ends any session or link.
func endSession(c *call) error {
	id := c.r.PathValue("id")
	resp, err := c.admin.GetKey(c.ctx, &adminv1.GetKeyRequest{Key: id})
	if err != nil {
		return err
	}
	if resp.GetKey().GetSettings().GetLabels()[consoleLabel] == "" {
		return &pageError{http.StatusBadRequest, "That key is no session; its own page revokes it."}
	}
	c.console.runs.revoke(c.ctx, c.admin, func(key runKey) bool { return key.session == id })
	if _, err := c.admin.RevokeKey(c.ctx, &adminv1.RevokeKeyRequest{Key: id}); err != nil {
		return err
	}
	http.Redirect(c.w, c.r, "/sessions", http.StatusSeeOther)
	return nil
}
