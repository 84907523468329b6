package console

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
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
	// What and Detail are the action and what it changed in words.
	What, Detail string
}

// done are verbs of actions as what was done.
var done = map[string]string{
	"create": "created", "import": "imported", "update": "changed", "rotate": "given a new secret", "revoke": "revoked",
	"read": "read", "delete": "deleted", "try": "tried", "write": "written", "reload": "read again",
}

// actionWords writes an action in words: key created.
func actionWords(action string) string {
	of, verb, _ := strings.Cut(action, ".")
	if done[verb] == "" {
		return action
	}
	return of + " " + done[verb]
}

// detailWords writes the JSON of a change in words, with budgets in dollars: requests per minute 5, budget $2.00 a day. What is no JSON
// object stays as it is.
func detailWords(text string) string {
	var detail map[string]any
	d := json.NewDecoder(strings.NewReader(text))
	if d.UseNumber(); d.Decode(&detail) != nil {
		return text
	}
	return strings.Join(wordsOf("", detail), ", ")
}

func wordsOf(name string, value any) (words []string) {
	switch v := value.(type) {
	case map[string]any:
		amount, _ := v["amount"].(json.Number)
		if nano, err := amount.Int64(); err == nil && v["period"] != nil {
			return []string{fmt.Sprintf("budget %s a %v", money(nano), v["period"])}
		}
		for _, member := range slices.Sorted(maps.Keys(v)) {
			for _, word := range wordsOf(member, v[member]) {
				if name != "" && name != "limits" {
					word = limitWords(name) + " " + word
				}
				words = append(words, word)
			}
		}
		return words
	case []any:
		if len(v) == 0 {
			return []string{limitWords(name) + " none"}
		}
		for _, one := range v {
			if _, nested := one.(map[string]any); nested {
				words = append(words, wordsOf(name, one)...)
			} else {
				words = append(words, fmt.Sprint(one))
			}
		}
		if name == "budgets" {
			return words
		}
		return []string{limitWords(name) + " " + strings.Join(words, " ")}
	case nil:
		return []string{limitWords(name) + " none"}
	case bool:
		return []string{map[bool]string{true: "", false: "not "}[v] + limitWords(name)}
	}
	return []string{fmt.Sprintf("%s %v", limitWords(name), value)}
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
		p.Entries = append(p.Entries, auditRow{e, names[strings.TrimPrefix(e.GetActor(), "key:")], names[e.GetSubject()], actionWords(e.GetAction()), detailWords(e.GetDetailJson())})
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
