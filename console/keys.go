package console

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"google.golang.org/protobuf/types/known/durationpb"
)

// keyGroup is a group of keys, and what forms and URLs call it.
type keyGroup struct {
	Value string
	Group adminv1.Group
}

// groups are the groups of keys.
var groups = keyGroups()

func keyGroups() []keyGroup {
	var list []keyGroup
	values := adminv1.Group(0).Descriptor().Values()
	for i := range values.Len() {
		if group := adminv1.Group(values.Get(i).Number()); group != adminv1.Group_GROUP_UNSPECIFIED {
			list = append(list, keyGroup{groupName(group), group})
		}
	}
	return list
}

func groupOf(value string) adminv1.Group {
	for _, g := range groups {
		if g.Value == value {
			return g.Group
		}
	}
	return adminv1.Group_GROUP_UNSPECIFIED
}

// groupName is the group's name in commands.
func groupName(group adminv1.Group) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(group.String(), "GROUP_"), "_", ""))
}

// consoleLabel marks keys that are sessions of the console, by the value sessionLabel, and the links
// that make sessions. A page of their own lists them.
const (
	consoleLabel = "console"
	sessionLabel = "session"
)

// keyView is a key as pages show it.
type keyView struct {
	*adminv1.Key
	GroupName, StateName string
}

func viewOf(key *adminv1.Key) keyView {
	state := strings.ToLower(strings.TrimPrefix(key.GetState().String(), "KEY_STATE_"))
	return keyView{key, groupName(key.GetGroup()), state}
}

// Limits says in a few words what the key is held to.
func (k keyView) Limits() string {
	s := k.GetSettings()
	var words []string
	for _, figure := range figures {
		if n := s.GetLimits().ProtoReflect().Get(figure).Int(); n != 0 {
			words = append(words, count(n)+" "+strings.Replace(limitWords(string(figure.Name())), " per minute", "/min", 1))
		}
	}
	for _, b := range s.GetLimits().GetBudgets() {
		words = append(words, money(b.GetNanoDollars())+" a "+strings.ToLower(strings.TrimPrefix(b.GetPeriod().String(), "PERIOD_")))
	}
	if s.GetReadOnly() {
		words = append(words, "read-only")
	}
	return strings.Join(words, ", ")
}

type keysPage struct {
	Keys               []keyView
	Owner, Group, Next string
	All                bool
	Groups             any
}

// listKeys shows a page of keys, the oldest first.
func listKeys(c *call) error {
	p := keysPage{Owner: c.r.FormValue("owner"), Group: c.r.FormValue("group"), All: c.r.FormValue("all") != "", Groups: groups}
	resp, err := c.admin.ListKeys(c.ctx, &adminv1.ListKeysRequest{Owner: p.Owner, Group: groupOf(p.Group), Live: !p.All, PageToken: c.r.FormValue("after")})
	if err != nil {
		return err
	}
	for _, key := range resp.GetKeys() {
		if key.GetSettings().GetLabels()[consoleLabel] == "" {
			p.Keys = append(p.Keys, viewOf(key))
		}
	}
	if next := resp.GetNextPageToken(); next != "" {
		with := url.Values{"after": {next}}
		for name, value := range map[string]string{"owner": p.Owner, "group": p.Group, "all": c.r.FormValue("all")} {
			if value != "" {
				with.Set(name, value)
			}
		}
		p.Next = "?" + with.Encode()
	}
	c.show(200, "keys.html", "Keys", p)
	return nil
}

type keyPage struct {
	Key    keyView
	Form   keyForm
	Raw    string // shown this once
	Why    string // why Raw is shown
	Gauges []*adminv1.LimitGauge
}

func showKey(c *call) error { return c.showKey(c.r.PathValue("id"), "", "") }

// showKey shows a key, and its raw form where it was just made.
func (c *call) showKey(id, raw, why string) error {
	resp, err := c.admin.GetKey(c.ctx, &adminv1.GetKeyRequest{Key: id})
	if err != nil {
		return err
	}
	p := keyPage{Key: viewOf(resp.GetKey()), Form: formOf(resp.GetKey()), Raw: raw, Why: why}
	limits, err := c.admin.GetLimits(c.ctx, &adminv1.GetLimitsRequest{Key: id})
	if err != nil {
		return err
	}
	p.Gauges = limits.GetGauges()
	title := "Key " + resp.GetKey().GetSettings().GetName()
	if resp.GetKey().GetSettings().GetName() == "" {
		title = "Key " + id
	}
	c.show(200, "key.html", title, p)
	return nil
}

func newKey(c *call) error {
	c.show(200, "keynew.html", "New key", map[string]any{"Groups": groups, "Form": formOf(nil)})
	return nil
}

// createKey makes a key and shows it, this once.
func createKey(c *call) error {
	with, _, err := c.settings()
	if err != nil {
		return err
	}
	made, err := c.admin.CreateKey(c.ctx, &adminv1.CreateKeyRequest{Group: groupOf(c.r.PostFormValue("group")), Settings: with})
	if err != nil {
		return err
	}
	return c.showKey(made.GetKey().GetId(), made.GetRawKey(), "This is the new key.")
}

func updateKey(c *call) error {
	with, mask, err := c.settings()
	if err != nil {
		return err
	}
	resp, err := c.admin.UpdateKey(c.ctx, &adminv1.UpdateKeyRequest{Key: c.r.PathValue("id"), Settings: with, UpdateMask: mask})
	if err != nil {
		return err
	}
	http.Redirect(c.w, c.r, "/keys/"+url.PathEscape(resp.GetKey().GetId()), http.StatusSeeOther)
	return nil
}

func rotateKey(c *call) error {
	grace, err := time.ParseDuration(c.r.PostFormValue("grace"))
	if err != nil {
		return &pageError{http.StatusBadRequest, "The grace is no duration; write it as 24h or 0s."}
	}
	made, err := c.admin.RotateKey(c.ctx, &adminv1.RotateKeyRequest{Key: c.r.PathValue("id"), Grace: durationpb.New(grace)})
	if err != nil {
		return err
	}
	return c.showKey(made.GetKey().GetId(), made.GetRawKey(), "This is the key's new secret. The one before stays good for "+grace.String()+".")
}

func revokeKey(c *call) error {
	resp, err := c.admin.RevokeKey(c.ctx, &adminv1.RevokeKeyRequest{Key: c.r.PathValue("id")})
	if err != nil {
		return err
	}
	http.Redirect(c.w, c.r, "/keys/"+url.PathEscape(resp.GetKey().GetId()), http.StatusSeeOther)
	return nil
}
