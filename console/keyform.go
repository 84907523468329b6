package console

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// keyForm is a key's settings as fields of a form.
type keyForm struct {
	Name, Owner, Models, Addresses, ExpireTime string
	Figures                                    []figureField
	BudgetDay, BudgetMonth                     string
	Strict, Batch, ReadOnly, Admin             bool
	// Groups are those that are chosen, of a new key.
	Groups []string
	// Wrong says what is wrong with fields, by their names, and Rest with what has no field.
	Wrong map[string]string
	Rest  []string
}

// Chosen reports whether the group at a place of the list is chosen: the first where none is.
func (f keyForm) Chosen(place int, group string) bool {
	return slices.Contains(f.Groups, group) || f.Groups == nil && place == 0
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
		return nil, nil, err
	}
	return s, &fieldmaskpb.FieldMask{Paths: []string{"name", "owner", "models", "addresses", "strict", "read_only", "priority", "limits", "expire_time"}}, nil
}

// wrongFieldError is a text that is not what its field is for.
type wrongFieldError struct{ name, reason string }

func (e *wrongFieldError) Error() string { return e.name + ": " + e.reason }

// typed returns the form as it was typed, with what an error says of its fields. It reports false where the error says
// nothing of fields. with are the settings as they were read, if they could be.
func (c *call) typed(err error, with *adminv1.KeySettings) (keyForm, bool) {
	value := func(name string) string { return strings.TrimSpace(c.r.PostFormValue(name)) }
	f := keyForm{
		Name: value("name"), Owner: value("owner"), Models: value("models"), Addresses: value("addresses"), ExpireTime: value("expire_time"),
		BudgetDay: value("budget_day"), BudgetMonth: value("budget_month"), Strict: value("strict") != "", Batch: value("batch") != "", ReadOnly: value("read_only") != "",
		Groups: c.r.PostForm["group"], Wrong: map[string]string{},
	}
	for _, field := range formOf(nil).Figures {
		f.Figures = append(f.Figures, figureField{field.Name, field.Label, value(field.Name)})
	}
	if wrong, ok := errors.AsType[*wrongFieldError](err); ok {
		f.Wrong[wrong.name] = wrong.reason
		return f, true
	}
	for _, detail := range status.Convert(err).Details() {
		bad, _ := detail.(*errdetails.BadRequest)
		for _, v := range bad.GetFieldViolations() {
			if name := fieldOf(v.GetField(), with); name != "" {
				f.Wrong[name] = v.GetDescription()
			} else {
				f.Rest = append(f.Rest, v.GetField()+": "+v.GetDescription())
			}
		}
	}
	return f, len(f.Wrong)+len(f.Rest) > 0
}

// fieldOf returns the field of a form for a path of a request with settings; empty for none.
func fieldOf(path string, with *adminv1.KeySettings) string {
	path = strings.TrimPrefix(strings.TrimPrefix(path, "settings."), "limits.")
	name, rest, indexed := strings.Cut(path, "[")
	switch name {
	case "groups":
		return "group"
	case "budgets":
		budgets, i := with.GetLimits().GetBudgets(), 0
		if number, _, _ := strings.Cut(rest, "]"); indexed {
			i, _ = strconv.Atoi(number)
		} else if len(budgets) > 1 {
			return "" // one of them
		}
		if i >= len(budgets) {
			return ""
		}
		return budgetFields[budgets[i].GetPeriod()]
	case "name", "owner", "models", "addresses", "expire_time", "read_only", "group":
		return name
	}
	if slices.ContainsFunc(figures(), func(f protoreflect.FieldDescriptor) bool { return string(f.Name()) == name }) {
		return name
	}
	return ""
}

// budgetFields are the fields of budgets.
var budgetFields = map[adminv1.Period]string{adminv1.Period_PERIOD_DAY: "budget_day", adminv1.Period_PERIOD_MONTH: "budget_month"}

// settingsOf makes settings of the texts of fields. Its errors are *wrongFieldError values.
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
			return nil, &wrongFieldError{name, fmt.Sprintf("%.40q is not a whole number", text)}
		}
		s.Limits.ProtoReflect().Set(figure, protoreflect.ValueOfInt64(n))
	}
	for _, period := range []adminv1.Period{adminv1.Period_PERIOD_DAY, adminv1.Period_PERIOD_MONTH} {
		text := field(budgetFields[period])
		if text == "" {
			continue
		}
		nano, err := dollars(text)
		if err != nil {
			return nil, &wrongFieldError{budgetFields[period], fmt.Sprintf("%.40q is not a sum of dollars; write it as 12.50", text)}
		}
		s.Limits.Budgets = append(s.Limits.Budgets, &adminv1.Budget{NanoDollars: nano, Period: period})
	}
	if text := field("expire_time"); text != "" {
		at, err := time.Parse(time.RFC3339, text)
		if day, err2 := time.Parse(time.DateOnly, text); err2 == nil {
			at, err = day, nil
		}
		if err != nil {
			return nil, &wrongFieldError{"expire_time", fmt.Sprintf("%.40q is not a time; write 2030-01-31 or 2030-01-31T12:00:00Z", text)}
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
