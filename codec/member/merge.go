package member

import (
	"github.com/genway/genway/codec/fault"
)

// Merge sets the members of extra, the text of a JSON object, on the top level of body. It
// refuses those that are reserved; of an object with reserved members it adds the others to
// the object that body has. Empty text changes nothing; param names extra in errors.
func Merge(body []byte, extra, param string, reserved *Reserved) ([]byte, error) {
	if extra == "" {
		return body, nil
	}
	members, err := membersOf([]byte(extra))
	if err != nil || !Valid([]byte(extra)) {
		return nil, fault.Invalid(param, "%s: expected the text of a JSON object", param)
	}
	for _, m := range members {
		if own, ok := reserved.members[folded(m.Name)]; ok {
			if err := own.check(m.Value, Join(param, m.Name)); err != nil {
				return nil, err
			}
		}
	}
	return reserved.merge(body, members)
}

// merge sets members that were checked.
func (r *Reserved) merge(body []byte, members []Member) ([]byte, error) {
	for i, m := range members {
		own, ok := r.members[folded(m.Name)]
		if !ok {
			continue
		}
		object := Value(body, own.name)
		if len(object) == 0 {
			object = []byte("{}")
		}
		inner, err := membersOf(m.Value)
		if err != nil {
			return nil, err
		}
		merged, err := own.inside.merge(object, inner)
		if err != nil {
			return nil, err
		}
		members[i] = Member{Name: own.name, Value: merged}
	}
	return Patch(body, members...)
}
