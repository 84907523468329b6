// Package recorded reads exchanges that were recorded between clients and vendors, and requests of clients that were
// captured without an answer. They are no part of the repository: make replay and make crossing name their files.
package recorded

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Exchange is a request that a client once sent to a vendor, and the vendor's answer.
type Exchange struct {
	ID     string `json:"id"`
	Source string `json:"source"`
	// Protocol is chat, responses, messages, generatecontent or count_tokens.
	Protocol string `json:"protocol"`
	Host     string `json:"host"`
	Path     string `json:"path"`
	// Status is that of the answer; 0 of a captured request, which has none.
	Status      int             `json:"status"`
	Stream      bool            `json:"stream"`
	Request     json.RawMessage `json:"request"`
	Response    json.RawMessage `json:"response"`
	ResponseSSE string          `json:"response_sse"`
}

// Load reads a file of exchanges: gzipped, one JSON object a line. The status of an exchange without one is 200.
func Load(path string) ([]Exchange, error) {
	file, err := os.Open(path) //nolint:gosec // the file its user names
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	text, err := gzip.NewReader(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var all []Exchange
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, 256<<20)
	for lines.Scan() {
		var x Exchange
		if err := json.Unmarshal(lines.Bytes(), &x); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, len(all)+1, err)
		}
		x.Status = cmp.Or(x.Status, http.StatusOK)
		all = append(all, x)
	}
	return all, lines.Err()
}

// requestPaths are the paths of requests for text, by protocol.
var requestPaths = map[string]*regexp.Regexp{
	"chat": regexp.MustCompile(`/chat/completions$`), "responses": regexp.MustCompile(`/responses$`),
	"messages": regexp.MustCompile(`/messages$`), "generatecontent": regexp.MustCompile(`:(stream)?[gG]enerateContent$`),
}

// LoadCaptures reads the requests for text that clients sent, below a folder with one JSON file each. Those that their
// fake vendor refused are left out.
func LoadCaptures(folder string) ([]Exchange, error) {
	var all []Exchange
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".json" {
			return err
		}
		text, err := os.ReadFile(path) //nolint:gosec // in the folder its user names
		if err != nil {
			return err
		}
		var c struct {
			Path     string
			Body     json.RawMessage
			Response struct{ Status int }
		}
		if err := json.Unmarshal(text, &c); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		id, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		var asked struct{ Stream bool }
		for protocol, named := range requestPaths {
			if c.Response.Status == http.StatusOK && named.MatchString(c.Path) && json.Unmarshal(c.Body, &asked) == nil {
				all = append(all, Exchange{ID: filepath.ToSlash(id), Protocol: protocol, Path: c.Path, Request: c.Body,
					Stream: asked.Stream || strings.Contains(c.Path, ":stream")})
			}
		}
		return nil
	})
	return all, err
}

var modelInPath = regexp.MustCompile(`/models/([^/:?]+):`)

// Model returns the model that the request names in its path or its body, "" if none.
func (x Exchange) Model() string {
	if m := modelInPath.FindStringSubmatch(x.Path); m != nil {
		return m[1]
	}
	var named struct{ Model string }
	_ = json.Unmarshal(x.Request, &named) // a request without a model has none
	return named.Model
}
