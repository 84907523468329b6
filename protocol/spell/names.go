package spell

import (
	"maps"
	"strings"

	"github.com/genway/genway/codec/setting"
	genwayv1 "github.com/genway/genway/gen/genway/v1"
)

// none marks a field that a protocol has no member for: its callers cannot have set
// it. It keeps the contract's name.
const none = ""

// itself is the holder of a kind of parts that are made of the message's own object.
const itself = "."

// Names are a protocol's names for members of the contract. Of names with | between them
// the first that the caller has sent is meant, or else the first. Those of the contract's
// protocols are variables of this package.
type Names struct {
	// settings has the fields of a request other than what is in messages and tools, by
	// their paths. What is below a field that is no message of its own (an index, a key)
	// is kept behind the name.
	settings map[string]string
	// part has the fields of a Part, by their paths from there, as paths from the object
	// that the part was made of. none is that object.
	part map[string]string
	// message has the fields of a Message but for its parts, likewise.
	message map[string]string
	// holder has the members of a message's object that parts without an object of their
	// own are in, by the part's kind.
	holder map[string]string
	// tool has the fields of a Tool, as part.
	tool map[string]string
	// list is the conversation, and system what holds system text outside of it.
	list, system string
	// tools is the list of tools.
	tools string
	// marked are the objects of a body that may become messages, parts or tools.
	marked []string
	// answer has what an answer of the contract is made of.
	answer map[string]string
	// spelled returns the codec's spelling of a name that has several.
	spelled func(string) string
	// camel says that names are in lowerCamelCase.
	camel bool
}

// settings are the names of the settings of a protocol, from their table, and others. A setting that the
// protocol has no member for has the name of what it is within, if that has one.
func settings(protocol genwayv1.Protocol, table []setting.Setting, others map[string]string) map[string]string {
	names := map[string]string{}
	maps.Copy(names, others)
	for i := range table {
		if member := table[i].Of(protocol).Member; member != "" {
			names[table[i].Field] = member
		}
	}
	for i := range table {
		if _, _, ok := longest(names, table[i].Field); !ok {
			names[table[i].Field] = none
		}
	}
	return names
}

func plain(name string) string { return name }

// longest finds the entry of a table for the longest prefix of a path, at the bounds of
// its steps, and what of the path is left.
func longest(table map[string]string, path string) (name, rest string, ok bool) {
	for prefix := path; prefix != ""; prefix = up(prefix) {
		if name, ok := table[prefix]; ok {
			return name, path[len(prefix):], true
		}
	}
	return "", path, false
}

// up cuts the last step off a path.
func up(path string) string { return path[:max(strings.LastIndexAny(path, ".["), 0)] }

// camelCase spells a name in the protocol's way.
func (n *Names) camelCase(name string) string {
	if !n.camel {
		return name
	}
	var out strings.Builder
	for i, word := range strings.Split(name, "_") {
		if i > 0 && word != "" {
			word = strings.ToUpper(word[:1]) + word[1:]
		}
		out.WriteString(word)
	}
	return out.String()
}

// Images are the names of the images protocol.
var Images = Names{
	spelled:  plain,
	settings: settings(genwayv1.Protocol_PROTOCOL_IMAGES, setting.Images(), nil),
	answer:   map[string]string{"images": "data", "images[]": "data[]", "usage": "usage"},
}
