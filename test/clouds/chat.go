package clouds

import (
	"embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

//go:embed chat/*.json
var chatSchemas embed.FS

// ChatSchema is what a vendor or an engine documents of the body of chat completions, read
// from Source at Read: a member that is not in it is refused with Status, at any depth.
type ChatSchema struct {
	Source string `json:"source"`
	Read   string `json:"read"`
	Status int    `json:"status"`
	// Body are the members of the body.
	Body map[string]string `json:"body"`
	// Types are the objects in it by name: system, user, assistant and tool are messages, and
	// part.TYPE are elements of their content. They take the place of the common ones. A
	// member's type is any, string, strings (an array of them), content (a string, or an array of
	// parts) or the name of an object, in brackets for an array of such.
	Types map[string]map[string]string `json:"types"`
	// Required are the members that an object must have, by its name.
	Required map[string][]string `json:"required"`
	// Words are the strings that a member may be, by the name of its object and its own.
	Words map[string][]string `json:"words"`
	// CallID is the pattern of identifiers of tool calls; empty for any.
	CallID string `json:"call_id"`
	// MaxChoices is the most that n may be; 0 is any.
	MaxChoices float64 `json:"most_choices"`
}

// commonTypes are the objects that are alike wherever they are.
var commonTypes = map[string]map[string]string{
	"part.text":      {"type": "string", "text": "string"},
	"part.image_url": {"type": "string", "image_url": "image_url"},
	"image_url":      {"url": "string", "detail": "string"},
	"call":           {"id": "string", "type": "string", "function": "called"},
	"called":         {"name": "string", "arguments": "string"},
	"definition":     {"type": "string", "function": "function"},
	"function":       {"name": "string", "description": "string", "parameters": "any"},
	"choice":         {"type": "string", "function": "named"},
	"named":          {"name": "string"},
	"format":         {"type": "string", "json_schema": "json_schema"},
	"json_schema":    {"name": "string", "description": "string", "schema": "any", "strict": "any"},
	"stream_options": {"include_usage": "any"},
}

// ReadChatSchema returns the schema of a provider.
func ReadChatSchema(provider string) (*ChatSchema, error) {
	text, err := chatSchemas.ReadFile("chat/" + provider + ".json")
	if err != nil {
		return nil, err
	}
	s := &ChatSchema{}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("%s: %w", provider, err)
	}
	return s, nil
}

// ChatProviders are the providers that there is a schema of.
func ChatProviders() []string {
	list, _ := chatSchemas.ReadDir("chat")
	names := make([]string, 0, len(list))
	for _, file := range list {
		names = append(names, strings.TrimSuffix(file.Name(), ".json"))
	}
	return names
}

// Check returns what the place would complain of; nothing if it takes the body.
func (s *ChatSchema) Check(body []byte) (wrong []string) {
	var value map[string]any
	if err := json.Unmarshal(body, &value); err != nil {
		return []string{err.Error()}
	}
	c := chatCheck{schema: s}
	c.object("body", "", s.Body, value)
	if n, _ := value["n"].(float64); s.MaxChoices > 0 && n > s.MaxChoices {
		c.wrongf("n: %v is more than %v", n, s.MaxChoices)
	}
	return c.wrong
}

type chatCheck struct {
	schema *ChatSchema
	wrong  []string
}

func (c *chatCheck) wrongf(format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
}

func (c *chatCheck) object(kind, path string, members map[string]string, value map[string]any) {
	for _, name := range c.schema.Required[kind] {
		if value[name] == nil {
			c.wrongf("%s: Field required", strings.TrimPrefix(path+"."+name, "."))
		}
	}
	for name, v := range value {
		at := strings.TrimPrefix(path+"."+name, ".")
		is, known := members[name]
		if !known {
			c.wrongf("%s: Extra inputs are not permitted", at)
			continue
		}
		if words := c.schema.Words[kind+"."+name]; words != nil {
			if word, ok := v.(string); ok && !slices.Contains(words, word) {
				c.wrongf("%s: %q is none of %v", at, word, words)
			}
		}
		c.value(is, at, v)
	}
}

func (c *chatCheck) value(is, path string, v any) {
	if v == nil || is == "any" {
		return
	}
	switch is {
	case "string":
		if _, ok := v.(string); !ok {
			c.wrongf("%s: Input should be a valid string", path)
		}
		return
	case "strings":
		list, ok := v.([]any)
		if !ok || slices.ContainsFunc(list, func(e any) bool { _, isText := e.(string); return !isText }) {
			c.wrongf("%s: Input should be a valid list of strings", path)
		}
		return
	case "content":
		if _, ok := v.(string); !ok {
			c.each(path, v, func(path string, part map[string]any) { c.named(fmt.Sprint("part.", part["type"]), path, part) })
		}
		return
	case "messages":
		c.each(path, v, func(path string, m map[string]any) { c.named(fmt.Sprint(m["role"]), path, m) })
		return
	case "choice":
		if word, ok := v.(string); ok {
			if words := c.schema.Words["choice"]; words != nil && !slices.Contains(words, word) {
				c.wrongf("%s: %q is none of %v", path, word, words)
			}
			return
		}
	}
	if element, isList := strings.CutPrefix(is, "["); isList {
		c.each(path, v, func(path string, e map[string]any) { c.named(strings.TrimSuffix(element, "]"), path, e) })
		return
	}
	object, ok := v.(map[string]any)
	if !ok {
		c.wrongf("%s: Input should be an object", path)
		return
	}
	c.named(is, path, object)
}

func (c *chatCheck) named(kind, path string, value map[string]any) {
	members := c.schema.Types[kind]
	if members == nil {
		members = commonTypes[kind]
	}
	if members == nil || c.schema.Types[kind] == nil && strings.HasPrefix(kind, "part.") && kind != "part.text" {
		c.wrongf("%s: Input tag %q is not expected", path, kind)
		return
	}
	if id, _ := value["id"].(string); kind == "call" {
		c.callID(path+".id", id)
	}
	if id, ok := value["tool_call_id"].(string); ok {
		c.callID(path+".tool_call_id", id)
	}
	c.object(kind, path, members, value)
}

func (c *chatCheck) callID(path, id string) {
	if c.schema.CallID != "" && !regexp.MustCompile(c.schema.CallID).MatchString(id) {
		c.wrongf("%s: Tool call id was %s but must match %s", path, id, c.schema.CallID)
	}
}

func (c *chatCheck) each(path string, v any, do func(string, map[string]any)) {
	list, ok := v.([]any)
	if !ok {
		c.wrongf("%s: Input should be a valid list", path)
		return
	}
	for i, e := range list {
		object, ok := e.(map[string]any)
		if !ok {
			c.wrongf("%s[%d]: Input should be an object", path, i)
			continue
		}
		do(fmt.Sprintf("%s[%d]", path, i), object)
	}
}
