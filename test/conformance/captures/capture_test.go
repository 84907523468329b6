//go:build captures

package captures

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// capture is one recorded request, and what a server answered then.
type capture struct {
	// name is the file's path below the folder, without .json.
	name string

	Case    string      `json:"case"`
	Method  string      `json:"method"`
	Path    string      `json:"path"`
	Query   string      `json:"query"`
	Headers [][2]string `json:"headers"`
	// Body is the body where it was JSON; BodyText the body where it was not.
	Body     json.RawMessage `json:"body"`
	BodyText string          `json:"body_text"`
	Response struct {
		Status int `json:"status"`
	} `json:"response"`
}

// load reads all captures below a folder.
func load(folder string) ([]capture, error) {
	var list []capture
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".json" {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var c capture
		if err := json.Unmarshal(raw, &c); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		name, err := filepath.Rel(folder, path)
		c.name = strings.TrimSuffix(filepath.ToSlash(name), ".json")
		list = append(list, c)
		return err
	})
	return list, err
}

// The models of the captures that stand for one the server does not have. Every
// other name becomes one of the sandbox's.
func isUnknown(model string) bool { return strings.HasPrefix(model, "no-such-model") }

// protocol returns the protocol of a capture's path.
func (c capture) protocol() string {
	switch {
	case strings.HasPrefix(c.Path, "/v1/chat/"):
		return "chat"
	case strings.HasPrefix(c.Path, "/v1/responses"):
		return "responses"
	case strings.HasPrefix(c.Path, "/v1/images/"):
		return "images"
	case strings.HasPrefix(c.Path, "/v1/messages"):
		return "messages"
	case strings.Contains(c.Path, ":"), strings.HasPrefix(c.Path, "/v1beta/"):
		return "generatecontent"
	case c.header("x-goog-api-key") != "":
		return "generatecontent"
	case c.header("anthropic-version") != "":
		return "messages"
	default:
		return "chat"
	}
}

// group is the key group of the protocol.
func (c capture) group() string {
	switch p := c.protocol(); p {
	case "messages", "generatecontent":
		return p
	default:
		return "chat"
	}
}

func (c capture) header(name string) string {
	for _, h := range c.Headers {
		if strings.EqualFold(h[0], name) {
			return h[1]
		}
	}
	return ""
}

// placeholders are the keys as the captures write them, by group; any other is wrong.
func placeholders() map[string]string {
	return map[string]string{"<CHAT_KEY>": "chat", "<MESSAGES_KEY>": "messages", "<GEMINI_KEY>": "generatecontent"}
}

// foreign reports whether the capture holds a key of another group.
func (c capture) foreign() bool {
	for placeholder, group := range placeholders() {
		if group == c.group() {
			continue
		}
		for _, h := range c.Headers {
			if strings.Contains(h[1], placeholder) {
				return true
			}
		}
	}
	return false
}

// keyed puts the server's keys in place of the placeholders.
func keyed(text string, keys map[string]string) string {
	for placeholder, group := range placeholders() {
		text = strings.ReplaceAll(text, placeholder, keys[group])
	}
	return strings.ReplaceAll(text, "<OTHER_KEY>", "a-key-of-nobody")
}

// target is the path and query to send.
func (c capture) target(keys map[string]string) string {
	path := c.Path
	if before, rest, ok := strings.Cut(path, "/models/"); ok {
		model, verb, colon := strings.Cut(rest, ":")
		if !isUnknown(model) {
			model = "sandbox-text"
		}
		path = before + "/models/" + model
		if colon {
			path += ":" + verb
		}
	}
	if c.Query == "" {
		return path
	}
	query, err := url.ParseQuery(keyed(c.Query, keys))
	if err != nil {
		return path + "?" + c.Query
	}
	return path + "?" + query.Encode()
}

// body is the body to send, with the sandbox's model in it.
func (c capture) body() ([]byte, error) {
	if c.BodyText != "" {
		return []byte(c.BodyText), nil
	}
	if len(c.Body) == 0 || string(c.Body) == "null" {
		return nil, nil
	}
	// A body that is no object, and a model that is no name, are sent as they are.
	var members map[string]json.RawMessage
	if !bytes.HasPrefix(c.Body, []byte("{")) {
		return c.Body, nil
	}
	if err := json.Unmarshal(c.Body, &members); err != nil {
		return nil, err
	}
	if raw := members["model"]; !bytes.HasPrefix(raw, []byte(`"`)) || isUnknown(string(raw[1:])) {
		return c.Body, nil
	}
	members["model"] = json.RawMessage(`"sandbox-text"`)
	if c.protocol() == "images" {
		members["model"] = json.RawMessage(`"sandbox-image"`)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(members)
	return out.Bytes(), err
}

// streams reports whether the capture asks for a stream.
func (c capture) streams() bool {
	var asked struct {
		Stream bool `json:"stream"`
	}
	return strings.HasSuffix(c.Path, ":streamGenerateContent") || json.Unmarshal(c.Body, &asked) == nil && asked.Stream
}
