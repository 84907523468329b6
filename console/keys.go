package console

import (
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// keyGroup is a group of keys, and what forms and URLs call it.
type keyGroup struct {
	Value string
	Group adminv1.Group
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
}

// listKeys shows a page of keys, the oldest first.
func listKeys(c *call) error {
	p := keysPage{Owner: c.r.FormValue("owner"), Group: c.r.FormValue("group"), All: c.r.FormValue("all") != "", Groups: groups()}
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
	c.show(200, "keynew.html", "New key", map[string]any{"Groups": groups(), "Form": formOf(nil)})
	return nil
}

// createKey makes a key and shows it, this once.
func createKey(c *call) error {
	with, _, err := c.settings()
	if err != nil {
		return err
	}
	made, err := c.admin.CreateKey(c.ctx, &adminv1.CreateKeyRequest{Groups: groupsOf(c.r.PostForm["group"]), Settings: with})
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

// keyForm is a key's settings as fields of a form.
type keyForm struct {
	Name, Owner, Models, Addresses, ExpireTime string
	Figures                                    []figureField
	BudgetDay, BudgetMonth                     string
	Strict, Batch, ReadOnly, Admin             bool
}

// figureField is the field of a limit that is one number.
type figureField struct{ Name, Label, Value string }

// figures are the limits that are one number each: the Admin API says which there are.
var figures = sync.OnceValue(func() (list []protoreflect.FieldDescriptor) {
	fields := (*adminv1.Limits)(nil).ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		if fields.Get(i).Kind() == protoreflect.Int64Kind {
			list = append(list, fields.Get(i))
		}
	}
	return list
})

// limitWords are what the number of a limit counts: requests per minute.
func limitWords(name string) string {
	if name == "concurrent" {
		name = "requests_at_once"
	}
	return strings.ReplaceAll(name, "_", " ")
}

func formOf(key *adminv1.Key) keyForm {
	s := key.GetSettings()
	f := keyForm{
		Name: s.GetName(), Owner: s.GetOwner(), Models: strings.Join(s.GetModels(), ", "), Addresses: strings.Join(s.GetAddresses(), ", "),
		Strict: s.GetStrict(), Batch: s.GetPriority() == adminv1.Priority_PRIORITY_BATCH, ReadOnly: s.GetReadOnly(), Admin: slices.Contains(key.GetGroups(), adminv1.Group_GROUP_ADMIN),
	}
	for _, figure := range figures() {
		name, value := string(figure.Name()), ""
		if n := s.GetLimits().ProtoReflect().Get(figure).Int(); n != 0 {
			value = strconv.FormatInt(n, 10)
		}
		label := limitWords(name)
		f.Figures = append(f.Figures, figureField{name, strings.ToUpper(label[:1]) + label[1:], value})
	}
	if s.GetExpireTime() != nil {
		f.ExpireTime = s.GetExpireTime().AsTime().Format(time.RFC3339)
	}
	for _, b := range s.GetLimits().GetBudgets() {
		text := new(big.Rat).SetFrac64(b.GetNanoDollars(), 1e9).FloatString(9)
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
		if b.GetPeriod() == adminv1.Period_PERIOD_DAY {
			f.BudgetDay = text
		} else {
			f.BudgetMonth = text
		}
	}
	return f
}

// settings reads a form: the settings, and a mask of those that it has fields for.
func (c *call) settings() (*adminv1.KeySettings, *fieldmaskpb.FieldMask, error) {
	s, err := settingsOf(func(name string) string { return strings.TrimSpace(c.r.PostFormValue(name)) })
	if err != nil {
		return nil, nil, &pageError{http.StatusBadRequest, err.Error()}
	}
	return s, &fieldmaskpb.FieldMask{Paths: []string{"name", "owner", "models", "addresses", "strict", "read_only", "priority", "limits", "expire_time"}}, nil
}

// settingsOf makes settings of the texts of fields. An error names the field.
func settingsOf(field func(name string) string) (*adminv1.KeySettings, error) {
	s := &adminv1.KeySettings{
		Name: field("name"), Owner: field("owner"), Models: words(field("models")), Addresses: words(field("addresses")),
		Strict: field("strict") != "", ReadOnly: field("read_only") != "", Limits: &adminv1.Limits{},
	}
	if field("batch") != "" {
		s.Priority = adminv1.Priority_PRIORITY_BATCH
	}
	for _, figure := range figures() {
		name := string(figure.Name())
		text := field(name)
		if text == "" {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %.40q is no whole number", name, text)
		}
		s.Limits.ProtoReflect().Set(figure, protoreflect.ValueOfInt64(n))
	}
	for _, b := range []struct {
		name   string
		period adminv1.Period
	}{{"budget_day", adminv1.Period_PERIOD_DAY}, {"budget_month", adminv1.Period_PERIOD_MONTH}} {
		text := field(b.name)
		if text == "" {
			continue
		}
		nano, err := dollars(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %.40q is no sum of dollars, as 12.50", b.name, text)
		}
		s.Limits.Budgets = append(s.Limits.Budgets, &adminv1.Budget{NanoDollars: nano, Period: b.period})
	}
	if text := field("expire_time"); text != "" {
		at, err := time.Parse(time.RFC3339, text)
		if day, err2 := time.Parse(time.DateOnly, text); err2 == nil {
			at, err = day, nil
		}
		if err != nil {
			return nil, fmt.Errorf("expire_time: %.40q is no time; write 2030-01-31 or 2030-01-31T12:00:00Z", text)
		}
		s.ExpireTime = timestamppb.New(at)
	}
	return s, nil
}

// words splits at commas, spaces and lines.
func words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(", \r\n\t", r) })
}

// dollars reads a sum as nano-dollars, exactly.
func dollars(text string) (int64, error) {
	if len(text) > 40 || strings.Trim(text, "0123456789.") != "" {
		return 0, strconv.ErrSyntax
	}
	sum, ok := new(big.Rat).SetString(text)
	if !ok {
		return 0, strconv.ErrSyntax
	}
	sum.Mul(sum, big.NewRat(1e9, 1))
	if !sum.IsInt() || !sum.Num().IsInt64() {
		return 0, strconv.ErrRange
	}
	return sum.Num().Int64(), nil
}
