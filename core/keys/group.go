package keys

import (
	"fmt"
	"slices"
	"strings"
)

// A Group is a set of protocols: one of Groups, or several of them that are combined,
// which are written with commas between them, in the order of Groups: "chat,messages". A
// key serves the protocols of its group, and the group admin none.
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

// Groups returns every single group, in the order in which they are listed to people.
func Groups() []Group { return slices.Clone(groups) }

var groups = []Group{GroupChat, GroupMessages, GroupGenerateContent, GroupInternal, GroupAdmin}

// combined is how many of the first groups one key may serve together: the protocols of the
// vendors' SDKs, for one developer. The others stay apart, so that a key that is spread over
// developers' machines opens neither direct gRPC, which is for services, nor the Admin service.
const combined = 3

// valid are all groups that a key may have: the single ones, and what is combined of them.
var valid = func() (list []Group) {
	for set := 1; set < 1<<combined; set++ {
		var several []Group
		for i, group := range groups[:combined] {
			if set&(1<<i) != 0 {
				several = append(several, group)
			}
		}
		list = append(list, join(several))
	}
	return append(list, groups[combined:]...)
}()

const separator = ","

// Has reports whether the group is one, or has it among several.
func (g Group) Has(one Group) bool {
	for each := range strings.SplitSeq(string(g), separator) {
		if each == string(one) {
			return true
		}
	}
	return g == one
}

// Each returns the single groups of a group: itself, where it is one.
func (g Group) Each() []Group {
	var list []Group
	for each := range strings.SplitSeq(string(g), separator) {
		list = append(list, Group(each))
	}
	return list
}

// Words returns the group as a sentence names it: "the group chat", "the groups chat, messages".
func (g Group) Words() string {
	if list := g.Each(); len(list) > 1 {
		return "the groups " + names(list)
	}
	return "the group " + string(g)
}

// Serving returns every group that has a single one: itself, and what it is combined in.
func (g Group) Serving() []Group {
	list := []Group{g}
	for _, group := range valid {
		if group != g && group.Has(g) {
			list = append(list, group)
		}
	}
	return list
}

// Join returns the group of several single ones in any order. Its errors are ParseGroup's.
func Join(list ...Group) (Group, error) { return ParseGroup(string(join(list))) }

// ParseGroup returns the group that a text names: one of Groups by its exact name, or several
// that are combined, in any order, with commas between them and one space after each at most.
// The error says which name is unknown, there twice or not combined, and lists the valid ones.
func ParseGroup(text string) (Group, error) {
	var list []Group
	for name := range strings.SplitSeq(strings.ReplaceAll(text, separator+" ", separator), separator) {
		group := Group(name)
		switch {
		case !slices.Contains(groups, group):
			return "", fmt.Errorf("unknown group %s: want one of %s", quote(name), names(groups))
		case slices.Contains(list, group):
			return "", fmt.Errorf("the group %s is there twice", group)
		}
		list = append(list, group)
	}
	slices.SortFunc(list, func(a, b Group) int { return slices.Index(groups, a) - slices.Index(groups, b) })
	group := join(list)
	if !slices.Contains(valid, group) {
		alone := list[len(list)-1] // those that are not combined come last
		return "", fmt.Errorf("a key of the group %s has no other group: only %s are combined", alone, names(groups[:combined]))
	}
	return group, nil
}

func join(list []Group) Group {
	texts := make([]string, len(list))
	for i, group := range list {
		texts[i] = string(group)
	}
	return Group(strings.Join(texts, separator))
}

func names(list []Group) string { return strings.ReplaceAll(string(join(list)), separator, ", ") }
