package explain

import (
	"bytes"
	"slices"
	"strings"

	"github.com/genway/genway/codec/setting"
	adminv1 "github.com/genway/genway/gen/genway/admin/v1"
	"github.com/genway/genway/protocol"
)

// settings explains the members of a caller's request that are settings, by their table.
type settings struct{ caller, target *protocol.Protocol }

// explain says what became of a leaf, which the losses do not name, if it is a setting whose members have
// generated code; false for another leaf. plainly has the receiver's values without overrides, and
// configured is why an override changes the setting, if one does.
func (s *settings) explain(m *adminv1.ExplainedMember, l leaf, sent, plainly map[string][]byte, configured string) bool {
	if s == nil {
		return false
	}
	row, below := s.of(l.path)
	if row == nil {
		return false
	}
	if m.Rule = ruleCodec; configured != "" {
		m.Rule = ruleOverride
	}
	place := row.Of(s.target.ID)
	for member := range strings.SplitSeq(place.Member, "|") {
		value, there := sent[member+below]
		if !there || place.Member == "" {
			continue
		}
		m.Fate, m.Arrives, m.ArrivedJson, m.Reason = adminv1.Fate_FATE_MAPPED, []string{member + below}, shown(value), configured
		if !bytes.Equal(value, plainly[member+below]) {
			m.Fate, m.Rule = adminv1.Fate_FATE_CHANGED, ruleOverride
		}
		return true
	}
	switch value := string(l.value); {
	case configured != "":
		m.Fate, m.Reason = adminv1.Fate_FATE_LOST, configured
	case value == row.Neutral, value == "null", value == `""`:
		m.Fate, m.Reason = adminv1.Fate_FATE_IMPLIED, "it says what is so without it"
	case value == place.Implied:
		m.Fate, m.Reason = adminv1.Fate_FATE_IMPLIED, place.ImpliedBy
	default:
		return false
	}
	return true
}

// of returns the setting that a leaf of the caller's body is, or is an element of, and the path below
// its member.
func (s *settings) of(path string) (row *setting.Setting, below string) {
	for _, column := range setting.Columns() {
		if column.Protocol != s.caller.ID {
			continue
		}
		for i := range column.Settings {
			row := &column.Settings[i]
			if row.Of(s.caller.ID).ByHand || row.Of(s.target.ID).ByHand {
				continue
			}
			members := strings.Split(row.Of(s.caller.ID).Member, "|")
			if at := slices.IndexFunc(members, func(member string) bool { return member != "" && within(path, member) }); at >= 0 {
				return row, path[len(members[at]):]
			}
		}
	}
	return nil, ""
}
