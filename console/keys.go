package console

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"google.golang.org/protobuf/types/known/durationpb"
)

// keyGroup is a group of keys, and what forms and URLs call it.
type keyGroup struct {
	Value string
	Group adminv1.Group
}

// Explained says who uses keys of the group; empty for a group that this console does not know.
func (g keyGroup) Explained() string {
	return map[adminv1.Group]string{
		adminv1.Group_GROUP_CHAT: "OpenAI SDKs, Codex: chat completions, responses, images", adminv1.Group_GROUP_MESSAGES: "Anthropic SDKs, Claude Code",
		adminv1.Group_GROUP_GENERATE_CONTENT: "Google GenAI SDKs, Gemini CLI", adminv1.Group_GROUP_INTERNAL: "programs that call the contract over gRPC", adminv1.Group_GROUP_ADMIN: "this console, and programs that administrate",
	}[g.Group]
}

// groups are the groups of keys.
var groups = sync.OnceValue(func() (list []keyGroup) {
	values := adminv1.Group(0).Descriptor().Values()
	for i := range values.Len() {
		if group := adminv1.Group(values.Get(i).Number()); group != adminv1.Group_GROUP_UNSPECIFIED {
			list = append(list, keyGroup{groupName(group), group})
		}
	}
	return list
})

// groupsOf returns the groups of those names; unspecified for a name of no group.
func groupsOf(values []string) (list []adminv1.Group) {
	for _, value := range values {
		list = append(list, groupOf(strings.TrimSpace(value)))
	}
	return list
}

func groupOf(value string) adminv1.Group {
	for _, g := range groups() {
		if g.Value == value {
			return g.Group
		}
	}
	return adminv1.Group_GROUP_UNSPECIFIED
}

// groupNames are the names of the groups that a key serves, as commands take them.
func groupNames(key *adminv1.Key) string {
	var names []string
	for _, group := range key.GetGroups() {
		names = append(names, groupName(group))
	}
	return strings.Join(names, ",")
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
	GroupNames, StateName string
}

func viewOf(key *adminv1.Key) keyView {
	state := strings.ToLower(strings.TrimPrefix(key.GetState().String(), "KEY_STATE_"))
	return keyView{key, groupNames(key), state}
}

// Limits says in a few words what the key is held to.
func (k keyView) Limits() string {
	s := k.GetSettings()
	var words []string
	for _, figure := range figures() {
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
	// Name is what was looked for, if no key has it; Wrong says so.
	Name, Wrong string
	// Spent is what each key has spent this month.
	Spent map[string]int64
}

// listKeys shows a page of keys, the oldest first.
func listKeys(c *call) error {
	p := keysPage{Owner: c.r.FormValue("owner"), Group: c.r.FormValue("group"), All: c.r.FormValue("all") != "", Groups: groups()}
	if p.Name = strings.TrimSpace(c.r.FormValue("name")); p.Name != "" {
		found, err := c.admin.GetKey(c.ctx, &adminv1.GetKeyRequest{Key: strings.ToValidUTF8(p.Name, "\uFFFD")})
		if err == nil {
			http.Redirect(c.w, c.r, "/keys/"+url.PathEscape(found.GetKey().GetId()), http.StatusSeeOther)
			return nil
		}
		wrong, ok := wrongInput(err)
		if !ok {
			return err
		}
		p.Wrong = wrong
	}
	resp, err := c.admin.ListKeys(c.ctx, &adminv1.ListKeysRequest{Owner: p.Owner, Group: groupOf(p.Group), Live: !p.All, WithLastUse: true, PageToken: c.r.FormValue("after")})
	if err != nil {
		return err
	}
	for _, key := range resp.GetKeys() {
		if key.GetSettings().GetLabels()[consoleLabel] == "" {
			p.Keys = append(p.Keys, viewOf(key))
		}
	}
	now := c.console.config.Clock().UTC()
	month, err := c.usage(time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC), now.Add(day), adminv1.Dimension_DIMENSION_KEY)
	if err != nil {
		return err
	}
	p.Spent = map[string]int64{}
	for _, r := range month {
		p.Spent[r.GetValues()[0]] = r.GetCostNanoDollars()
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
	return c.showKeyAs(http.StatusOK, id, func(p *keyPage) { p.Raw, p.Why = raw, why })
}

// showKeyAs shows a key by a page that with has changed.
func (c *call) showKeyAs(code int, id string, with func(*keyPage)) error {
	resp, err := c.admin.GetKey(c.ctx, &adminv1.GetKeyRequest{Key: id})
	if err != nil {
		return err
	}
	p := keyPage{Key: viewOf(resp.GetKey()), Form: formOf(resp.GetKey())}
	with(&p)
	limits, err := c.admin.GetLimits(c.ctx, &adminv1.GetLimitsRequest{Key: id})
	if err != nil {
		return err
	}
	p.Gauges = limits.GetGauges()
	title := "Key " + resp.GetKey().GetSettings().GetName()
	if resp.GetKey().GetSettings().GetName() == "" {
		title = "Key " + id
	}
	c.show(code, "key.html", title, p)
	return nil
}

func newKey(c *call) error {
	c.showNewKey(http.StatusOK, formOf(nil))
	return nil
}

// showNewKey shows the form of a new key.
func (c *call) showNewKey(code int, form keyForm) {
	c.show(code, "keynew.html", "New key", map[string]any{"Groups": groups(), "Form": form})
}

// createKey makes a key and shows it, this once.
func createKey(c *call) error {
	with, _, err := c.settings()
	var made *adminv1.CreateKeyResponse
	if err == nil {
		made, err = c.admin.CreateKey(c.ctx, &adminv1.CreateKeyRequest{Groups: groupsOf(c.r.PostForm["group"]), Settings: with})
	}
	if form, ok := c.typed(err, with); ok {
		c.showNewKey(http.StatusBadRequest, form)
		return nil
	}
	if err != nil {
		return err
	}
	return c.showKey(made.GetKey().GetId(), made.GetRawKey(), "This is the new key.")
}

func updateKey(c *call) error {
	with, mask, err := c.settings()
	var resp *adminv1.UpdateKeyResponse
	if err == nil {
		resp, err = c.admin.UpdateKey(c.ctx, &adminv1.UpdateKeyRequest{Key: c.r.PathValue("id"), Settings: with, UpdateMask: mask})
	}
	if form, ok := c.typed(err, with); ok {
		return c.showKeyAs(http.StatusBadRequest, c.r.PathValue("id"), func(p *keyPage) { form.Admin, p.Form = p.Form.Admin, form })
	}
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
