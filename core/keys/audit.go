package keys

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/genway/genway/core/audit"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// What is done to a key, as the audit names it. The names are stored: they never
// change.
const (
	ActionCreate = "key.create"
	ActionImport = "key.import"
	ActionUpdate = "key.update"
	ActionRotate = "key.rotate"
	ActionRevoke = "key.revoke"
)

// members are the settings as the audit record has them.
var members = []struct {
	name string
	of   func(Settings) any
}{
	{"name", func(s Settings) any { return s.Name }},
	{"owner", func(s Settings) any { return s.Owner }},
	{"labels", func(s Settings) any { return s.Labels }},
	{"expire_time", func(s Settings) any { return s.ExpireTime }},
	{"models", func(s Settings) any { return s.Policy.Models }},
	{"addresses", func(s Settings) any { return s.Policy.Addresses }},
	{"certificates", func(s Settings) any { return s.Policy.Certificates }},
	{"limits", func(s Settings) any { return s.Policy.Limits }},
	{"strict", func(s Settings) any { return s.Policy.Strict }},
	{"priority", func(s Settings) any { return s.Policy.Priority }},
	{"read_only", func(s Settings) any { return s.Policy.ReadOnly }},
	{"capture", func(s Settings) any { return s.Policy.Capture }},
	{"read_captures", func(s Settings) any { return s.Policy.ReadCaptures }},
}

// created is the entry of a new key: its group, and its settings but the empty ones.
func created(ctx context.Context, action string, key Key) (audit.Change, error) {
	d := newDetail()
	d.set("group", string(key.Group))
	if _, err := d.difference(Settings{}, key.Settings); err != nil {
		return audit.Change{}, err
	}
	return d.change(ctx, action, key.ID, key.CreateTime), nil
}

// updated is the entry of new settings: those that differ from before. It reports
// whether any does.
func updated(ctx context.Context, before, after Key, at time.Time) (audit.Change, bool, error) {
	d := newDetail()
	some, err := d.difference(before.Settings, after.Settings)
	if err != nil || !some {
		return audit.Change{}, false, err
	}
	return d.change(ctx, ActionUpdate, after.ID, at), true, nil
}

// rotated is the entry of a new secret: when the one before it ends.
func rotated(ctx context.Context, key Key, at, end time.Time) audit.Change {
	d := newDetail()
	d.set("previous_expire_time", end.Format(time.RFC3339Nano))
	return d.change(ctx, ActionRotate, key.ID, at)
}

// detail writes one JSON object.
type detail struct {
	text bytes.Buffer
	json *jsontext.Encoder
}

func newDetail() *detail {
	d := &detail{}
	d.json = jsontext.NewEncoder(&d.text)
	_ = d.json.WriteToken(jsontext.BeginObject) // to memory: it cannot fail
	return d
}

func (d *detail) set(name, value string) {
	_ = d.json.WriteToken(jsontext.String(name))
	_ = d.json.WriteToken(jsontext.String(value))
}

func (d *detail) difference(before, after Settings) (some bool, err error) {
	before, after = before.normal(), after.normal()
	options := json.JoinOptions(json.Deterministic(true), json.FormatNilSliceAsNull(true), json.FormatNilMapAsNull(true))
	for _, member := range members {
		old, err := json.Marshal(member.of(before), options)
		if err != nil {
			return false, fmt.Errorf("write %s: %w", member.name, err)
		}
		value, err := json.Marshal(member.of(after), options)
		if err != nil {
			return false, fmt.Errorf("write %s: %w", member.name, err)
		}
		if bytes.Equal(old, value) {
			continue
		}
		some = true
		_ = d.json.WriteToken(jsontext.String(member.name))
		if err := d.json.WriteValue(value); err != nil {
			return false, fmt.Errorf("write %s: %w", member.name, err)
		}
	}
	return some, nil
}

func (d *detail) change(ctx context.Context, action, id string, at time.Time) audit.Change {
	_ = d.json.WriteToken(jsontext.EndObject)
	return audit.Change{
		Time: at, Actor: audit.ActorOf(ctx), Action: action, Subject: id,
		Detail: string(bytes.TrimSpace(d.text.Bytes())),
	}
}
