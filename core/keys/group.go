package keys

import (
	"fmt"
	"slices"
	"strings"
)

// A Group is a set of protocols. A key serves the protocols of one group, and the
// group admin none.
type Group string

// The groups. Their values are stored and typed by operators: they never change.
const (
	// GroupChat is chat completions, responses and images.
	GroupChat Group = "chat"
	// GroupMessages is messages.
	GroupMessages Group = "messages"
	// GroupGenerateContent is generateContent.
	GroupGenerateContent Group = "generatecontent"
	// GroupInternal is direct gRPC.
	GroupInternal Group = "internal"
	// GroupAdmin is the Admin service, and nothing that generates. No such key is
	// made but by an operator's command.
	GroupAdmin Group = "admin"
)

// Groups returns every group, in the order in which they are listed to people.
func Groups() []Group { return slices.Clone(groups) }

var groups = []Group{GroupChat, GroupMessages, GroupGenerateContent, GroupInternal, GroupAdmin}

// ParseGroup returns the group of that exact name. The error lists the valid ones.
func ParseGroup(name string) (Group, error) {
	names := make([]string, len(groups))
	for i, group := range groups {
		if string(group) == name {
			return group, nil
		}
		names[i] = string(group)
	}
	return "", fmt.Errorf("unknown group %s: want one of %s", quote(name), strings.Join(names, ", "))
}
