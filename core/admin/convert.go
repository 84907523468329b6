package admin

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/limit"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// groups are the contract's groups.
var groups = map[adminv1.Group]keys.Group{
	adminv1.Group_GROUP_CHAT:             keys.GroupChat,
	adminv1.Group_GROUP_MESSAGES:         keys.GroupMessages,
	adminv1.Group_GROUP_GENERATE_CONTENT: keys.GroupGenerateContent,
	adminv1.Group_GROUP_INTERNAL:         keys.GroupInternal,
	adminv1.Group_GROUP_ADMIN:            keys.GroupAdmin,
}

// periods are the contract's periods.
var periods = map[adminv1.Period]limit.Period{
	adminv1.Period_PERIOD_DAY:   limit.Day,
	adminv1.Period_PERIOD_MONTH: limit.Month,
}

// CheckTexts refuses a request with a zero byte in one of its texts, by the name of its member: no key, owner or subject
// has one, and PostgreSQL cannot be asked for it. No key is found by one.
func CheckTexts(ctx context.Context, req any) error {
	m, ok := req.(proto.Message)
	if !ok {
		return nil
	}
	switch at := zeroByte(m.ProtoReflect()); at {
	case "", "id": // of a request, which is two numbers
		return nil
	case "key":
		return failure(ctx, keys.ErrNotFound, inSettings)
	default:
		return fault.Invalid(at, "%s: a zero byte is no part of a text", at)
	}
}

// zeroByte returns the path of the first text of a message that has a zero byte; empty for none.
func zeroByte(m protoreflect.Message) (at string) {
	within := func(name string, v protoreflect.Value) {
		if is, ok := v.Interface().(string); ok && strings.IndexByte(is, 0) >= 0 {
			at = name
		} else if is, ok := v.Interface().(protoreflect.Message); ok {
			if inner := zeroByte(is); inner != "" {
				at = name + "." + inner
			}
		}
	}
	m.Range(func(field protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		name := string(field.Name())
		switch {
		case field.IsMap():
			v.Map().Range(func(key protoreflect.MapKey, v protoreflect.Value) bool {
				within(name, key.Value())
				within(name, v)
				return at == ""
			})
		case field.IsList():
			for i := 0; i < v.List().Len() && at == ""; i++ {
				within(fmt.Sprintf("%s[%d]", name, i), v.List().Get(i))
			}
		default:
			within(name, v)
		}
		return at == ""
	})
	return at
}

// inverse returns the key of a value in a table of one to one.
func inverse[K, V comparable](table map[K]V, value V) K {
	for k, v := range table {
		if v == value {
			return k
		}
	}
	var none K
	return none
}

// group returns a request's group.
func group(g adminv1.Group, param string) (keys.Group, error) {
	if g == adminv1.Group_GROUP_UNSPECIFIED {
		return "", fault.Missing(param)
	}
	known, ok := groups[g]
	if !ok {
		return "", fault.Invalid(param, "%s: unknown group %d", param, g)
	}
	return known, nil
}

// settings returns a request's settings, which stand at param. What package keys checks
// is left to it.
func settings(from *adminv1.KeySettings, param string) (keys.Settings, error) {
	s := keys.Settings{
		Name: from.GetName(), Owner: from.GetOwner(), Labels: from.GetLabels(),
		Policy: keys.Policy{Models: from.GetModels(), Strict: from.GetStrict(), ReadOnly: from.GetReadOnly(), ReadCaptures: from.GetReadCaptures()},
	}
	var err error
	if s.Policy.Capture, err = captureRule(from.GetCapture(), param+".capture"); err != nil {
		return s, err
	}
	if from.GetExpireTime() != nil {
		if err := from.ExpireTime.CheckValid(); err != nil {
			return s, fault.Invalid(param+".expire_time", "%s.expire_time: expected a time from year 1 to 9999", param)
		}
		at := from.ExpireTime.AsTime()
		s.ExpireTime = &at
	}
	for i, text := range from.GetAddresses() {
		prefix, err := keys.ParseAddress(text)
		if err != nil {
			path := fmt.Sprintf("%s.addresses[%d]", param, i)
			return s, fault.Invalid(path, "%s: %v", path, err)
		}
		s.Policy.Addresses = append(s.Policy.Addresses, prefix)
	}
	for i, text := range from.GetCertificates() {
		certificate, err := keys.ParseCertificate(text)
		if err != nil {
			path := fmt.Sprintf("%s.certificates[%d]", param, i)
			return s, fault.Invalid(path, "%s: %v", path, err)
		}
		s.Policy.Certificates = append(s.Policy.Certificates, certificate)
	}
	figures := from.GetLimits().ProtoReflect()
	for m := range limit.Money {
		*s.Policy.Limits.Figure(m) = figures.Get(figureField(m)).Int()
	}
	for i, b := range from.GetLimits().GetBudgets() {
		period, ok := periods[b.GetPeriod()]
		if !ok {
			path := fmt.Sprintf("%s.limits.budgets[%d].period", param, i)
			return s, fault.Invalid(path, "%s: expected PERIOD_DAY or PERIOD_MONTH", path)
		}
		s.Policy.Limits.Budgets = append(s.Policy.Limits.Budgets, limit.Budget{Amount: b.GetNanoDollars(), Period: period})
	}
	switch p := from.GetPriority(); p {
	case adminv1.Priority_PRIORITY_UNSPECIFIED, adminv1.Priority_PRIORITY_INTERACTIVE:
	case adminv1.Priority_PRIORITY_BATCH:
		s.Policy.Priority = keys.PriorityBatch
	default:
		return s, fault.Invalid(param+".priority", "%s.priority: unknown priority %d", param, p)
	}
	return s, nil
}

// figureField is the field of the contract's limits that has the figure of a metric. It is named as the metric.
func figureField(m limit.Metric) protoreflect.FieldDescriptor {
	return (*adminv1.Limits)(nil).ProtoReflect().Descriptor().Fields().ByName(protoreflect.Name(m.Name()))
}

// keyMessage returns a key as the contract has it.
func keyMessage(key keys.Key, now time.Time) *adminv1.Key {
	m := &adminv1.Key{
		Id:         key.ID,
		Group:      inverse(groups, key.Group),
		Settings:   settingsMessage(key.Settings),
		CreateTime: timestamppb.New(key.CreateTime),
		RevokeTime: timestamp(key.RevokeTime),
		State:      adminv1.KeyState_KEY_STATE_LIVE,
	}
	for _, secret := range key.Secrets {
		m.Secrets = append(m.Secrets, &adminv1.Secret{CreateTime: timestamppb.New(secret.CreateTime), ExpireTime: timestamp(secret.ExpireTime)})
	}
	switch {
	case key.RevokeTime != nil:
		m.State = adminv1.KeyState_KEY_STATE_REVOKED
	case key.Expired(now):
		m.State = adminv1.KeyState_KEY_STATE_EXPIRED
	}
	return m
}

func settingsMessage(s keys.Settings) *adminv1.KeySettings {
	m := &adminv1.KeySettings{
		Name: s.Name, Owner: s.Owner, Labels: s.Labels, ExpireTime: timestamp(s.ExpireTime),
		Models: s.Policy.Models, Addresses: texts(s.Policy.Addresses), Strict: s.Policy.Strict,
		Certificates: s.Policy.Certificates, ReadOnly: s.Policy.ReadOnly, Capture: CaptureMessage(s.Policy.Capture), ReadCaptures: s.Policy.ReadCaptures,
		Limits: &adminv1.Limits{},
	}
	for metric := range limit.Money {
		if n := *s.Policy.Limits.Figure(metric); n != 0 {
			m.Limits.ProtoReflect().Set(figureField(metric), protoreflect.ValueOfInt64(n))
		}
	}
	if s.Policy.Priority == keys.PriorityBatch {
		m.Priority = adminv1.Priority_PRIORITY_BATCH
	}
	for _, b := range s.Policy.Limits.Budgets {
		m.Limits.Budgets = append(m.Limits.Budgets, &adminv1.Budget{NanoDollars: b.Amount, Period: inverse(periods, b.Period)})
	}
	return m
}

func texts(prefixes []netip.Prefix) []string {
	var list []string
	for _, prefix := range prefixes {
		list = append(list, prefix.String())
	}
	return list
}

func timestamp(t *time.Time) *timestamppb.Timestamp {
	if t == nil {
		return nil
	}
	return timestamppb.New(*t)
}
