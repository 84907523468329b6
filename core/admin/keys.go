package admin

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/genway/genway/codec/fault"
	"github.com/genway/genway/core/amount"
	"github.com/genway/genway/core/keys"
	"github.com/genway/genway/core/limit"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// CreateKey makes a key.
func (s *Service) CreateKey(ctx context.Context, req *adminv1.CreateKeyRequest) (*adminv1.CreateKeyResponse, error) {
	params, err := createParams(req, "")
	if err != nil {
		return nil, err
	}
	if err := permitReading(ctx, &keys.Settings{}, &params.Settings); err != nil {
		return nil, err
	}
	raw, key, err := s.config.Keys.Create(acting(ctx), params)
	if err != nil {
		return nil, failure(ctx, err, inSettings)
	}
	return &adminv1.CreateKeyResponse{Key: s.message(key), RawKey: raw}, nil
}

// createParams reads a request at a path: empty, or keys[2] and a point.
func createParams(req *adminv1.CreateKeyRequest, at string) (keys.CreateParams, error) {
	of, err := groupsOf(req, at)
	if err != nil {
		return keys.CreateParams{}, err
	}
	with, err := settings(req.GetSettings(), at+"settings")
	if err != nil {
		return keys.CreateParams{}, err
	}
	params := keys.CreateParams{Group: of, Settings: with, Drawn: keys.Drawn{ID: req.GetKeyId()}}
	params.Drawn.Secret, err = digest(req.GetSecretSha256(), at+"secret_sha256")
	return params, err
}

// digest reads the digest of a secret at a path; zero for none.
func digest(from []byte, at string) (d keys.Digest, err error) {
	if len(from) == 0 {
		return d, nil
	}
	if copy(d[:], from); len(from) != len(d) || d == (keys.Digest{}) {
		return d, fault.Invalid(at, "%s: expected the %d bytes of a SHA-256", at, len(d))
	}
	return d, nil
}

// ImportKeys makes many keys, all or none.
func (s *Service) ImportKeys(ctx context.Context, req *adminv1.ImportKeysRequest) (*adminv1.ImportKeysResponse, error) {
	if n := len(req.GetKeys()); n > maxPage {
		return nil, fault.Invalid("keys", "keys: at most %d, not %d", maxPage, n)
	}
	params := make([]keys.CreateParams, len(req.GetKeys()))
	for i, one := range req.GetKeys() {
		var err error
		if params[i], err = createParams(one, fmt.Sprintf("keys[%d].", i)); err != nil {
			return nil, err
		}
		if err := permitReading(ctx, &keys.Settings{}, &params[i].Settings); err != nil {
			return nil, err
		}
	}
	made, err := s.config.Keys.Import(acting(ctx), params, req.GetValidateOnly())
	if err != nil {
		return nil, failure(ctx, err, func(e *keys.InvalidError, field keys.FieldError) string {
			return fmt.Sprintf("keys[%d].%s", e.Index, inSettings(e, field))
		})
	}
	resp := &adminv1.ImportKeysResponse{}
	for _, c := range made {
		resp.Keys = append(resp.Keys, &adminv1.CreateKeyResponse{Key: s.message(c.Key), RawKey: c.Raw})
	}
	return resp, nil
}

// GetKey returns what is known of a key.
func (s *Service) GetKey(ctx context.Context, req *adminv1.GetKeyRequest) (*adminv1.GetKeyResponse, error) {
	if err := named(req.GetKey()); err != nil {
		return nil, err
	}
	key, err := s.config.Keys.Get(ctx, req.GetKey())
	if err != nil {
		return nil, failure(ctx, err, inSettings)
	}
	message := s.message(key)
	return &adminv1.GetKeyResponse{Key: message}, s.addLastUses(ctx, message)
}

// UpdateKey changes the settings that the mask names.
func (s *Service) UpdateKey(ctx context.Context, req *adminv1.UpdateKeyRequest) (*adminv1.UpdateKeyResponse, error) {
	if err := named(req.GetKey()); err != nil {
		return nil, err
	}
	change, err := masked(req.GetUpdateMask().GetPaths())
	if err != nil {
		return nil, err
	}
	next, err := settings(req.GetSettings(), "settings")
	if err != nil {
		return nil, err
	}
	key, err := s.config.Keys.Update(acting(ctx), req.GetKey(), func(to *keys.Settings) error {
		before := to.Clone()
		change(to, next.Clone())
		return permitReading(ctx, &before, to)
	})
	if err != nil {
		return nil, failure(ctx, err, inSettings)
	}
	return &adminv1.UpdateKeyResponse{Key: s.message(key)}, nil
}

// defaultGrace is how long the secret before stays good unless a rotation says.
const defaultGrace = 24 * time.Hour

// RotateKey replaces the secret of a key.
func (s *Service) RotateKey(ctx context.Context, req *adminv1.RotateKeyRequest) (*adminv1.RotateKeyResponse, error) {
	if err := named(req.GetKey()); err != nil {
		return nil, err
	}
	grace := defaultGrace
	if req.GetGrace() != nil {
		if err := req.Grace.CheckValid(); err != nil {
			return nil, fault.Invalid("grace", "grace: it is no duration")
		}
		grace = req.Grace.AsDuration()
	}
	secret, err := digest(req.GetSecretSha256(), "secret_sha256")
	if err != nil {
		return nil, err
	}
	made, err := s.config.Keys.Rotate(acting(ctx), req.GetKey(), keys.Rotation{
		Grace: grace, Secret: secret, Dry: req.GetValidateOnly(),
		// The new secret is the caller's, with all that the key may do.
		Permit: func(with keys.Settings) error { return permitReading(ctx, &keys.Settings{}, &with) },
	})
	if err != nil {
		return nil, failure(ctx, err, inSettings)
	}
	return &adminv1.RotateKeyResponse{Key: s.message(made.Key), RawKey: made.Raw}, nil
}

// RevokeKey ends a key for good.
func (s *Service) RevokeKey(ctx context.Context, req *adminv1.RevokeKeyRequest) (*adminv1.RevokeKeyResponse, error) {
	if err := named(req.GetKey()); err != nil {
		return nil, err
	}
	key, err := s.config.Keys.Revoke(acting(ctx), req.GetKey())
	if err != nil {
		return nil, failure(ctx, err, inSettings)
	}
	if key.Group == keys.GroupAdmin {
		if err := s.config.Keys.EndSessions(acting(ctx), key.ID); err != nil {
			return nil, failure(ctx, err, inSettings)
		}
	}
	return &adminv1.RevokeKeyResponse{Key: s.message(key)}, nil
}

func named(key string) error {
	if key == "" {
		return fault.Missing("key")
	}
	return nil
}

func (s *Service) message(key keys.Key) *adminv1.Key {
	return keyMessage(key, s.config.Clock())
}

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

// groupsOf returns the group of a new key, of one or several, at a path.
func groupsOf(req *adminv1.CreateKeyRequest, at string) (keys.Group, error) {
	if len(req.GetGroups()) == 0 {
		return "", fault.Missing(at + "groups")
	}
	var list []keys.Group
	for i, value := range req.GetGroups() {
		one, err := group(value, fmt.Sprintf("%sgroups[%d]", at, i))
		if err != nil {
			return "", err
		}
		list = append(list, one)
	}
	of, err := keys.Join(list...)
	if err != nil {
		return "", fault.Invalid(at+"groups", "%sgroups: %v", at, err)
	}
	return of, nil
}

// groupValues returns a group as the contract has it.
func groupValues(of keys.Group) (list []adminv1.Group) {
	for _, one := range of.Each() {
		list = append(list, inverse(groups, one))
	}
	return list
}

// settings returns a request's settings, at param. What package keys checks
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
		Groups:     groupValues(key.Group),
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

// paths are what an update's mask can name beside the figures of limits, with what each takes over.
var paths = map[string]func(to *keys.Settings, from keys.Settings){
	"*":           func(to *keys.Settings, from keys.Settings) { *to = from },
	"name":        func(to *keys.Settings, from keys.Settings) { to.Name = from.Name },
	"owner":       func(to *keys.Settings, from keys.Settings) { to.Owner = from.Owner },
	"labels":      func(to *keys.Settings, from keys.Settings) { to.Labels = from.Labels },
	"expire_time": func(to *keys.Settings, from keys.Settings) { to.ExpireTime = from.ExpireTime },
	"models":      func(to *keys.Settings, from keys.Settings) { to.Policy.Models = from.Policy.Models },
	"addresses":   func(to *keys.Settings, from keys.Settings) { to.Policy.Addresses = from.Policy.Addresses },
	"certificates": func(to *keys.Settings, from keys.Settings) {
		to.Policy.Certificates = from.Policy.Certificates
	},
	"strict":        func(to *keys.Settings, from keys.Settings) { to.Policy.Strict = from.Policy.Strict },
	"priority":      func(to *keys.Settings, from keys.Settings) { to.Policy.Priority = from.Policy.Priority },
	"capture":       func(to *keys.Settings, from keys.Settings) { to.Policy.Capture = from.Policy.Capture },
	"read_captures": func(to *keys.Settings, from keys.Settings) { to.Policy.ReadCaptures = from.Policy.ReadCaptures },
	"read_only":     func(to *keys.Settings, from keys.Settings) { to.Policy.ReadOnly = from.Policy.ReadOnly },
	"limits":        func(to *keys.Settings, from keys.Settings) { to.Policy.Limits = from.Policy.Limits },
	"limits.budgets": func(to *keys.Settings, from keys.Settings) {
		to.Policy.Limits.Budgets = from.Policy.Limits.Budgets
	},
}

// taking returns what a path takes over; nil if the settings have no such member.
func taking(path string) func(to *keys.Settings, from keys.Settings) {
	for m := range limit.Money {
		if path == "limits."+m.Name() {
			return func(to *keys.Settings, from keys.Settings) {
				*to.Policy.Limits.Figure(m) = *from.Policy.Limits.Figure(m)
			}
		}
	}
	return paths[path]
}

// masked returns what takes over all that a mask names.
func masked(mask []string) (func(to *keys.Settings, from keys.Settings), error) {
	if len(mask) == 0 {
		return nil, fault.Missing("update_mask")
	}
	takes := make([]func(to *keys.Settings, from keys.Settings), len(mask))
	for i, path := range mask {
		if takes[i] = taking(path); takes[i] == nil {
			at := fmt.Sprintf("update_mask.paths[%d]", i)
			return nil, fault.Invalid(at, "%s: the settings have no such member", at)
		}
	}
	return func(to *keys.Settings, from keys.Settings) {
		for _, take := range takes {
			take(to, from)
		}
	}, nil
}

// GetLimits returns what a key has used of its limits.
func (s *Service) GetLimits(ctx context.Context, req *adminv1.GetLimitsRequest) (*adminv1.GetLimitsResponse, error) {
	if err := named(req.GetKey()); err != nil {
		return nil, err
	}
	key, err := s.config.Keys.Get(ctx, req.GetKey())
	if err != nil {
		return nil, failure(ctx, err, inSettings)
	}
	gauges, err := s.config.Limiter.Gauges(ctx, limit.Who{KeyID: key.ID, Owner: key.Owner, Limits: key.Policy.Limits})
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	now := s.config.Clock()
	resp := &adminv1.GetLimitsResponse{}
	for _, g := range gauges {
		m := &adminv1.LimitGauge{Scope: g.Scope.String(), Limit: g.Metric.Name(), Most: g.Most}
		if g.Known {
			m.Used = &g.Used
		}
		if g.Metric == limit.Money {
			if err := s.budget(ctx, m, g, now); err != nil {
				return nil, unavailable(ctx, err)
			}
		}
		resp.Gauges = append(resp.Gauges, m)
	}
	return resp, nil
}

// budget fills in what is spent of a budget.
func (s *Service) budget(ctx context.Context, m *adminv1.LimitGauge, g limit.Gauge, now time.Time) error {
	keyID, owner := g.ID, ""
	if g.Scope == limit.Owner {
		keyID, owner = "", g.ID
	}
	spends, err := s.config.Usage.Spent(ctx, g.Period.Start(now), keyID, owner)
	if err != nil {
		return err
	}
	spent := int64(0)
	for _, s := range spends {
		spent = amount.Sum(spent, s.Cost)
	}
	spend(m, g, spent, now)
	return nil
}

// spend fills in a budget of which so much is spent.
func spend(m *adminv1.LimitGauge, g limit.Gauge, spent int64, now time.Time) {
	start, end := g.Period.Start(now), g.Period.End(now)
	m.Period, m.Used, m.ResetTime = inverse(periods, g.Period), &spent, timestamppb.New(end)
	if spent > 0 && spent < g.Most {
		// It is an estimate: a float64 does, and holds what an int64 does not.
		if lasts := float64(now.Sub(start)) * (float64(g.Most) / float64(spent)); lasts < float64(end.Sub(start)) {
			m.SpentTime = timestamppb.New(start.Add(time.Duration(lasts)))
		}
	}
}
