package console

import (
	"fmt"
	"math/big"
	"net/http"
	"strconv"
	"strings"
	"time"

	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
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
}

// figureField is the field of a limit that is one number.
type figureField struct{ Name, Label, Value string }

// figures are the limits that are one number each: the Admin API says which there are.
var figures = func() (list []protoreflect.FieldDescriptor) {
	fields := (*adminv1.Limits)(nil).ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		if fields.Get(i).Kind() == protoreflect.Int64Kind {
			list = append(list, fields.Get(i))
		}
	}
	return list
}()

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
		Strict: s.GetStrict(), Batch: s.GetPriority() == adminv1.Priority_PRIORITY_BATCH, ReadOnly: s.GetReadOnly(), Admin: key.GetGroup() == adminv1.Group_GROUP_ADMIN,
	}
	for _, figure := range figures {
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
	for _, figure := range figures {
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
