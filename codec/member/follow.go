package member

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Follow makes the change from before to after on body, all three JSON objects, and
// leaves every other byte of body as it is. Members are added, replaced and removed
// one by one inside of objects; an object that is empty after that goes as well.
// spelled returns the name that before and after use for one of body's; nil is the same
// name.
func Follow(body, before, after []byte, spelled func(string) string) ([]byte, error) {
	if spelled == nil {
		spelled = func(name string) string { return name }
	}
	was, err := membersOf(before)
	if err != nil {
		return nil, err
	}
	is, err := membersOf(after)
	if err != nil {
		return nil, err
	}
	var has, changes []Member
	var names []string // of has, as before and after spell them
	for _, m := range append(removed(was, is), is...) {
		old := valueOf(was, m.Name)
		if bytes.Equal(old, m.Value) && (old == nil) == (m.Value == nil) {
			continue
		}
		if has == nil {
			if has, err = membersOf(body); err != nil {
				return nil, err
			}
			for _, h := range has {
				names = append(names, spelled(h.Name))
			}
		}
		change := m
		at := slices.Index(names, m.Name)
		if at >= 0 {
			change.Name = has[at].Name
		}
		if at >= 0 && has[at].Value.Kind() == '{' && inside(old) && inside(m.Value) {
			inner, err := Follow(has[at].Value, objectOr(old), objectOr(m.Value), spelled)
			if err != nil {
				return nil, err
			}
			if change.Value = inner; m.Value == nil && empty(inner) {
				change.Value = nil
			}
		}
		changes = append(changes, change)
	}
	if len(changes) == 0 {
		return body, nil
	}
	return Patch(body, changes...)
}

// removed returns what was there and is not any more, without a value.
func removed(was, is []Member) []Member {
	var without []Member
	for _, m := range was {
		if valueOf(is, m.Name) == nil {
			without = append(without, Member{Name: m.Name})
		}
	}
	return without
}

// membersOf returns the members of an object. Their values are parts of it.
func membersOf(object []byte) (members []Member, err error) {
	err = Walk(object, func(name string, value jsontext.Value) bool {
		members = append(members, Member{Name: name, Value: value})
		return true
	}, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, decodeFault(object, err)
	}
	return members, nil
}

func valueOf(members []Member, name string) jsontext.Value {
	if at := indexOf(members, name); at >= 0 {
		return members[at].Value
	}
	return nil
}

// inside reports whether a member's change is one of what is inside of it.
func inside(v jsontext.Value) bool { return v == nil || v.Kind() == '{' }

func objectOr(v jsontext.Value) jsontext.Value {
	if v == nil {
		return jsontext.Value("{}")
	}
	return v
}

func empty(object jsontext.Value) bool {
	members, err := membersOf(object)
	return err == nil && len(members) == 0
}
